"""The built-in tasks and suites."""

from __future__ import annotations

import msgspec

from regret_envs.benchmarks.tasks.changing import BANDIT, NONSTATIONARY, STRATEGIC
from regret_envs.benchmarks.tasks.held_out import HELD_OUT
from regret_envs.benchmarks.tasks.language import LANGUAGE
from regret_envs.benchmarks.tasks.large import MANY_ACTIONS, MANY_PLAYERS
from regret_envs.benchmarks.tasks.task import GAME_METRICS, STREAM_METRICS, Task

_PAPER = (
    Task(
        id="gaussian_d3_t20",
        world="streams.gaussian",
        settings={"num_actions": 3},
        horizon=20,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="i.i.d. Gaussian losses, 3 actions",
    ),
    Task(
        id="biased_gaussian_d3_t20",
        world="streams.biased_gaussian",
        settings={"num_actions": 3, "bias_scale": 0.35},
        horizon=20,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="Gaussian losses around a bias, 3 actions",
    ),
    Task(
        id="weighted_rps_t20",
        world="games.weighted_rps",
        horizon=20,
        metrics=GAME_METRICS,
        loss_scale=2.0,
        num_runs=1,
        summary="weighted rock–paper–scissors, no starting losses",
    ),
)

_CORE = (
    Task(
        id="bernoulli_d10_t1000",
        world="streams.bernoulli",
        settings={"num_actions": 10, "gap": 0.1},
        horizon=1000,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="one of 10 actions errs less",
    ),
    Task(
        id="switching_d5_t1000",
        world="streams.switching",
        settings={"num_actions": 5, "phase_length": 100},
        horizon=1000,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="another best action every 100 rounds, 5 actions",
    ),
    Task(
        id="drifting_d5_t1000",
        world="streams.drifting",
        settings={"num_actions": 5, "drift_scale": 0.02},
        horizon=1000,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="means that walk at random, 5 actions",
    ),
    Task(
        id="alternating_d2_t1000",
        world="streams.alternating",
        settings={"num_actions": 2},
        horizon=1000,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        num_runs=1,
        summary="makes the regret of follow-the-leader linear",
    ),
    Task(
        id="adaptive_d3_t500",
        world="streams.adaptive",
        settings={"num_actions": 3},
        horizon=500,
        metrics=STREAM_METRICS,
        loss_scale=2.0,
        num_runs=1,
        summary="an adversary that reacts, 3 actions",
    ),
    Task(
        id="nyse_o",
        world="streams.prices",
        settings={"market": "nyse_o", "loss_scale": 0.05},
        horizon=5651,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        num_runs=1,
        summary="NYSE(O) 1962–1984, 36 stocks, −log x / 0.05",
    ),
    Task(
        id="nyse_o_windows",
        world="streams.prices",
        settings={"market": "nyse_o", "loss_scale": 0.05, "window": 250},
        horizon=250,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        num_runs=22,
        summary="NYSE(O) in 22 windows, a run each",
    ),
    Task(
        id="djia",
        world="streams.prices",
        settings={"market": "djia", "loss_scale": 0.05},
        horizon=507,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        num_runs=1,
        summary="DJIA 2001–2003, 30 stocks, −log x / 0.05",
    ),
    Task(
        id="weighted_rps_t1000",
        world="games.weighted_rps",
        horizon=1000,
        metrics=GAME_METRICS,
        loss_scale=2.0,
        starting_loss_scale=1.0,
        summary="weighted rock–paper–scissors, 3 × 3",
    ),
    Task(
        id="shapley_t5000",
        world="games.shapley",
        horizon=5000,
        metrics=GAME_METRICS,
        loss_scale=1.0,
        starting_loss_scale=1.0,
        summary="Shapley's game: fictitious play cycles, 3 × 3",
    ),
    Task(
        id="jordan_t1000",
        world="games.jordan",
        horizon=1000,
        metrics=GAME_METRICS,
        loss_scale=2.0,
        starting_loss_scale=1.0,
        summary="Jordan's 3-player game, 2 × 2 × 2",
    ),
    Task(
        id="random_games_3x5_t2000",
        world="games.random_games",
        settings={"num_actions": [3, 5]},
        horizon=2000,
        metrics=GAME_METRICS,
        loss_scale=2.0,
        starting_loss_scale=1.0,
        summary="one uniform random game per run, 3 × 5",
    ),
    Task(
        id="random_games_2x3x4_t1000",
        world="games.random_games",
        settings={"num_actions": [2, 3, 4], "law": "gaussian"},
        horizon=1000,
        metrics=GAME_METRICS,
        loss_scale=1.0,
        starting_loss_scale=1.0,
        summary="one Gaussian random game per run, 2 × 3 × 4",
    ),
)

TASKS: dict[str, Task] = {
    task.id: task
    for task in (
        *_PAPER,
        *_CORE,
        *BANDIT,
        *NONSTATIONARY,
        *HELD_OUT,
        *STRATEGIC,
        *MANY_PLAYERS,
        *MANY_ACTIONS,
        *LANGUAGE,
    )
}


class Suite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tasks that are run together, by id; `runs` of each where nothing else is asked for."""

    summary: str
    tasks: tuple[str, ...]
    runs: int = 64


SUITES: dict[str, Suite] = {
    "core": Suite(
        "streams, stock prices and games, horizons 20 to 5,651",
        ("biased_gaussian_d3_t20", *(task.id for task in _CORE)),
    ),
    "bandit": Suite("only the loss of the drawn action is observed", tuple(task.id for task in BANDIT)),
    "nonstationary": Suite(
        "losses whose distribution changes, and one control", tuple(t.id for t in NONSTATIONARY)
    ),
    "held-out": Suite("kinds of worlds that no policy was trained on", tuple(t.id for t in HELD_OUT)),
    "strategic": Suite(
        "a leader that knows the agent, and Shapley's game",
        (*(task.id for task in STRATEGIC), "shapley_t5000"),
    ),
    "many-players": Suite("games of 3 to 1,000 players without a tensor", tuple(t.id for t in MANY_PLAYERS)),
    "many-actions": Suite("90 to 1,000 actions", tuple(task.id for task in MANY_ACTIONS)),
    "language": Suite(
        "short tasks for language models, horizons 20 to 50, 8 runs", tuple(t.id for t in LANGUAGE), runs=8
    ),
    "paper": Suite("the simplex experiments, horizon 20", tuple(t.id for t in _PAPER)),
    "smoke": Suite(
        "three small tasks, a few seconds",
        ("biased_gaussian_d3_t20", "weighted_rps_t20", "jordan_t1000"),
    ),
}
