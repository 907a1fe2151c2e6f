"""Benchmarks: tasks as data, the runner, its results and the leaderboard."""

if __name__ != "regret_envs.benchmarks":
    raise ImportError(
        "this folder is the package regret_envs.benchmarks: install the project (pip install -e .) and "
        "import it by that name"
    )
