"""The functional environments are the PettingZoo and Gymnasium ones, round for round."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from regret_envs import games, repeated_game_v1, streams
from regret_envs import jax as rj
from regret_envs.envs.actions import ActionError
from regret_envs.envs.single import SinglePlay
from regret_envs.names import UnknownNameError

MODES = ["normalize", "softmax", "project", "strict", "discrete"]
GAME = games.random_game((2, 3, 4), seed=5)


def actions_of(mode, rng, agents, env):
    """Random actions by agent; a fifth of them odd: all zeros, or a corner."""
    actions = {}
    for agent in agents:
        if mode == "discrete":
            actions[agent] = int(rng.integers(env.action_space(agent).n))
            continue
        (d,) = env.action_space(agent).shape
        low = -1.0 if mode == "softmax" else 0.0
        action = rng.dirichlet(np.ones(d)) if mode == "strict" else rng.uniform(low, 1.0, d)
        if rng.random() < 0.2:
            action = np.eye(d)[0] if mode == "strict" else np.zeros(d)
        actions[agent] = action if mode == "strict" else action.astype(np.float32)
    return actions


@pytest.mark.parametrize("opponents", [None, {"player_1": "blum-mansour"}])
@pytest.mark.parametrize("mode", MODES)
def test_repeated_game_is_the_pettingzoo_environment(mode, opponents):
    if mode == "discrete" and opponents:
        pytest.skip("the opponents' actions are drawn, by other generators")
    theirs = repeated_game_v1.parallel_env(game=GAME, horizon=12, action_mode=mode, opponents=opponents)
    rules = opponents and {name: rj.make(spec) for name, spec in opponents.items()}
    ours = rj.RepeatedGame(GAME, horizon=12, action_mode=mode, opponents=rules)
    assert ours.agents == theirs.possible_agents
    step, key, rng = jax.jit(ours.step_env), jax.random.key(0), np.random.default_rng(1)
    observed, infos = theirs.reset(seed=0)
    observations, state = ours.reset(key)
    for t in range(13):
        for agent in ours.agents:
            np.testing.assert_allclose(observations[agent], observed[agent], atol=1e-6)
            assert observations[agent].dtype == observed[agent].dtype
            assert ours.observation_space(agent).contains(observations[agent])
        if t == 12:
            break
        actions = actions_of(mode, rng, ours.agents, ours)
        observed, gained, terminated, _, infos = theirs.step(actions)
        if mode == "strict":
            actions = {agent: jnp.asarray(action) for agent, action in actions.items()}
        observations, state, rewards, dones, information = step(key, state, actions)
        for agent in ours.agents:
            np.testing.assert_allclose(rewards[agent], gained[agent], atol=1e-9)
            assert bool(dones[agent]) == terminated[agent] == bool(dones["__all__"]) == (t == 11)
            assert information[agent].keys() == infos[agent].keys()
            for name, value in infos[agent].items():
                np.testing.assert_allclose(information[agent][name], value, atol=1e-9, err_msg=name)


def test_spaces_are_those_of_pettingzoo():
    for mode in MODES:
        theirs = repeated_game_v1.parallel_env(game=GAME, action_mode=mode)
        ours = rj.RepeatedGame(GAME, action_mode=mode)
        for agent in ours.agents:
            there, here = theirs.action_space(agent), ours.action_space(agent)
            assert here.shape == there.shape
            if mode == "discrete":
                assert here.n == there.n
            else:
                np.testing.assert_array_equal(np.broadcast_to(here.low, here.shape), there.low)
                np.testing.assert_array_equal(np.broadcast_to(here.high, here.shape), there.high)
            assert here.contains(here.sample(jax.random.key(1)))
            there, here = theirs.observation_space(agent), ours.observation_space(agent)
            np.testing.assert_array_equal(here.low, there.low)
            np.testing.assert_array_equal(here.high, there.high)


def test_bandit_play_of_one_hot_policies_is_that_of_pettingzoo():
    """Where the drawn action is certain, bandit feedback is the same, opponents' estimates included."""
    theirs = repeated_game_v1.parallel_env(game=GAME, horizon=9, feedback="bandit", action_mode="normalize")
    ours = rj.RepeatedGame(GAME, horizon=9, feedback="bandit", action_mode="normalize")
    rng, key = np.random.default_rng(0), jax.random.key(0)
    theirs.reset(seed=0)
    _, state = ours.reset(key)
    step = jax.jit(ours.step_env)
    for _ in range(9):
        corners = {a: np.eye(d)[rng.integers(d)] for a, d in zip(ours.agents, GAME.num_actions, strict=True)}
        observed, gained, _, _, infos = theirs.step(corners)
        observations, state, rewards, _, information = step(key, state, corners)
        for agent in ours.agents:
            np.testing.assert_allclose(observations[agent], observed[agent], atol=1e-6)
            np.testing.assert_allclose(rewards[agent], gained[agent], atol=1e-9)
            for name, value in infos[agent].items():
                np.testing.assert_allclose(information[agent][name], value, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("mode", ["normalize", "softmax", "project"])
@pytest.mark.parametrize("action", [[0.9, -0.9, 0.0], [0.3, 0.3, -0.9], [0.9, 0.9, 0.9]])
def test_large_actions_mean_the_policy_of_the_gymnasium_environment(mode, action):
    action = np.array(action) * float(jnp.finfo(float).max)
    settings = {"horizon": 2, "action_mode": mode}
    theirs = SinglePlay(streams.BiasedGaussian(3), **settings)
    theirs.reset(seed=0)
    *_, info = theirs.step(action)
    ours = rj.SinglePlay(rj.biased_gaussian(3), **settings)
    policy = ours._rounds.policy(jnp.asarray(action), 3, (), "the agent")
    np.testing.assert_allclose(policy, info["policy"], atol=1e-6)


def test_bandit_actions_are_drawn_from_the_policies():
    env = rj.RepeatedGame("weighted_rps", horizon=400, feedback="bandit", action_mode="strict")
    policy = jnp.array([0.5, 0.3, 0.2])
    actions = dict.fromkeys(env.agents, policy)

    def one_round(state, key):
        _, state, rewards, _, infos = env.step_env(key, state, actions)
        return state, (rewards["player_0"], infos["player_0"]["realized_action"])

    def episode(key):
        _, state = env.reset(key)
        return jax.lax.scan(one_round, state, jax.random.split(key, 400))[1]

    rewards, drawn = jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), 100))
    share = np.bincount(np.asarray(drawn).ravel(), minlength=3) / drawn.size
    assert np.abs(share - policy).max() < 5 * np.sqrt(0.25 / drawn.size)
    # Zero-sum and the same policy on both sides of a symmetric game: 0 in expectation.
    assert abs(rewards.mean()) < 5 * rewards.std() / np.sqrt(rewards.size)


@pytest.mark.parametrize("mode", ["normalize", "discrete"])
def test_single_play_is_the_gymnasium_environment(mode):
    """Recorded losses, which are the same to the bit."""
    losses = np.random.default_rng(0).standard_normal((10, 4))
    theirs = SinglePlay(streams.Recorded(losses), horizon=10, action_mode=mode)
    ours = rj.SinglePlay(rj.recorded(losses), horizon=10, action_mode=mode)
    assert ours.num_actions == 4 and ours.default_params.max_steps_in_episode == 10
    rng, key = np.random.default_rng(1), jax.random.key(0)
    observed, _ = theirs.reset(seed=0)
    observation, state = ours.reset(key, ours.default_params)
    for t in range(10):
        np.testing.assert_allclose(observation, observed, atol=1e-6)
        action = int(rng.integers(4)) if mode == "discrete" else rng.random(4, dtype=np.float32)
        observed, gained, terminated, _, info = theirs.step(action)
        observation, state, reward, done, information = ours.step_env(key, state, action)
        np.testing.assert_allclose(reward, gained, atol=1e-6)
        assert bool(done) == terminated == (t == 9)
        for name, value in info.items():
            np.testing.assert_allclose(information[name], value, atol=1e-6, err_msg=name)


def test_single_play_in_a_game_is_the_gymnasium_environment():
    game = games.random_game((2, 3), seed=1)
    theirs = SinglePlay(game, player=1, opponents="hedge", horizon=8)
    ours = rj.SinglePlay(game, player=1, opponents=rj.hedge(), horizon=8)
    rng, key = np.random.default_rng(1), jax.random.key(0)
    theirs.reset(seed=0)
    _, state = ours.reset(key)
    for _ in range(8):
        action = rng.random(3, dtype=np.float32)
        observed, gained, *_ = theirs.step(action)
        observation, state, reward, *_ = ours.step_env(key, state, action)
        np.testing.assert_allclose(observation, observed, atol=1e-6)
        np.testing.assert_allclose(reward, gained, atol=1e-9)


@pytest.mark.parametrize(
    "env",
    [
        rj.RepeatedGame("weighted_rps", horizon=5),
        rj.SinglePlay(rj.drifting(3), horizon=5),
        rj.SinglePlay(games.weighted_rps(), horizon=5, opponents=rj.regret_matching()),
    ],
)
def test_step_begins_again_where_an_episode_ends(env):
    action = jnp.array([1.0, 0.0, 0.0])
    actions = dict.fromkeys(env.agents, action) if isinstance(env, rj.RepeatedGame) else action

    def one_round(state, key):
        observation, state, _, done, _ = env.step(key, state, actions)
        return state, (observation, done)

    def episodes(key):
        first, state = env.reset(key)
        return first, jax.lax.scan(one_round, state, jax.random.split(key, 12))

    # jit, vmap and scan at once.
    first, (state, (observations, dones)) = jax.jit(jax.vmap(episodes))(
        jax.random.split(jax.random.key(0), 3)
    )
    done = dones["__all__"] if isinstance(dones, dict) else dones
    np.testing.assert_array_equal(done, np.tile(np.isin(np.arange(1, 13), [5, 10]), (3, 1)))
    np.testing.assert_array_equal(state.t, 2)
    for name in first if isinstance(first, dict) else [None]:
        began = first if name is None else first[name]
        rows = observations if name is None else observations[name]
        np.testing.assert_array_equal(rows[:, 4], began)
        np.testing.assert_allclose(rows[:, 5, 0], 1 / 5, rtol=1e-6)


def test_streams_have_their_law():
    env = rj.SinglePlay(rj.bernoulli(3, mean=0.6, gap=0.4), horizon=50)

    def episode(key):
        reset_key, *keys = jax.random.split(key, 51)
        _, state = env.reset(reset_key)

        def one_round(state, key):
            _, state, _, _, info = env.step_env(key, state, jnp.ones(3))
            return state, info["losses"]

        return jax.lax.scan(one_round, state, jnp.stack(keys))[1]

    losses = np.asarray(jax.jit(jax.vmap(episode))(jax.random.split(jax.random.key(0), 300)))
    assert set(np.unique(losses)) == {0.0, 1.0}
    means = np.sort(losses.mean(1), axis=1).mean(0)
    assert abs(losses.mean() - (0.6 + 0.6 + 0.2) / 3) < 5 * np.sqrt(0.25 / losses.size)
    assert means[0] < 0.3 < 0.5 < means[1]


def test_bad_input_is_refused():
    with pytest.raises(UnknownNameError, match="weighted_rps"):
        rj.RepeatedGame("weighted_rsp")
    with pytest.raises(UnknownNameError, match="normalize"):
        rj.RepeatedGame("weighted_rps", action_mode="normalise")
    with pytest.raises(UnknownNameError, match="bandit"):
        rj.RepeatedGame("weighted_rps", feedback="bandits")
    with pytest.raises(UnknownNameError, match="player_1"):
        rj.RepeatedGame("weighted_rps", opponents={"player_2": rj.hedge()})
    with pytest.raises(TypeError, match="hedge"):
        rj.RepeatedGame("weighted_rps", opponents={"player_1": "hedge"})
    with pytest.raises(ValueError, match="horizon"):
        rj.RepeatedGame("weighted_rps", horizon=0)
    with pytest.raises(ValueError, match="bandit feedback"):
        rj.RepeatedGame("weighted_rps", opponents={"player_1": rj.exp3()})
    with pytest.raises(ValueError, match="taken"):
        rj.RepeatedGame("weighted_rps", opponents={"player_0": rj.hedge(), "player_1": rj.hedge()})
    with pytest.raises(ValueError, match="seat"):
        rj.SinglePlay(games.weighted_rps(), player=2, opponents=rj.hedge())
    with pytest.raises(ValueError, match="opponents"):
        rj.SinglePlay(games.weighted_rps())
    with pytest.raises(TypeError, match="game"):
        rj.RepeatedGame(rj.gaussian())
    env = rj.RepeatedGame("weighted_rps")
    with pytest.raises(TypeError, match=r"jax\.random\.key"):
        env.reset(0)
    _, state = env.reset(jax.random.key(0))
    with pytest.raises(ActionError, match="player_1"):
        env.step(jax.random.key(0), state, {"player_0": jnp.ones(3)})
    with pytest.raises(ActionError, match="shape"):
        env.step(jax.random.key(0), state, dict.fromkeys(env.agents, jnp.ones(4)))
    strict = rj.RepeatedGame("weighted_rps", action_mode="strict")
    with pytest.raises(ActionError, match="off the simplex"):
        strict.step(jax.random.key(0), state, dict.fromkeys(env.agents, jnp.ones(3)))
    rewards = jax.jit(strict.step)(jax.random.key(0), state, dict.fromkeys(env.agents, jnp.ones(3)))[2]
    assert np.isnan(rewards["player_0"])


@pytest.mark.parametrize("mode", ["normalize", "discrete"])
@pytest.mark.parametrize("feedback", ["full", "bandit"])
def test_environments_along_the_last_axis_are_those_of_vmap(mode, feedback):
    """What `step` makes of states with trailing environments is what `vmap` makes of each."""
    game = rj.RepeatedGame(GAME, horizon=3, action_mode=mode, feedback=feedback)
    stream = rj.SinglePlay(rj.switching(4, phase_length=2), horizon=3, action_mode=mode, feedback=feedback)
    rng = np.random.default_rng(0)
    for env, sizes in ((game, dict(zip(game.agents, GAME.num_actions, strict=True))), (stream, {None: 4})):
        keys = jax.random.split(jax.random.key(1), 5)
        _, last = jax.vmap(env.reset, -1, -1)(keys)
        mapped = last
        step = jax.jit(jax.vmap(env.step, -1, -1))
        for t in range(5):
            actions = {
                name: rng.integers(d, size=5) if mode == "discrete" else rng.random((d, 5))
                for name, d in sizes.items()
            }
            action = actions.get(None, actions)
            keys = jax.random.split(jax.random.key(t), 5)
            ours, theirs = env.step(keys, last, action), step(keys, mapped, action)
            jax.tree.map(lambda x, y: np.testing.assert_allclose(x, y, atol=1e-6), ours, theirs)
            last, mapped = ours[1], theirs[1]
    with pytest.raises(TypeError, match="vector of keys"):
        env.step(jax.random.key(0), last, action)
