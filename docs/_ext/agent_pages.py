"""A page for every built-in agent: formula, guarantee, default step, settings, paper, a picture of play."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from api_pages import public_name
from citations import cited
from markdown import arguments, document, shown, table, write

from regret_envs import feedback, games, simulate
from regret_envs.agents import registry
from regret_envs.agents.base import Agent
from regret_envs.agents.catalogue import AGENTS, NEED_SETTINGS, OPPONENTS, AgentEntry, built_in
from regret_envs.benchmarks import plotting

_FOLDERS = {
    "external": "External regret",
    "swap": "Swap and internal regret",
    "changing": "Changing worlds",
    "bandits": "Bandits",
    "universal": "Regret-trained, any problem",
    "attention": "Attention",
    "llm": "Language models",
    "": "Opponents",
}
_HORIZON, _RUNS = 200, 16


def write_pages(folder: Path) -> None:
    """One page per agent, and their index by folder."""
    blocks = []
    for place, title in _FOLDERS.items():
        entries = {name: e for name, e in built_in().items() if _place(e) == place}
        rows = []
        for name, entry in entries.items():
            _write_agent(folder, name, entry)
            cls = _class(entry)
            rows.append((f"[`{name}`]({name}.md)", entry.summary, cls.bounds or "–", _takes(cls)))
        blocks += [f"## {title}", table(("agent", "what it is", "bounds", "feedback"), rows)]
    names = [name for place in _FOLDERS for name, e in built_in().items() if _place(e) == place]
    write(
        folder / "index.md",
        "# Agents",
        "*Bounds* is the kind of [regret](../../concepts/regret.md) that the agent's guarantee is about; "
        "*feedback* is what it plays under: `any` (losses or estimates of them), `full` or `bandit`. Names "
        "go to `--agents`, with settings in brackets: `hedge[step_size=0.5]`.",
        *blocks,
        "```{toctree}\n:hidden:\n" + "\n".join(names) + "\n```",
    )


def _place(entry: AgentEntry) -> str:
    parts = entry.target.partition(":")[0].split(".")[2:]
    return parts[0] if len(parts) > 1 else ""


def _class(entry: AgentEntry) -> type[Agent]:
    module, _, name = entry.target.partition(":")
    found: type[Agent] = getattr(importlib.import_module(module), name)
    return found


def _write_agent(folder: Path, name: str, entry: AgentEntry) -> None:
    cls = _class(entry)
    text, _ = document(cls)
    facts = [("spec", f"`{name}`"), ("class", _link(cls))]
    if entry.settings:
        facts.append(("is", ", ".join(f"`{k}` = `{v}`" for k, v in entry.settings.items())))
    facts += [
        ("guarantee", cls.guarantee or "none"),
        ("bounds", f"{cls.bounds} regret" if cls.bounds else "–"),
        ("feedback", _takes(cls)),
        ("default step", _default_step(name) or "–"),
        ("paper", cited(cls.reference) if isinstance(cls.reference, str) and cls.reference else "–"),
        ("needs", f"the extra `{entry.requires}`" if entry.requires else "nothing more"),
    ]
    if entry.version > 1:
        facts.append(("version", entry.version))
    picture = _picture(folder, name, entry)
    write(
        folder / f"{name}.md",
        f"# {name}",
        f"{entry.summary}.",
        table(("property", "value"), facts),
        picture,
        text.replace("\n    ", "\n"),
        "## Settings",
        arguments(cls),
        f"## Use\n\n```sh\n{_use(name, cls)}\n```" if name in AGENTS else "",
    )


def _takes(cls: type[Agent]) -> str:
    """What the class says; where the settings decide, "any"."""
    return cls.takes if isinstance(cls.takes, str) else "any"


def _link(cls: type[Agent]) -> str:
    public = public_name(cls)
    return f"{{py:obj}}`{public}`" if public else f"`{cls.__module__}.{cls.__name__}`"


def _use(name: str, cls: type[Agent]) -> str:
    suite = "bandit" if _takes(cls) == "bandit" else "core"
    other = "uniform" if name == "hedge" else "hedge"
    return f"regret-envs run --suite {suite} --agents {other},{name}"


def _default_step(name: str) -> str | None:
    """The step at d = 10, T = 1,000, where the agent says."""
    if name in NEED_SETTINGS or name in OPPONENTS:
        return None
    try:
        agent: Any = registry.make(name)
        step, shrinks = agent.schedule(10, 1000)
    except (AttributeError, ImportError, TypeError):
        return None
    return f"{shown(float(step))}{' / √t' if shrinks else ''} for d = 10, T = 1,000"


def _picture(folder: Path, name: str, entry: AgentEntry) -> str:
    """Self-play in weighted rock–paper–scissors; for bandits and where that fails, nothing."""
    if name not in AGENTS:
        return ""
    agent = registry.make(name)
    if agent.unsupported(3, horizon=_HORIZON):
        return ""
    game = games.weighted_rps()
    layers = [feedback.Bandit()] if _takes(_class(entry)) == "bandit" else []
    seats = [registry.make(name), registry.make(name)]
    play = simulate(
        game, seats, horizon=_HORIZON, num_runs=2, starting_loss_scale=1.0, feedback=layers, record="policies"
    )
    file = folder / "pictures" / f"{name}.svg"
    file.parent.mkdir(parents=True, exist_ok=True)
    axes = plotting.simplex({name: play}, world=game, num_runs=2)
    plotting.figure_of(axes).savefig(file, bbox_inches="tight", metadata={"Date": None})
    under = ", under bandit feedback" if layers else ""
    return (
        f":::{{figure}} pictures/{name}.svg\n:alt: Paths of the policies of {name} in a triangle\n"
        ":class: paper\n\n"
        f"Self-play in weighted rock–paper–scissors, {_HORIZON} rounds{under}.\n:::"
    )
