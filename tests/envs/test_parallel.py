"""The PettingZoo environments, by PettingZoo's own tests and ours."""

import warnings

import cloudpickle
import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, max_cycles_test, parallel_api_test, parallel_seed_test, seed_test

from regret_envs import biased_gaussian_v1, experts_v1, games, repeated_game_v1, streams, weighted_rps_v1
from regret_envs.agents import Hedge
from regret_envs.envs import ENVIRONMENTS
from regret_envs.envs.actions import ActionError
from regret_envs.envs.episodes import EpisodeError

MODULES = [experts_v1, biased_gaussian_v1, repeated_game_v1, weighted_rps_v1]
UNEQUAL = games.random_game((2, 3, 4), seed=3)
# Every action mode and feedback, two worlds at a time.
CASES = [
    (weighted_rps_v1, {}),
    (weighted_rps_v1, {"action_mode": "discrete", "feedback": "bandit"}),
    (experts_v1, {"action_mode": "softmax", "num_agents": 3, "num_actions": 5}),
    (experts_v1, {"action_mode": "strict", "feedback": "bandit", "stream": "bernoulli"}),
    (experts_v1, {"num_agents": 1, "stream": "adaptive"}),
    (biased_gaussian_v1, {"action_mode": "project"}),
    (repeated_game_v1, {"game": UNEQUAL, "action_mode": "strict"}),
    (repeated_game_v1, {"game": "jordan", "action_mode": "discrete", "opponents": {"player_1": "hedge"}}),
]


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        # Unbounded losses are shown as such, and PettingZoo remarks on it.
        warnings.filterwarnings("ignore", "Agent's m(in|ax)imum observation space value is -?infinity")
        yield


@pytest.mark.parametrize(("module", "options"), CASES)
def test_pettingzoo(module, options):
    parallel_api_test(module.parallel_env(**options), num_cycles=60)
    if options.get("game") is not UNEQUAL:  # which the test below is for
        api_test(module.env(horizon=20, **options), num_cycles=60)
    seed_test(lambda: module.env(horizon=20, **options), num_cycles=30)
    parallel_seed_test(lambda: module.parallel_env(horizon=20, **options), num_cycles=30)


def test_pettingzoo_where_players_differ_in_their_actions():
    # PettingZoo remarks that the players' spaces differ in size, and passes.
    warnings.simplefilter("ignore")
    api_test(repeated_game_v1.env(game=UNEQUAL, horizon=20), num_cycles=60)


@pytest.mark.parametrize("module", MODULES)
def test_max_cycles(module):
    max_cycles_test(module)
    environment = module.parallel_env(horizon=7)
    assert environment.max_cycles == 7
    environment.max_cycles = 3
    environment.reset(seed=0)
    assert len(_play(environment)) == 3


@pytest.mark.parametrize("module", MODULES)
@pytest.mark.parametrize(
    ("wrong", "error"),
    [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("3", TypeError), (True, TypeError)],
)
def test_max_cycles_that_are_no_number_of_rounds(module, wrong, error):
    with pytest.raises(error, match="horizon must be"):
        module.parallel_env(max_cycles=wrong)
    environment = module.parallel_env()
    with pytest.raises(error, match="must be"):
        environment.max_cycles = wrong
        environment.reset(seed=0)


@pytest.mark.parametrize(("module", "options"), CASES)
def test_whole_episodes_repeat(module, options):
    def episodes(environment):
        first = _play(environment, seed=4)
        return [first, _play(environment), _play(environment)]  # the unseeded ones follow from the seed

    one = episodes(module.parallel_env(horizon=12, **options))
    again = episodes(module.parallel_env(horizon=12, **options))
    np.testing.assert_equal(one, again)
    if (
        module in (experts_v1, biased_gaussian_v1) and options.get("stream") != "adaptive"
    ):  # which knows no chance
        losses = [[step[4]["player_0"]["losses"] for step in episode] for episode in one]
        assert not np.allclose(losses[0], losses[1])


@pytest.mark.parametrize(("module", "options"), CASES)
def test_cloudpickle_in_mid_episode(module, options):
    environment = module.parallel_env(horizon=12, **options)
    environment.reset(seed=1)
    _play(environment, rounds=5)
    copy = cloudpickle.loads(cloudpickle.dumps(environment))
    for other in (environment, copy):
        for agent in other.agents:
            other.action_space(agent).seed(0)
    np.testing.assert_equal(_play(environment), _play(copy))


def test_copies_made_before_reset_do_not_share_losses():
    environment = experts_v1.parallel_env(horizon=3)
    copies = [cloudpickle.loads(cloudpickle.dumps(environment)) for _ in range(2)]
    losses = [_play(copy)[0][4]["player_0"]["losses"] for copy in copies]
    assert not np.allclose(*losses)


def test_the_observation_slice_by_slice():
    environment = biased_gaussian_v1.parallel_env(
        num_agents=1, num_actions=2, horizon=4, action_mode="normalize"
    )
    observation = environment.reset(seed=0)[0]["player_0"]
    np.testing.assert_array_equal(observation, np.array([0, 0.5, 0.5, 0, 0, 0, 0], np.float32))
    first = environment.step({"player_0": [0.2, 0.8]})[4]["player_0"]["losses"]
    observation, rewards, _, _, infos = environment.step({"player_0": [3.0, 1.0]})
    second = infos["player_0"]["losses"]
    expected = [0.5, 0.75, 0.25, *second, *(first + second) / 2]
    np.testing.assert_allclose(observation["player_0"], expected, rtol=1e-6)
    assert rewards["player_0"] == pytest.approx(-0.75 * second[0] - 0.25 * second[1], rel=1e-12)
    assert observation["player_0"].dtype == np.float32


def test_bandit_feedback_shows_the_drawn_loss_alone():
    options = {"num_agents": 1, "num_actions": 3, "horizon": 40, "feedback": "bandit"}
    environment = experts_v1.parallel_env(**options, action_mode="strict")
    _, infos = environment.reset(seed=2)
    assert infos["player_0"]["realized_action"] == -1
    sums, counts = np.zeros(3), np.zeros(3)
    for _ in range(40):
        observations, rewards, _, _, infos = environment.step({"player_0": [0.2, 0.3, 0.5]})
        info, observation = infos["player_0"], observations["player_0"]
        action, losses = info["realized_action"], info["losses"]
        sums[action] += losses[action]
        counts[action] += 1
        np.testing.assert_allclose(observation[4:7], losses * np.eye(3)[action], rtol=1e-6)
        np.testing.assert_allclose(observation[7:], sums / np.maximum(counts, 1), rtol=1e-5)
        assert info["realized_loss"] == losses[action] == -rewards["player_0"]
        assert info["expected_loss"] == pytest.approx(losses @ [0.2, 0.3, 0.5], rel=1e-12)
    # Drawn in proportion: within five standard errors.
    shares = np.array([0.2, 0.3, 0.5])
    assert (np.abs(counts / 40 - shares) < 5 * np.sqrt(shares * (1 - shares) / 40)).all()


def test_pure_actions_meet_the_drawn_actions_of_mixed_opponents():
    fixed = Hedge(step_size=0.0)  # uniform for ever
    environment = repeated_game_v1.parallel_env(
        game=UNEQUAL, action_mode="discrete", opponents={"player_0": fixed}, horizon=50
    )
    environment.reset(seed=0)
    realized, expected = [], []
    for _ in range(50):
        _, rewards, _, _, infos = environment.step({"player_1": 2, "player_2": np.int64(3)})
        info = infos["player_2"]
        assert info["realized_action"] == 3 and rewards["player_2"] == -info["realized_loss"]
        realized.append(info["realized_loss"])
        expected.append(info["expected_loss"])
    payoffs = UNEQUAL.payoffs[2][:, 2, 3]
    assert {round(-x, 12) for x in realized} == {round(x, 12) for x in payoffs}
    np.testing.assert_allclose(expected, -payoffs.mean(), rtol=1e-12)


def test_the_end_of_an_episode():
    environment = weighted_rps_v1.parallel_env(horizon=2)
    _, infos = environment.reset(seed=0)
    keys = infos["player_0"].keys()
    for over in (False, True):
        observations, rewards, terminations, truncations, infos = environment.step(
            {agent: [1, 0, 0] for agent in environment.agents}
        )
        assert list(observations) == list(rewards) == list(infos) == ["player_0", "player_1"]
        assert set(terminations.values()) == {over} and not any(truncations.values())
        assert infos["player_0"].keys() == keys
    assert environment.agents == []
    assert environment.possible_agents == ["player_0", "player_1"]
    with pytest.raises(EpisodeError, match=r"over after 2 rounds: call reset\(\)"):
        environment.step({})


def test_bad_calls():
    environment = weighted_rps_v1.parallel_env(render_mode="ansi")
    with pytest.raises(EpisodeError, match=r"not begun: call reset\(\)"):
        environment.step({})
    with pytest.raises(EpisodeError, match=r"call reset\(\)"):
        environment.render()
    environment.reset(seed=0)
    with pytest.raises(ActionError, match="no action for player_1: every live agent"):
        environment.step({"player_0": [1, 0, 0]})
    with pytest.raises(ActionError, match="'player_2': did you mean"):
        environment.step({f"player_{n}": [1, 0, 0] for n in range(3)})
    with pytest.raises(ActionError, match=r"player_1 has shape \(2,\)"):
        environment.step({"player_0": [1, 0, 0], "player_1": [1, 0]})
    # Nothing has been played by a refused step.
    assert environment.render() == "round 0/100"
    with pytest.raises(ValueError, match="player 'player_7': did you mean"):
        environment.action_space("player_7")
    with pytest.raises(ValueError, match="make the environment with render_mode="):
        weighted_rps_v1.parallel_env().render()


def test_a_reset_that_fails_leaves_nothing_begun():
    stream = streams.Recorded(np.ones((3, 2)))
    environment = experts_v1.parallel_env(stream=stream, num_agents=1, horizon=4)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"3 rounds"):
            environment.reset(seed=0)
        with pytest.raises(EpisodeError, match="not begun"):
            environment.step({"player_0": [1, 0]})
        environment.max_cycles = 3
        environment.reset(seed=0)
        assert len(_play(environment)) == 3
        environment.max_cycles = 4


def test_losses_that_are_not_finite():
    class Broken(streams.Gaussian):
        def draw(self, rng, state, t, num_rounds):
            losses = super().draw(rng, state, t, num_rounds)
            losses[2, 1] = np.nan
            return losses

    environment = experts_v1.parallel_env(stream=Broken(3), num_agents=1, horizon=5)
    environment.reset(seed=0)
    with pytest.raises(FloatingPointError, match="losses for player 0 are not finite in round 3"):
        _play(environment)


@pytest.mark.parametrize(
    ("module", "options", "error", "message"),
    [
        (weighted_rps_v1, {"horzon": 5}, TypeError, "unknown option 'horzon': did you mean 'horizon'"),
        (experts_v1, {"num_action": 5}, TypeError, "unknown option 'num_action': did you mean 'num_actions'"),
        (biased_gaussian_v1, {"bias_scal": 5}, TypeError, "did you mean 'bias_scale'"),
        (weighted_rps_v1, {"horizon": 5, "max_cycles": 5}, ValueError, "give one of them"),
        (weighted_rps_v1, {"horizon": 0}, ValueError, "horizon must be at least 1"),
        (weighted_rps_v1, {"action_mode": "normalise"}, ValueError, "did you mean 'normalize'"),
        (weighted_rps_v1, {"feedback": "bandits"}, ValueError, "did you mean 'bandit'"),
        (weighted_rps_v1, {"render_mode": "rgb"}, ValueError, "did you mean 'rgb_array'"),
        (weighted_rps_v1, {"opponents": {"player_2": "hedge"}}, ValueError, "unknown player 'player_2'"),
        (weighted_rps_v1, {"opponents": {"player_1": "hege"}}, ValueError, "did you mean 'hedge'"),
        (
            weighted_rps_v1,
            {"opponents": {"player_0": "hedge", "player_1": "hedge"}},
            ValueError,
            "leave at least one",
        ),
        (repeated_game_v1, {"game": "shaply"}, ValueError, "did you mean 'shapley'"),
        (repeated_game_v1, {"game": UNEQUAL, "game_settings": {"seed": 1}}, ValueError, "given by name"),
        (experts_v1, {"num_agents": 2, "stream": "adaptive"}, ValueError, "one agent"),
        (experts_v1, {"stream": "gausian"}, ValueError, "did you mean 'gaussian'"),
    ],
)
def test_bad_options(module, options, error, message):
    with pytest.raises(error, match=message):
        module.parallel_env(**options)


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="PettingZoo has no registry before 1.27")
def test_pettingzoo_registry():
    for name, entry in ENVIRONMENTS.items():
        expected = entry.module.rpartition(".")[2]
        assert str(pettingzoo.make("parallel", name)) == expected
        assert str(pettingzoo.make("aec", name, max_cycles=5)) == expected


def _play(environment, *, seed=None, rounds=10**9):
    """The steps of an episode of random actions, or of its rest where it has begun."""
    if seed is not None or not environment.agents:
        environment.reset(seed=seed)
    for n, agent in enumerate(environment.agents):
        environment.action_space(agent).seed(n)
    steps = []
    while environment.agents and len(steps) < rounds:
        actions = {agent: environment.action_space(agent).sample() for agent in environment.agents}
        steps.append(environment.step(actions))
    return steps


def test_opponents_must_say_who_sits_where():
    with pytest.raises(TypeError, match=r'as in \{"player_1": "hedge"\}, got \'hedge\''):
        repeated_game_v1.parallel_env(game="jordan", opponents="hedge")
    with pytest.raises(ValueError, match="unknown player '1': known: player_0, player_1, player_2"):
        repeated_game_v1.parallel_env(game="jordan", opponents={1: "hedge"})


@pytest.mark.parametrize(
    ("cycles", "error"), [(0, ValueError), (-1, ValueError), (1.5, TypeError), ("3", TypeError)]
)
def test_max_cycles_set_later_is_checked(cycles, error):
    env = experts_v1.parallel_env()
    env.max_cycles = cycles
    with pytest.raises(error, match="max_cycles must be"):
        env.reset(seed=0)
