"""What training scripts of other libraries read from an environment, and pass to it."""

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.wrappers import TimeLimit

from regret_envs import experts_v1, games, repeated_game_v1
from regret_envs.agents import Hedge
from regret_envs.envs import ENVIRONMENTS, presets
from regret_envs.envs.episodes import EpisodeError
from regret_envs.names import UnknownNameError

UNEQUAL = games.random_game((2, 3, 4), seed=3)


@pytest.mark.parametrize(
    "form", [repeated_game_v1.parallel_env, repeated_game_v1.env, repeated_game_v1.raw_env]
)
def test_spaces_and_the_state_of_all_agents(form):
    options = {"game": UNEQUAL, "horizon": 4, "action_mode": "normalize"}
    environment = form(**options, opponents={"player_1": "hedge"})
    assert list(environment.observation_spaces) == list(environment.action_spaces) == ["player_0", "player_2"]
    for agent in environment.possible_agents:
        assert environment.observation_spaces[agent] is environment.observation_space(agent)
        assert environment.action_spaces[agent] is environment.action_space(agent)
    with pytest.raises(EpisodeError, match=r"call reset\(\)"):
        environment.state()
    environment.reset(seed=0)
    before = environment.state()
    assert before.shape == environment.state_space.shape == (1 + 3 * 2 + 1 + 3 * 4,)
    for _ in range(2 if hasattr(environment, "agent_iter") else 1):
        one = {"player_0": [0.2, 0.8], "player_2": [1, 0, 0, 0]}
        environment.step(one[environment.agent_selection] if hasattr(environment, "agent_iter") else one)
    state = environment.state()
    assert state in environment.state_space and not np.array_equal(state, before)
    np.testing.assert_allclose(state[:3], [0.25, 0.2, 0.8], rtol=1e-6)
    np.testing.assert_allclose(state[7:12], [0.25, 1, 0, 0, 0], rtol=1e-6)
    if hasattr(environment, "observe"):
        np.testing.assert_array_equal(state[7:], environment.observe("player_2"))


@pytest.mark.parametrize("form", [experts_v1.parallel_env, experts_v1.env])
def test_the_generator_and_the_horizon_of_pettingzoo(form):
    environment, other = form(max_cycles=5), form(horizon=5)
    assert isinstance(environment.np_random, np.random.Generator)  # before the first reset too
    for env in (environment, other):
        env.reset(seed=3)
    assert environment.np_random.integers(2**63) == other.np_random.integers(2**63)
    assert environment.horizon == environment.max_cycles == 5
    environment.horizon = 2
    assert environment.max_cycles == 2


def test_the_agents_of_an_aec_environment_move_at_the_same_time():
    aec, parallel = (
        form(game=UNEQUAL, horizon=3) for form in (repeated_game_v1.env, repeated_game_v1.parallel_env)
    )
    aec.reset(seed=1)
    parallel.reset(seed=1)
    rng = np.random.default_rng(0)
    for t in range(3):
        actions = {agent: rng.random(space.shape) for agent, space in parallel.action_spaces.items()}
        seen = {agent: aec.observe(agent).copy() for agent in aec.agents}
        for agent in parallel.possible_agents:
            assert aec.agent_selection == agent
            np.testing.assert_array_equal(aec.last()[0], seen[agent])
            aec.step(actions[agent])
        observations, rewards, terminations, truncations, infos = parallel.step(actions)
        for agent in parallel.possible_agents:
            np.testing.assert_equal(aec.observe(agent), observations[agent])
            assert aec.rewards[agent] == rewards[agent]
            assert aec.terminations[agent] == terminations[agent] == (t == 2)
            assert aec.truncations[agent] == truncations[agent]
            np.testing.assert_equal(aec.infos[agent], infos[agent])
    for _ in range(3):
        aec.step(None)
    assert aec.agents == []
    with pytest.raises(EpisodeError, match=r"call reset\(\)"):
        aec.step([1, 0])


@pytest.mark.parametrize("name", ENVIRONMENTS)
def test_the_length_is_found_without_a_time_limit(name):
    assert gymnasium.spec(name).max_episode_steps is None
    environment = gymnasium.make(name, max_cycles=7)
    wrapped = environment
    while isinstance(wrapped, gymnasium.Wrapper):
        assert not isinstance(wrapped, TimeLimit)
        wrapped = wrapped.env
    assert environment.spec.max_episode_steps == environment.get_wrapper_attr("horizon") == 7
    assert gymnasium.make(name, horizon=100).spec.max_episode_steps == 100
    with pytest.raises(ValueError, match="the same number: give one of them"):
        gymnasium.make(name, horizon=5, max_cycles=5)


def test_the_spec_makes_the_same_environment_again():
    made = gymnasium.make(
        "regret_envs/RepeatedGame-v1", game="shapley", opponents="hedge[step_size=0.5]", horizon=6
    )
    again = gymnasium.make(EnvSpec.from_json(made.spec.to_json()))
    assert again.spec.kwargs == made.spec.kwargs and again.spec.max_episode_steps == 6
    for environment in (made, again, gymnasium.make(made.spec)):
        environment.reset(seed=2)
        ends = [environment.step([1, 2, 1])[2:4] for _ in range(6)]
        assert [any(end) for end in ends] == [False] * 5 + [True]
    for options in ({"opponents": Hedge(step_size=0.5)}, {"game": games.shapley()}):
        spec = gymnasium.make("regret_envs/RepeatedGame-v1", **options).spec
        (option,) = options
        with pytest.raises(
            TypeError, match=rf"^{option}=.* make the environment with a name, as on the command"
        ):
            spec.to_json()


def test_ids_with_discrete_actions():
    ids = presets()
    assert {"regret_envs/WeightedRPSDiscrete-v1", "regret_envs/RepeatedGameDiscrete-v1"} <= ids.keys()
    assert {"regret_envs/ShapleyDiscrete-v1", "regret_envs/BiasedGaussianDiscrete-v1"} <= ids.keys()
    for name in ids:
        environment = gymnasium.make(name)
        assert isinstance(environment.action_space, gymnasium.spaces.Discrete)
        environment.reset(seed=0)
        assert environment.step(int(environment.action_space.n) - 1)[4]["realized_action"] >= 0
        masks = environment.get_wrapper_attr("action_masks")()
        assert masks.shape == (environment.action_space.n,) and masks.all() and masks.dtype == bool
    shapley = gymnasium.make("regret_envs/ShapleyDiscrete-v1").unwrapped
    chosen = gymnasium.make("regret_envs/RepeatedGame-v1", game="shapley", action_mode="discrete")
    np.testing.assert_equal(shapley.reset(seed=4), chosen.reset(seed=4))
    np.testing.assert_equal(shapley.step(2), chosen.step(2))


def test_losses_without_bounds_are_shown_as_such():
    unbounded = gymnasium.make("regret_envs/Experts-v1").observation_space
    np.testing.assert_array_equal(unbounded.low, [0] * 4 + [-np.inf] * 6)
    np.testing.assert_array_equal(unbounded.high, [1] * 4 + [np.inf] * 6)
    bounded = gymnasium.make("regret_envs/RepeatedGame-v1", game="shapley").observation_space
    assert np.isfinite(bounded.high).all()


@pytest.mark.parametrize("ends", ["terminated", "truncated"])
def test_how_the_horizon_ends(ends):
    options = {"horizon": 2, "horizon_ends": ends}
    single, parallel = gymnasium.make("regret_envs/Experts-v1", **options), experts_v1.parallel_env(**options)
    for environment in (single, parallel):
        environment.reset(seed=0)
    for over in (False, True):
        end = (over and ends == "terminated", over and ends == "truncated")
        assert single.step([1, 0, 0])[2:4] == end
        flags = parallel.step({agent: [1, 0, 0] for agent in parallel.agents})[2:4]
        assert tuple(set(by_agent.values()) for by_agent in flags) == ({end[0]}, {end[1]})
    with pytest.raises(UnknownNameError, match="did you mean 'truncated'"):
        gymnasium.make("regret_envs/Experts-v1", horizon_ends="truncate")


@pytest.mark.parametrize("kind", [np.int64, np.uint32, np.int8])
def test_seeds_of_numpy(kind):
    environment, other = (gymnasium.make("regret_envs/Experts-v1") for _ in range(2))
    np.testing.assert_equal(environment.reset(seed=kind(5)), other.reset(seed=5))
    np.testing.assert_equal(environment.step([1, 0, 0]), other.step([1, 0, 0]))
    for wrong, error in ((-1, ValueError), (1.5, TypeError), ("5", TypeError)):
        with pytest.raises(error, match="seed must be"):
            environment.unwrapped.reset(seed=wrong)
