"""Speed beside other libraries, in one run: `python -m regret_envs.benchmarks.speed.__main__`."""
