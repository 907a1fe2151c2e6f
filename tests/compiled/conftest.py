"""The tests of the extra `jax`: in float64 where they do not say otherwise."""

import pytest

jax = pytest.importorskip("jax")
jax.config.update("jax_enable_x64", True)


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/compiled/" in item.path.as_posix():
            item.add_marker(pytest.mark.jax)
