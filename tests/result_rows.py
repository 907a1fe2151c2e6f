"""Result rows for tests."""

from regret_envs.benchmarks.running.results import Row


def cell(agent, values, *, task="t", status="ok", rounds=(1, 50), identity=None, key=None, **fields):
    """The rows of a cell: `values` maps metrics to one number a run at the last round."""
    given = {
        "identity": identity or f"{task} {agent}",
        "status": status,
        "suite": "s",
        "task": task,
        "task_version": 1,
        "agent": agent,
        "seed": 0,
        "block": 0,
        "num_actions": 3,
        "loss_scale": 2.0,
        "code_version": "0",
        **fields,
    }
    if status != "ok":
        measured = [{"message": "why"}]
        given.setdefault("num_runs", 2)
    else:
        measured = [
            {
                "metric": m,
                "round": t,
                "values": tuple(float(v) for v in x) if t == rounds[-1] else (9.0,) * len(x),
            }
            for m, x in values.items()
            for t in rounds
        ]
        given.setdefault("num_runs", len(next(iter(values.values()))))
    key = key or " ".join(str(given[k]) for k in ("identity", "seed", "block", "num_runs"))
    return [Row(key=key, part=i, parts=len(measured), **given, **m) for i, m in enumerate(measured)]


def regrets(*values):
    return {"external_regret": values, "swap_regret": [2 * v for v in values]}
