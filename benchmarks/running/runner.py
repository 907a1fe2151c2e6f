"""Measuring a cell: play it and turn what is measured into rows."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from regret_envs.agents import Agent, registry
from regret_envs.agents.llm.credentials import current_trust, trusting
from regret_envs.agents.usage import Asking, Usage
from regret_envs.arrays import FloatArray
from regret_envs.benchmarks.running import compiled
from regret_envs.benchmarks.running.cells import BLOCK_RUNS, CODE_VERSION, Cell
from regret_envs.benchmarks.running.rows import ROW_SCHEMA, Row
from regret_envs.benchmarks.running.states import State
from regret_envs.benchmarks.tasks.task import (
    make_feedback,
    make_world,
    rounds_of,
)
from regret_envs.feedback import Feedback
from regret_envs.metrics import METRICS, Metric, make_metric
from regret_envs.play import Play, Simulation
from regret_envs.play.hooks import has_hooks, misfit
from regret_envs.play.simulation import Trace
from regret_envs.worlds import World

MANY_SEATS = 8


def measure(
    cell: Cell,
    *,
    states: Path | None = None,
    resume: bool = True,
    make: Callable[[str], Agent] | None = None,
    allow_llm: bool = False,
    transcripts: Path | None = None,
) -> list[Row]:
    """Play a cell and measure it: one row per metric and round, in a pairing also per player.

    An agent that raises or misplays gives a single "failed" row with the traceback, one that does
    not play such problems a single "n/a" row with the reason; nothing an agent does raises here.

    Args:
        cell: the cell.
        states: a folder for the states of cells that take long. A cell that was interrupted resumes from
            there, with the same result. The files are pickles: use a folder of your own.
        resume: whether states are saved and loaded; otherwise the folder only says how far cells are.
        make: makes an agent from a spec; None: `registry.make`.
        allow_llm: whether language models connect that the task names, and nobody typed.
        transcripts: a folder for the transcripts of language models; None: none are written.
    """
    state = State(None if states is None else states / f"{cell.key}-{CODE_VERSION}.state", pickles=resume)
    try:
        world = make_world(cell.task)
        layers = make_feedback(cell.task)
        num_actions = world.seats(world.default_seats())
        agents = seated(
            cell,
            num_actions,
            layers,
            make=make or registry.make,
            allow_llm=allow_llm,
            transcripts=transcripts,
        )
        for seat, (agent, d) in enumerate(zip(agents, num_actions, strict=False)):
            reason = misfit(agent, d, cell.task.horizon, layers)
            if reason is not None:
                spec = cell.seats[min(seat, len(cell.seats) - 1)]
                who = "" if len(cell.seats) == 1 or seat == cell.seat else f"{spec}: "
                return [cell_row(cell, status="n/a", message=_text(f"{who}{reason}"))]
        playing = agents[0] if len(agents) < len(num_actions) else agents
        used: tuple[tuple[str, Usage], ...] = ()
        if cell.engine == "jax":
            plays = compiled.play(cell, world, playing, layers)
            if isinstance(plays, str):
                return [cell_row(cell, status="n/a", message=_text(plays))]
            measured = _by_metric(cell, [row for play in plays for row in _measure_round(cell, play)])
        else:
            measured, used = _play(cell, world, playing, layers, state)
    except (Exception, SystemExit) as error:
        first = cell.block * BLOCK_RUNS
        error.add_note(
            f"agent {' against '.join(cell.seats) if cell.is_pairing else cell.agent}, task {cell.task.id}, "
            f"runs {first} to {first + cell.num_runs - 1}"
        )
        state.drop()
        return [failed_row(cell, "".join(traceback.format_exception(error)))]
    state.drop()
    return [
        cell_row(
            cell,
            status="ok",
            part=part,
            parts=len(measured),
            metric=metric,
            player=player,
            **_facts(metric),
            round=t,
            values=tuple(values.tolist()),
            usage=used if part == 0 else (),
        )
        for part, (metric, player, t, values) in enumerate(measured)
    ]


def seated(
    cell: Cell,
    num_actions: Sequence[int],
    layers: Sequence[Feedback],
    *,
    make: Callable[[str], Agent],
    allow_llm: bool = False,
    transcripts: Path | None = None,
) -> list[Agent]:
    """An agent for every seat; a single one where it can play all of them, which is faster.

    Args:
        cell: the cell.
        num_actions: of every seat of its world.
        layers: the feedback in front of them.
        make: makes an agent from a spec.
        allow_llm, transcripts: as in `measure`.
    """
    if len(cell.seats) > 1:
        agents = []
        for seat, spec in enumerate(cell.seats):
            typed = cell.seat is None or seat == cell.seat
            with trusting(current_trust() if typed else "allowed" if allow_llm else "offline"):
                agents.append(make(cell.written.get(spec, spec)))
    else:
        spec = cell.written.get(cell.agent, cell.agent)
        agents = [make(spec)]
        alike = not layers and len(num_actions) > MANY_SEATS and len(set(num_actions)) == 1
        if not alike or has_hooks(agents[0]):
            agents += [make(spec) for _ in num_actions[1:]]
    hides = any(layer.hides_losses for layer in layers)
    for seat, agent in enumerate(agents):
        if isinstance(agent, Asking):
            folder = transcripts and transcripts / f"{cell.task.id}-{cell.key}" / f"seat-{seat}"
            agent.prepare(cell.task.id, hides_losses=hides, transcripts=folder)
    return agents


Measured = list[tuple[str, int | None, int, FloatArray]]
"""(metric, player, round, one value per run); the player is None where the value is not a single seat's."""


def _play(
    cell: Cell,
    world: World,
    agents: Agent | Sequence[Agent],
    layers: Sequence[Feedback],
    state: State,
) -> tuple[Measured, tuple[tuple[str, Usage], ...]]:
    """Every metric at every round of the task, metric by metric; and what agents that ask have used."""
    task = cell.task
    record: tuple[Trace, ...] = ("policies", "losses")
    measures = [make_metric(name) for name in task.metrics]
    if not any("recorded" in metric.needs for metric in measures):
        record = ()
    # The checks of the policies, losses and metrics catch and name overflows and NaN.
    with np.errstate(all="ignore"):
        kept: tuple[Simulation, Measured] | None = state.load()
        simulation, measured = kept or (
            Simulation(
                world,
                agents,
                horizon=task.horizon,
                num_runs=cell.num_runs,
                seed=cell.seed,
                first_run=cell.block * BLOCK_RUNS,
                starting_loss_scale=task.starting_loss_scale,
                feedback=layers,
                record=record,
                outcomes=any("outcomes" in metric.needs for metric in measures),
            ),
            [],
        )

        def keep(t: int) -> None:
            state.keep(t / task.horizon, (simulation, measured))

        for t in rounds_of(task):
            if measured and t <= measured[-1][2]:
                continue
            simulation.advance(t, progress=keep)
            measured += _measure_round(cell, simulation.play())
    used: dict[str, Usage] = {}
    for seat, agent in enumerate(simulation.agents):
        if isinstance(agent, Agent) and agent.usage is not None:
            spec = cell.seats[min(seat, len(cell.seats) - 1)]
            used[spec] = used.get(spec, Usage()) + agent.usage
    return _by_metric(cell, measured), tuple(used.items())


def _measure_round(cell: Cell, play: Play) -> Measured:
    """Every metric of the play so far."""
    measured = []
    for name in cell.task.metrics:
        for player, values in _values(cell, make_metric(name), play):
            if not np.isfinite(values).all():
                raise ValueError(f"{name} is not finite in round {play.t}: {values}")
            measured.append((name, player, play.t, values))
    return measured


def _by_metric(cell: Cell, measured: Measured) -> Measured:
    return sorted(measured, key=lambda row: cell.task.metrics.index(row[0]))


def _values(cell: Cell, metric: Metric, play: Play) -> Iterator[tuple[int | None, FloatArray]]:
    """A metric's values for the ranked agent; in a pairing every player's, where players have their own."""
    values = metric.of(play)
    if cell.is_pairing and values.ndim > 1:
        yield from enumerate(values)
    else:
        yield None, metric.ranked(values, cell.seat)


def _facts(name: str) -> dict[str, Any]:
    """What a row says of a metric that is not built in, so that reading it needs no plug-in."""
    if name in METRICS:
        return {}
    metric = make_metric(name)
    facts = ("unit", "higher_is_better", "normalize")
    return {fact: getattr(metric, fact) for fact in facts}


def failed_row(cell: Cell, message: str) -> Row:
    """The row of a cell without a result."""
    return cell_row(cell, status="failed", message=_text(message))


MESSAGE_BYTES = 4096
_LINE_CHARACTERS = 500


def _text(said: object) -> str:
    """An agent's message in a form that a file can hold: at most 4 kB of valid UTF-8.

    Long lines are cut at their ends, and long messages in their middle: a traceback ends with what it says.
    """
    lines = str(said).encode("utf-8", "backslashreplace").decode().split("\n")
    text = "\n".join(
        line if len(line) <= _LINE_CHARACTERS else f"{line[:_LINE_CHARACTERS]}… ({len(line)} characters)"
        for line in lines
    )
    data = text.encode()
    if len(data) <= MESSAGE_BYTES:
        return text
    half = MESSAGE_BYTES // 2 - 50
    first, last = (part.decode(errors="ignore") for part in (data[:half], data[-half:]))
    return f"{first}\n… ({len(data) - 2 * half} bytes are left out here)\n{last}"


def cell_row(cell: Cell, *, part: int = 0, parts: int = 1, **fields: Any) -> Row:
    """A row of the cell; what was measured, or why not, as fields of `Row`."""
    return Row(
        key=cell.key,
        identity=cell.identity,
        part=part,
        parts=parts,
        suite=cell.suite,
        task=cell.task.id,
        task_version=cell.task.version,
        agent=cell.agent,
        seats=cell.seats if len(cell.seats) > 1 else (),
        seat=cell.seat,
        source=cell.source,
        seed=cell.seed,
        block=cell.block,
        num_runs=cell.num_runs,
        num_actions=cell.num_actions,
        engine=cell.engine,
        loss_scale=cell.task.loss_scale,
        code_version=CODE_VERSION,
        schema=ROW_SCHEMA,
        task_hash=cell.task_hash,
        data_hash=cell.data,
        date=datetime.now(UTC).date().isoformat(),
        **fields,
    )
