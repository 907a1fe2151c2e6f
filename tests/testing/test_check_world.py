"""`check_world` and `check_game` find each kind of fault; every named game and adversary passes."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
import pytest

from regret_envs import games, streams
from regret_envs.games import TensorEpisode
from regret_envs.testing import ConformanceError, check_game, check_world
from regret_envs.worlds import Game, GameEpisode, Stream

SETTINGS = {
    "random_game": {"num_actions": (2, 4, 3), "seed": 1},
    "random_games": {"num_actions": (3, 2)},
    "deng_schneider_sivan": {"num_actions": 5},
}


def named_game(name):
    try:
        if name == "normal_form":
            return games.make(name, payoffs=[[[0, 1, 2], [3, 4, 5]], [[1, 0, 2], [0, 3, 1]]])
        return games.make(name, **SETTINGS.get(name, {}))
    except TypeError:
        return games.make(name)


@pytest.mark.parametrize("name", games.NAMED_GAMES)
def test_named_games_conform(name):
    assert {f.status for f in check_game(named_game(name))} == {"ok"}


@pytest.mark.parametrize(
    "stream", [streams.AdaptiveAdversary(3), streams.BestResponse(games.chicken())], ids=repr
)
def test_adversaries_conform(stream):
    assert {f.status for f in check_world(stream)} == {"ok"}


@dataclass(frozen=True)
class Noise(Stream):
    """Losses in [0, 1], and what each fault below is a change of."""

    num_actions: int = 3

    @property
    def loss_scale(self):
        return 1.0

    def draw(self, rng, state, t, num_rounds):
        return rng.random((num_rounds, self.num_actions))


class Global(Noise):
    def draw(self, rng, state, t, num_rounds):
        return np.random.random((num_rounds, self.num_actions))  # noqa: NPY002


class ByColumn(Noise):
    def draw(self, rng, state, t, num_rounds):
        return rng.random((self.num_actions, num_rounds)).T


class Counting(Noise):
    calls = count()

    def start_run(self, rng, *, run, horizon):
        return next(self.calls)

    def draw(self, rng, state, t, num_rounds):
        return super().draw(rng, state, t, num_rounds) + state


class Nan(Noise):
    def draw(self, rng, state, t, num_rounds):
        losses = super().draw(rng, state, t, num_rounds)
        losses[-1, 1] = np.nan
        return losses


class Lambda(Noise):
    def start_run(self, rng, *, run, horizon):
        return lambda: None


class Endless(Noise):
    def start(self, *, num_agents, horizon, seeds):
        return super().start(num_agents=num_agents, horizon=horizon + 100, seeds=seeds)


class Nameless(Noise):
    __repr__ = object.__repr__


@pytest.mark.parametrize(
    ("stream", "what", "problem", "fix"),
    [
        (Global, "randomness", "other losses", "from the generators of `seeds`"),
        (ByColumn, "calls divide", "other calls", "round by round"),
        (Counting, "alone and in a batch", "run 0 of 5", "from generator r"),
        (Counting, "outside its episodes", "beside or after another", "in what start_run returns"),
        (Nan, "finite", "nan", "finite losses"),
        (Lambda, "pickled", "lambda", "keep no lambdas"),
        (Endless, "more rounds", "round 41 of 40", "ValueError"),
    ],
)
def test_faults_of_streams(stream, what, problem, fix):
    assert {f.status for f in check_world(Noise())} == {"ok"}
    (finding,) = [f for f in check_world(stream(), raises=False) if what in f.what]
    assert finding.status == "fails" and problem in finding.problem and fix in finding.fix
    with pytest.raises(ConformanceError, match="to fix: "):
        check_world(stream())


def test_a_world_without_a_repr_is_given_advice():
    (finding,) = [f for f in check_world(Nameless()) if f.status == "advice"]
    assert "@dataclass(frozen=True)" in finding.fix


class Duel(Game):
    """Unequal numbers of actions, not zero-sum, not symmetric."""

    num_actions = (3, 2)
    loss_scale = 5.0
    outcome_names = ("welfare",)
    episode: type[TensorEpisode] = TensorEpisode

    def start(self, *, num_agents, horizon, seeds):
        self.seats(num_agents)
        first, second = np.arange(6.0).reshape(3, 2), np.array([[0.0, 2], [1, 1], [4, 0]])
        return self.episode([first, second])

    def outcomes(self, policies):
        return {"welfare": policies[0, 0]}

    def __repr__(self):
        return "Duel()"


class Squares(TensorEpisode):
    def step(self, policies):
        return super().step([policies[0], policies[1] ** 2])


class Own(TensorEpisode):
    def step(self, policies):
        first, second = super().step(policies)
        return [first + policies[0], second]


class Fading(TensorEpisode):
    scale = 1.0

    def step(self, policies):
        self.scale *= 0.9
        return [self.scale * loss for loss in super().step(policies)]


class Spoiling(TensorEpisode):
    def step(self, policies):
        losses = [np.array(loss) for loss in super().step(policies)]
        policies[0][:] = 1 / 3
        return losses


class Float32(TensorEpisode):
    def step(self, policies):
        return [loss.astype(np.float32) for loss in super().step(policies)]


class OneSeat(TensorEpisode):
    def step(self, policies):
        return super().step(policies)[:1]


class Stacked(TensorEpisode):
    def step_stacked(self, policies):
        return GameEpisode.step_stacked(self, policies)[:, ::-1]


@pytest.mark.parametrize(
    ("changed", "what", "problem"),
    [
        ({"episode": Squares}, "affine", "the losses of player 0 are not affine in the policy of player 1"),
        ({"episode": Own}, "own policy", "the losses of player 0 changed with its own policy"),
        ({"episode": Fading}, "every round", "five rounds later"),
        ({"episode": Spoiling}, "leaves the policies", "changed the policies"),
        ({"episode": Float32}, "finite losses of their shape", "type float32"),
        ({"episode": OneSeat}, "finite losses of their shape", "1 arrays for 2 agents"),
        ({"loss_scale": 0.01}, "loss_scale", "loss_scale is 0.01"),
        ({"loss_scale": np.nan}, "loss_scale", "loss_scale is nan"),
        ({"outcome_names": ()}, "outcome_names", "outcomes() tells ['welfare']"),
        ({"outcomes": lambda self, policies: {"welfare": 1.0}}, "outcome_names", "the outcome 'welfare'"),
        ({"seats": lambda self, num_agents: (3, 0)}, "finite losses of their shape", "seats(2) is (3, 0)"),
    ],
)
def test_faults_of_games(changed, what, problem):
    assert {f.status for f in check_game(Duel())} == {"ok"}
    (finding,) = [f for f in check_game(type("Faulty", (Duel,), changed)(), raises=False) if what in f.what]
    assert finding.status == "fails" and problem in finding.problem and finding.fix


def test_stacked_policies():
    class Square(Duel):
        num_actions = (2, 2)
        episode = Stacked

        def start(self, **settings):
            return self.episode([np.eye(2), np.array([[0.0, 3], [1, 2]])])

    (finding,) = [f for f in check_game(Square(), raises=False) if "step_stacked" in f.what]
    assert finding.status == "fails" and "player 0" in finding.problem


def test_a_horizon_too_short_to_check():
    with pytest.raises(ValueError, match="horizon must be at least 8"):
        check_world(Noise(), horizon=7)
