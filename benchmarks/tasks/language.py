"""Tasks short enough for language models: horizons of 20 to 50, 2 to 5 actions."""

from __future__ import annotations

from typing import Any

from regret_envs.benchmarks.tasks.task import GAME_METRICS, STREAM_METRICS, Layer, Task

_NOISY_BANDIT = (Layer("noisy", {"scale": 0.1}), Layer("bandit"))

_STREAMS = (
    Task(
        id="language_gaussian_d3_t25",
        world="streams.gaussian",
        settings={"num_actions": 3},
        horizon=25,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="i.i.d. Gaussian losses, 3 actions",
    ),
    Task(
        id="language_biased_d5_t50",
        world="streams.biased_gaussian",
        settings={"num_actions": 5, "bias_scale": 0.35},
        horizon=50,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="Gaussian losses around a bias, 5 actions",
    ),
    Task(
        id="language_alternating_d2_t20",
        world="streams.alternating",
        settings={"num_actions": 2},
        horizon=20,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="a loss on one of 2 actions after the other",
    ),
    Task(
        id="language_switching_d3_t40",
        world="streams.switching",
        settings={"num_actions": 3, "phase_length": 10, "mean": 0.7, "gap": 0.5},
        horizon=40,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="another best action every 10 rounds, 3 actions",
    ),
    Task(
        id="language_misleading_d3_t25",
        world="streams.misleading",
        settings={"num_actions": 3},
        horizon=25,
        metrics=STREAM_METRICS,
        loss_scale=1.0,
        summary="the leader so far always loses, 3 actions",
    ),
    Task(
        id="language_bandit_easy_d4_t50",
        world="streams.bernoulli",
        settings={"num_actions": 4, "mean": 0.75, "gap": 0.5},
        horizon=50,
        metrics=("external_regret", "realized_regret", "swap_regret"),
        loss_scale=1.0,
        feedback=_NOISY_BANDIT,
        summary="noisy bandit: one of 4 actions errs much less",
    ),
    Task(
        id="language_bandit_hard_d5_t50",
        world="streams.bernoulli",
        settings={"num_actions": 5, "mean": 0.6, "gap": 0.2},
        horizon=50,
        metrics=("external_regret", "realized_regret", "swap_regret"),
        loss_scale=1.0,
        feedback=_NOISY_BANDIT,
        summary="noisy bandit: one of 5 actions errs less",
    ),
)

_GAMES: dict[str, tuple[str, float, dict[str, Any]]] = {
    "weighted_rps": ("weighted rock–paper–scissors, 3 × 3", 2.0, {}),
    "matching_pennies": ("matching pennies, 2 × 2", 2.0, {}),
    "prisoners_dilemma": ("the prisoner's dilemma, 2 × 2", 5.0, {}),
    "stag_hunt": ("the stag hunt, 2 × 2", 4.0, {}),
    "chicken": ("chicken, 2 × 2", 7.0, {}),
    "random_game": ("a random 3 × 3 game", 1.8646678472352403, {"num_actions": (3, 3)}),
}


def _game(name: str, opponents: tuple[str, ...]) -> Task:
    summary, loss_scale, settings = _GAMES[name]
    against = f"_vs_{opponents[0]}" if opponents else ""
    return Task(
        id=f"language_{name}_t25{against}",
        world=f"games.{name}",
        settings=settings,
        horizon=25,
        metrics=STREAM_METRICS if opponents else GAME_METRICS,
        loss_scale=loss_scale,
        starting_loss_scale=1.0,
        opponents=opponents,
        summary=summary + (f", against {opponents[0]}" if opponents else ", self-play"),
    )


LANGUAGE = (*_STREAMS, *(_game(name, opponents) for name in _GAMES for opponents in ((), ("hedge",))))
