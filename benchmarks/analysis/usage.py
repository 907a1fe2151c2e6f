"""What agents that ask somebody else have used, and how often they gave no answer."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from regret_envs.agents.usage import Usage
from regret_envs.benchmarks.running.results import Row, complete_cells

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
