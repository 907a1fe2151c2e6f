"""The best agents of every task, from results files: `python docs/_ext/standings.py RESULTS.jsonl ...`.

Writes `docs/standings.json`, which the task pages read; tasks that are not in these files stay as they are.
It is data, made with the results, not at build time.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from regret_envs.benchmarks import leaderboard
from regret_envs.benchmarks.running import results

FILE = Path(__file__).parents[1] / "standings.json"
_SHOWN = 3


def standings(path: str) -> dict[str, dict[str, object]]:
    """Per task of a results file: its version, the metric, and the first agents, mean and standard error."""
    found = {}
    for table in leaderboard(results.read(path).rows).tasks:
        ranked = [e for e in table.entries if e.status == "ok"]
        metric = table.metrics[0]
        found[table.task] = {
            "version": table.version,
            "metric": metric,
            "best": [
                [e.agent, e.rank, e.estimates[metric].mean, e.estimates[metric].standard_error]
                for e in ranked[:_SHOWN]
            ],
            "agents": len(ranked),
        }
    return found


if __name__ == "__main__":
    merged: dict[str, object] = json.loads(FILE.read_text("utf-8"))
    for file in sys.argv[1:]:
        merged |= standings(file)
    FILE.write_text(json.dumps(merged, indent=1, ensure_ascii=False) + "\n", "utf-8")
