"""What a trained policy does, round by round, and which of its inputs matter."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from regret_envs import games, simulate, streams
from regret_envs.agents import Agent, FixedShare, Hedge, make
from regret_envs.agents.universal.agent import SHIPPED, Universal, read_weights
from regret_envs.agents.universal.features import CONTEXT_FEATURES, TOKEN_FEATURES
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.reproduce.checks import Options, write_curves
from regret_envs.benchmarks.reproduce.drawing import COLORS, legend_below, panels, save
from regret_envs.worlds import Stream

_PHASE = 100
_SWITCHES = streams.SwitchingBest(3, phase_length=_PHASE, gap=0.35)
_WORLDS: dict[str, Stream] = {
    "i.i.d.": streams.Bernoulli(5, gap=0.15),
    "switches": streams.PiecewiseStationary(5, num_switches=3, gap=0.3),
    "walks": streams.DriftingMean(5, drift_scale=0.05),
    "returns": streams.Alternating(3),
    "factor": streams.Garch(8),
}


def draw_policies(options: Options) -> None:
    """The policy over rounds beside Hedge's and Fixed-Share's: a stream with switches, weighted RPS."""
    figure, axes = panels(2)
    horizon = 3 * _PHASE
    players: dict[str, Agent] = {
        "universal": make("universal"),
        "Hedge": Hedge(),
        "Fixed-Share": FixedShare(num_switches=2),
    }
    for color, (name, agent) in zip(COLORS, players.items(), strict=False):
        play = simulate(_SWITCHES, agent, horizon=horizon, num_runs=1, seed=4, record=("policies", "losses"))
        assert play.policies is not None and play.losses is not None
        best = np.repeat(play.losses[0][:, 0].reshape(-1, _PHASE, 3).mean(1).argmin(1), _PHASE)
        axes[0].plot(play.policies[0][np.arange(horizon), 0, best], color=color, label=name)
    axes[0].set(xlabel="round", ylabel="mass on the phase's best action")
    game = games.weighted_rps()
    for color, name in zip(COLORS, players, strict=False):
        agents = [make({"Hedge": "hedge", "Fixed-Share": "fixed-share"}.get(name, name)) for _ in range(2)]
        play = simulate(
            game, agents, horizon=100, num_runs=1, seed=0, starting_loss_scale=1.0, record=("policies",)
        )
        assert play.policies is not None
        axes[1].plot(play.policies[0][:, 0, 0], color=color, label=name)
    axes[1].axhline(0.5, color="0.5", linestyle=":", linewidth=0.8)
    axes[1].set(xlabel="round", ylabel="mass on rock")
    for panel in axes:
        legend_below(panel, 3)
    caption = (
        "Policies over rounds, one run. (a) A stream whose best action changes every 100 rounds: the "
        "probability of the phase's best action. (b) Self-play in weighted rock–paper–scissors: the "
        "probability of rock; dotted: in the equilibrium, 1/2."
    )
    save(figure, options.out / "universal-policies.png", caption)


def input_groups() -> Iterator[tuple[str, list[int], list[int]]]:
    """(name, token features, context features) of what is masked together."""
    for index, name in enumerate(TOKEN_FEATURES):
        yield name, [index], []
    names = list(CONTEXT_FEATURES)
    groups = {
        "context: number of actions": names[:2],
        "context: rounds so far": names[2:4],
        "context: horizon": names[4:8],
        "context: scales": names[8:11],
        "context: autocorrelations": names[11:16],
        "context: track records of the experts": names[16:],
    }
    for group, members in groups.items():
        yield group, [], [names.index(member) for member in members]


def masked(weights: dict[str, FloatArray], tokens: list[int], context: list[int]) -> dict[str, FloatArray]:
    """The parameters of a network that does not see these inputs (they count as 0)."""
    found = {name: value.copy() for name, value in weights.items()}
    found["token_in"][:, tokens] = 0.0
    found["logit_direct"][tokens] = 0.0
    for name in ("context_in", "context_mid", "context_gate"):
        found[name][:, context] = 0.0
    return found


def mask_inputs(options: Options) -> None:
    """`universal-inputs.csv`: the mean regret in five worlds with every input masked in turn."""
    weights = read_weights(SHIPPED / "universal.npz")
    found = {"nothing": _regrets(weights, options)}
    for name, tokens, context in input_groups():
        options.say(f"without {name}")
        found[name] = _regrets(masked(weights, tokens, context), options)
    columns = {world: [regrets[i] for regrets in found.values()] for i, world in enumerate(_WORLDS)}
    write_curves(options.out / "universal-inputs.csv", {"masked": list(found), **columns})


def _regrets(weights: dict[str, FloatArray], options: Options) -> list[float]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "weights.npz")
        np.savez(path, allow_pickle=False, **weights)
        agent = Universal(str(path))
    runs = 8 if options.quick else 64
    plays = (simulate(world, agent, horizon=300, num_runs=runs, seed=9) for world in _WORLDS.values())
    return [round(float(play.regret("external").mean()), 3) for play in plays]
