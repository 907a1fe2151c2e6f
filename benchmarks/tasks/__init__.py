"""Tasks and suites as data."""
