"""A page for every suite: what its tasks are, as data, and who is best so far."""

from __future__ import annotations

import json
from pathlib import Path

from markdown import arguments, document, shown, table, write

from regret_envs import games, streams
from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.benchmarks.tasks.task import Task
from regret_envs.metrics import METRICS

_STANDINGS = Path(__file__).parents[1] / "standings.json"


def write_pages(folder: Path) -> None:
    """One page per suite, each task on the first suite that has it, and an index."""
    best = json.loads(_STANDINGS.read_text("utf-8"))
    home = {task: suite for suite in reversed(SUITES) for task in SUITES[suite].tasks}
    rows = []
    for name, suite in SUITES.items():
        own = [TASKS[task] for task in suite.tasks if home[task] == name]
        others = [task for task in suite.tasks if home[task] != name]
        also = ", ".join(f"[`{t}`]({home[t]}.md#{_anchor(t)})" for t in others)
        write(
            folder / f"{name}.md",
            f"# {name}",
            f"{suite.summary.capitalize()}. {suite.runs} runs by default.",
            f"```sh\nregret-envs run --suite {name}\n```",
            f"Also in this suite: {also}." if also else "",
            *(_section(task, best.get(task.id)) for task in own),
        )
        rows.append((f"[`{name}`]({name}.md)", len(suite.tasks), suite.summary))
    write(
        folder / "index.md",
        "# Tasks",
        "A task is data: a world, its settings, a horizon, metrics. `regret-envs list tasks` has one line "
        "for each. The best agents are those of 64 runs (or as many as the task has) of every built-in agent "
        "that plays it; agents with the same rank cannot be told apart.",
        table(("suite", "tasks", "what it is"), rows),
        "```{toctree}\n:hidden:\n" + "\n".join(SUITES) + "\n```",
    )


def _anchor(task: str) -> str:
    return task.replace("_", "-")


def _section(task: Task, best: dict | None) -> str:
    facts = [
        ("world", f"`{task.world}`"),
        ("settings", ", ".join(f"`{k}` = `{v}`" for k, v in task.settings.items()) or "the defaults"),
        ("horizon", f"{task.horizon:,} rounds"),
        ("metrics", ", ".join(f"`{m}`" for m in task.metrics)),
        ("loss scale", shown(task.loss_scale)),
    ]
    if task.feedback:
        layers = (f"`{layer.name}` {layer.settings or ''}" for layer in task.feedback)
        facts.append(("feedback", ", ".join(layers)))
    if task.opponents:
        facts.append(
            (
                "opponents",
                ", ".join(f"`{o}`" for o in task.opponents) + f"; the ranked agent has seat {task.seat}",
            )
        )
    if task.starting_loss_scale:
        facts.append(
            ("starting losses", f"N(0, {shown(task.starting_loss_scale)}²) for every player and run")
        )
    if task.num_runs is not None:
        facts.append(("runs", task.num_runs))
    if task.version > 1:
        facts.append(("version", task.version))
    summary = task.summary[0].upper() + task.summary[1:]
    text = f"({_anchor(task.id)})=\n## {task.id}\n\n{summary}.\n\n{table(('property', 'value'), facts)}"
    if best and best["version"] == task.version:
        unit = METRICS[best["metric"]].unit
        rows = [
            (
                rank,
                f"[`{agent}`](../agents/{agent}.md)",
                f"{mean:.4g}" + ("" if error is None else f" ± {error:.2g}"),
            )
            for agent, rank, mean, error in best["best"]
        ]
        text += f"\n\nBest of {best['agents']} agents by `{best['metric']}` ({unit}):\n\n" + table(
            ("#", "agent", "mean ± s.e."), rows
        )
    return text


def write_worlds(path: Path) -> None:
    """All streams and games by name, with their settings."""
    blocks = []
    for kind, named in (("streams", streams.STREAMS), ("games", games.NAMED_GAMES)):
        blocks.append(f"## {kind.capitalize()}")
        for name, make in named.items():
            text, _ = document(make)
            first = text.partition("\n\n")[0]
            blocks += [f"### {kind}.{name}", first, arguments(make)]
    write(
        path,
        "# Worlds by name",
        "What a task's `world` and `settings` may be, in a [suite file](../getting-started/own-game.md) "
        "or in Python: "
        '`streams.make("bernoulli", num_actions=10)`.',
        *blocks,
    )
