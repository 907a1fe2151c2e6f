"""What agents that ask somebody else have used, and how often they gave no answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from regret_envs.agents.llm.transcripts import Exchange
from regret_envs.agents.usage import Usage
from regret_envs.benchmarks.analysis.tables import Table, number
from regret_envs.benchmarks.running.rows import Row, complete_cells

MOST_FALLBACKS = 0.01
"""An agent whose share of fallbacks is above this is marked: its results are partly those of uniform play."""


def usage_by_agent(rows: Iterable[Row], *, tasks: Collection[str] | None = None) -> dict[str, Usage]:
    """What every agent has used over its whole cells; agents that ask nobody are not in it.

    Args:
        rows: result rows.
        tasks: task ids to count; None: all there are.
    """
    found: dict[str, Usage] = {}
    for cell in complete_cells(rows).values():
        if tasks is None or cell[0].task in tasks:
            for agent, usage in cell[0].usage:
                found[agent] = found[agent] + usage if agent in found else usage
    return found


def fallback_shares(used: Mapping[str, Usage]) -> dict[str, float]:
    """The share of decisions that uniform play took the place of, of the agents that are to be marked."""
    shares = {agent: usage.fallbacks / max(usage.decisions, 1) for agent, usage in used.items()}
    return {agent: share for agent, share in shares.items() if share > MOST_FALLBACKS}


def usage_table(used: Mapping[str, Usage]) -> Table:
    """One row for each agent."""
    columns = [
        "agent",
        "decisions",
        "fallbacks",
        "malformed",
        "requests",
        "retries",
        "tokens in",
        "tokens out",
        "seconds",
        "cost",
    ]
    rows = [
        [
            agent,
            f"{usage.decisions:,}",
            f"{usage.fallbacks:,}",
            f"{usage.malformed:,}",
            f"{usage.requests:,}",
            f"{usage.retries:,}",
            f"{usage.prompt_tokens:,}",
            f"{usage.completion_tokens:,}",
            f"{usage.seconds:,.0f}",
            "–" if usage.cost is None else f"{usage.cost:,.2f}",
        ]
        for agent, usage in used.items()
    ]
    note = (
        "What producing these results took, whether now or earlier (from the cache). Fallbacks: decisions "
        "that uniform play took the place of, since no answer could be read."
    )
    return Table("Used", columns, rows, numbers=len(columns) - 1, note=note)


def example_table(used: Mapping[str, Usage]) -> Table:
    """Answers from which no policy could be read, some for each agent."""
    rows = [[agent, example] for agent, usage in used.items() for example in usage.examples]
    return Table("Answers that could not be used", ["agent", "what was wrong, and the answer"], rows)


def transcript_table(name: str, rounds: Sequence[Exchange]) -> Table:
    """One run's conversation: rounds as rows, what was asked, said, played and lost."""
    rows = [
        [
            str(exchange.round),
            exchange.messages[1]["content"] if len(exchange.messages) > 1 else "",
            "\n".join(exchange.answers) + ("\n(played uniform)" if exchange.fallback else ""),
            _by_name(exchange.policy),
            _by_name(exchange.losses),
        ]
        for exchange in rounds
    ]
    return Table(f"Transcript {name}", ["round", "asked", "said", "played", "lost"], rows)


def _by_name(values: Mapping[str, float]) -> str:
    return "\n".join(f"{name} {number(value)}" for name, value in values.items())
