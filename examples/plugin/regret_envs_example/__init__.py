"""A plug-in of regret-envs: an agent, a stream, a task on it and a suite."""
