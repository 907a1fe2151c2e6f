"""The same seed and the same policies give the same numbers through every door."""

import gymnasium
import numpy as np
import pytest

from regret_envs import experts_v1, games, metrics, repeated_game_v1, simulate, streams
from regret_envs.agents import BlumMansour, Hedge
from regret_envs.feedback import Bandit

# The native vector environments need as much.
pytest.importorskip("gymnasium", minversion="1.1")

HORIZON, SEED, NUM_RUNS = 40, 11, 5
GAME = games.random_game((3, 2, 4), seed=2)
STREAM = streams.BiasedGaussian(4)


class Replay:
    """Plays recorded policies, shape (horizon, num_runs, num_actions)."""

    def __init__(self, policies):
        self.policies = policies

    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.t = -1

    def act(self):
        self.t += 1
        return self.policies[self.t]

    def observe(self, losses):
        pass


def recorded(world, feedback=()):
    """Players' own play against Hedge and Blum–Mansour, from `simulate`."""
    d = world.seats(1)[0] if world is STREAM else world.num_actions[0]
    policies = np.random.default_rng(0).dirichlet(np.ones(d), (HORIZON, NUM_RUNS))
    opponents = [] if world is STREAM else [Hedge(), BlumMansour(Hedge(step_size=0.8))]
    play = simulate(
        world,
        [Replay(policies), *opponents],
        horizon=HORIZON,
        num_runs=NUM_RUNS,
        seed=SEED,
        feedback=feedback,
        record=["policies", "losses"],
    )
    return policies, play


OPPONENTS = ["hedge", BlumMansour(Hedge(step_size=0.8))]


@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-6)])
@pytest.mark.parametrize("feedback", ["full", "bandit"])
@pytest.mark.parametrize("world", [GAME, STREAM])
def test_same_losses_and_regrets(world, feedback, dtype, tolerance):
    policies, play = recorded(world, Bandit() if feedback == "bandit" else ())
    actions = policies.astype(dtype)
    options = {"horizon": HORIZON, "action_mode": "strict", "feedback": feedback}
    if world is GAME:
        name, chosen = "regret_envs/RepeatedGame-v1", {"game": GAME, "opponents": OPPONENTS}
        seats = {"player_1": OPPONENTS[0], "player_2": OPPONENTS[1]}
        pettingzoo = repeated_game_v1.parallel_env(game=GAME, opponents=seats, **options)
    else:
        name, chosen = "regret_envs/Experts-v1", {"stream": STREAM}
        pettingzoo = experts_v1.parallel_env(stream=STREAM, num_agents=1, **options)
    single = gymnasium.make(name, **chosen, **options)
    vector = gymnasium.make_vec(name, num_envs=NUM_RUNS, **chosen, **options)

    vector.reset(seed=SEED)
    steps = [vector.step(a)[4] for a in actions]
    np.testing.assert_allclose([s["losses"] for s in steps], play.losses[0], rtol=0, atol=tolerance)
    np.testing.assert_allclose(_regret(steps), play.regret("external")[0], rtol=0, atol=tolerance)

    single.reset(seed=SEED)
    steps = [single.step(a)[4] for a in actions[:, 0]]
    np.testing.assert_allclose([s["losses"] for s in steps], play.losses[0][:, 0], rtol=0, atol=tolerance)
    if world is STREAM:
        assert _regret(steps) == pytest.approx(play.regret("external")[0, 0], abs=tolerance)

    pettingzoo.reset(seed=SEED)
    steps = [pettingzoo.step({"player_0": a})[4]["player_0"] for a in actions[:, 0]]
    np.testing.assert_allclose([s["losses"] for s in steps], play.losses[0][:, 0], rtol=0, atol=tolerance)


def _regret(steps):
    policies, losses = (np.array([s[key] for s in steps]) for key in ("policy", "losses"))
    return metrics.external_regret(metrics.play_loss_matrix(policies, losses))


def test_self_play_in_pettingzoo_is_simulate():
    play = simulate(GAME, [Hedge(), Hedge(), BlumMansour()], horizon=HORIZON, record="policies", seed=1)
    environment = repeated_game_v1.parallel_env(game=GAME, horizon=HORIZON, action_mode="strict")
    environment.reset(seed=1)
    sums = [np.zeros((d, d)) for d in GAME.num_actions]
    for t in range(HORIZON):
        actions = {f"player_{n}": play.policies[n][t, 0] for n in range(3)}
        _, rewards, _, _, infos = environment.step(actions)
        for n, info in enumerate(infos.values()):
            sums[n] += np.outer(info["policy"], info["losses"])
            assert rewards[f"player_{n}"] == -info["expected_loss"]
    for n in range(3):
        np.testing.assert_allclose(sums[n], play.play_losses[n][0], rtol=0, atol=1e-12)


def test_all_agents_of_a_stream_face_the_same_losses():
    environment = experts_v1.parallel_env(num_agents=3, num_actions=4, horizon=5)
    environment.reset(seed=6)
    agents = [Hedge(), Hedge(), Hedge()]
    play = simulate(streams.Gaussian(4), agents, horizon=5, seed=6, record="losses")
    for t in range(5):
        infos = environment.step({agent: np.ones(4) for agent in environment.agents})[4]
        for info in infos.values():
            np.testing.assert_array_equal(info["losses"], play.losses[0][t, 0])
