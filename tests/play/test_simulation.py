"""One agent at all seats, outcomes, and simulations that stop and go on."""

from __future__ import annotations

import pickle
import tracemalloc

import numpy as np
import pytest

from regret_envs import games, metrics, simulate, streams
from regret_envs.agents import AGENTS, Hedge, OptimisticHedge, make
from regret_envs.feedback import Bandit, Delayed
from regret_envs.games import normal_form, random_congestion
from regret_envs.games.structured import stack
from regret_envs.play import PolicyError, Simulation

CLASSICAL = [name for name, entry in AGENTS.items() if not entry.requires]


@pytest.mark.parametrize("name", CLASSICAL)
def test_one_agent_at_all_seats_plays_as_one_each(name):
    game, settings = random_congestion(4, 3, degree=2, seed=2), {"horizon": 20, "num_runs": 3}
    settings |= {"starting_loss_scale": 1.0, "record": ["policies", "losses"], "outcomes": True}
    try:
        one = simulate(game, make(name), **settings)
    except ValueError as error:
        pytest.skip(str(error))
    each = simulate(game, [make(name) for _ in range(4)], **settings)
    assert len(one.play_losses) == len(one.policies) == one.num_players == 4
    for ours, theirs in [
        (one.play_losses, each.play_losses),
        (one.mean_policies, each.mean_policies),
        (one.policies, each.policies),
        (one.losses, each.losses),
    ]:
        for mine, its in zip(ours, theirs, strict=True):
            assert mine.shape == its.shape and np.allclose(mine, its, rtol=0, atol=1e-9)
    assert np.allclose(one.outcomes["potential"], each.outcomes["potential"], rtol=1e-9)
    assert np.allclose(one.nash_conv(), each.nash_conv(), rtol=0, atol=1e-9)
    assert one.outstanding == each.outstanding


def test_one_agent_at_all_seats_of_a_game_with_arrays():
    for game in (
        games.random_game((3, 3, 3)),
        games.RandomGames((2, 2)),
        games.random_game((4, 4)),
        games.random_game((9, 9)),
    ):
        one = simulate(game, Hedge(), horizon=30, num_runs=2, starting_loss_scale=1.0)
        agents = [Hedge() for _ in range(game.num_players)]
        each = simulate(game, agents, horizon=30, num_runs=2, starting_loss_scale=1.0)
        assert np.allclose(one.regret("swap"), each.regret("swap"), rtol=0, atol=1e-12)


def test_one_agent_cannot_sit_for_players_that_are_not_alike():
    with pytest.raises(ValueError, match=r"numbers of actions are \(2, 3\): give a list"):
        simulate(games.random_game((2, 3)), Hedge(), horizon=2)
    with pytest.raises(ValueError, match="behind layers of feedback"):
        simulate(games.shapley(), Hedge(), horizon=2, feedback=Bandit())


def test_a_bad_policy_of_one_agent_at_all_seats_names_the_player():
    class Wrong(Hedge):
        def act(self):
            policies = super().act()
            policies[7] = [2, -1, 0]
            return policies

    with pytest.raises(PolicyError, match=r"\(player 2\) .* round 1, row 1"):
        simulate(random_congestion(4, 3), Wrong(), horizon=2, num_runs=3)


def test_outcomes_are_averages_over_rounds_and_social_cost_the_sum_of_losses():
    game = random_congestion(3, 2, num_strategies=3, seed=1)
    agents = [Hedge(step_size=s) for s in (0.5, 1.0, 2.0)]
    play = simulate(
        game,
        agents,
        horizon=300,
        num_runs=2,
        starting_loss_scale=1.0,
        outcomes=True,
        rounds=[7],
        record=["policies", "losses"],
    )
    for part in (play, play.at(7)):
        rounds = [stack([p[t] for p in play.policies]) for t in range(part.t)]
        potential = np.mean([game.outcomes(p)["potential"] for p in rounds], axis=0)
        assert part.outcomes["potential"] == pytest.approx(potential, rel=1e-12)
        cost = sum(np.einsum("trd,trd->r", p, c) for p, c in zip(part.policies, part.losses, strict=True))
        assert part.social_cost() == pytest.approx(cost / part.t, rel=1e-12)
    assert simulate(game, [Hedge() for _ in range(3)], horizon=2).outcomes == {}
    assert simulate(normal_form(game), Hedge(), horizon=2, outcomes=True).outcomes == {}


WORLDS = {
    "stream": (streams.DriftingMean(4), lambda: [Hedge()], {}),
    "adversary": (streams.make("adaptive", num_actions=3), lambda: [Hedge()], {}),
    "random games": (games.RandomGames((3, 2)), lambda: [make("blum-mansour"), OptimisticHedge()], {}),
    "congestion": (random_congestion(5, 3), lambda: make("adahedge"), {"outcomes": True}),
    "bandit": (
        games.shapley(),
        lambda: [Hedge(), Hedge()],
        {"feedback": [Bandit(), Delayed(5)], "record": "policies"},
    ),
}


@pytest.mark.parametrize("name", WORLDS)
def test_a_simulation_that_was_saved_goes_on_to_the_same_numbers(name, tmp_path):
    world, agents, more = WORLDS[name]
    settings = {"horizon": 2500, "num_runs": 2, "seed": 3, **more}
    if isinstance(world, games.Game):
        settings["starting_loss_scale"] = 1.0
    whole = simulate(world, agents(), rounds=[10, 1000], **settings)

    class Interrupted(Exception):
        pass

    simulation, path = Simulation(world, agents(), **settings), tmp_path / "state"

    def save(t):
        if t > 600:
            simulation.save(path)
            raise Interrupted

    simulation.advance(10)
    with pytest.raises(Interrupted):
        simulation.advance(1000, progress=save)
    simulation.advance(1000)  # the one that was left behind changes nothing of what was saved
    resumed = Simulation.load(path)
    assert 600 < resumed.t < 1000
    resumed.advance(1000)
    again = resumed.play()
    resumed = pickle.loads(pickle.dumps(resumed))
    resumed.advance(2500)
    for part, right in [(again, whole.at(1000)), (resumed.play(), whole)]:
        for ours, theirs in zip(part.play_losses, right.play_losses, strict=True):
            assert np.array_equal(ours, theirs)
        assert np.array_equal(part.mean_policies[0], right.mean_policies[0])
        assert part.outstanding == right.outstanding
        assert all(np.array_equal(part.outcomes[k], v) for k, v in right.outcomes.items())
        if right.realized is not None:
            assert np.array_equal(part.realized.regret(), right.realized.regret())
        if right.policies is not None:
            assert np.array_equal(part.policies[1], right.policies[1])


def test_play_in_between_stays_as_it_was():
    simulation = Simulation(games.shapley(), Hedge(), horizon=40, starting_loss_scale=1.0)
    with pytest.raises(ValueError, match="no round"):
        simulation.play()
    simulation.advance(20)
    early = simulation.play()
    before = early.regret("swap")
    simulation.advance(40)
    assert np.array_equal(early.regret("swap"), before) and early.t == 20
    assert np.array_equal(simulation.play().regret(), simulation.play().regret())
    for stop in (39, 41):
        with pytest.raises(ValueError, match=r"t … horizon = 40 … 40"):
            simulation.advance(stop)


def test_what_is_not_a_simulation_is_not_loaded(tmp_path):
    (tmp_path / "other").write_bytes(pickle.dumps([1]))
    with pytest.raises(ValueError, match="holds a list, not a simulation"):
        Simulation.load(tmp_path / "other")


def test_memory_at_many_actions_stays_near_that_of_the_sums():
    num_actions, num_runs = 300, 30
    sums = 8 * num_runs * num_actions**2
    tracemalloc.start()
    try:
        play = simulate(streams.Gaussian(num_actions), Hedge(), horizon=40, num_runs=num_runs)
        gaps = play.gaps()
        for gap in (gaps.cce, gaps.ce, gaps.swap):
            assert gap.max.shape == (num_runs,)
        assert tracemalloc.get_traced_memory()[1] < 1.6 * sums
    finally:
        tracemalloc.stop()


def test_pairwise_gap_names_the_first_best_pair():
    m = np.random.default_rng(0).integers(-3, 4, (20, 5, 5)).astype(float)
    gap = metrics.EquilibriumGaps((m,), 4).ce
    gains = np.diagonal(m, axis1=1, axis2=2)[..., None] - m
    first = np.array([np.unravel_index(g.argmax(), g.shape) for g in gains])
    assert np.array_equal(gap.best_deviation[0], first)
    assert np.array_equal(gap.per_player[0], gains.max((1, 2)) / 4)
