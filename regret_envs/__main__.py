"""`python -m regret_envs` is the command line `regret-envs`."""

from importlib import import_module

if __name__ == "__main__":
    # By name, since nothing in regret_envs imports the benchmarks that lie above it.
    import_module("regret_envs.benchmarks.cli.main").main(prog_name="python -m regret_envs")
