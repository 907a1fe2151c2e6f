"""The command line, `regret-envs`."""

from regret_envs.benchmarks.cli.main import main

__all__ = ["main"]
