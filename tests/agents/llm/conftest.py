import importlib.util

import pytest

# The extra `llm` is installed by .ci/llm, which runs these.
collect_ignore_glob = [] if importlib.util.find_spec("openai") else ["test_*.py"]


@pytest.fixture(autouse=True)
def _cache(tmp_path, monkeypatch):
    monkeypatch.setenv("REGRET_ENVS_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
