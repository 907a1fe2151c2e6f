"""Measuring cells: the runner, the driver and its executors, and the results file."""
