"""A plug-in of regret-envs: an agent, a stream, a metric, a task and a suite."""
