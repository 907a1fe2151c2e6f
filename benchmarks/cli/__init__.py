"""The command line, `regret-envs`: one module for each kind of command; `main` holds them together."""
