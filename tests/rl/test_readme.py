"""The snippets of the README files and the documentation, each in the environment that has its library."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPETS = [
    pytest.param(module, code, id=f"{file.parent.name}-{file.stem}-{module}")
    for file in (ROOT / "README.md", ROOT / "examples" / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    for module, code in re.findall(
        r"<!-- run with: (\w+) -->\n```python\n(.*?)```", file.read_text(), flags=re.DOTALL
    )
]


@pytest.mark.parametrize(("module", "code"), SNIPPETS)
def test_snippet(module, code, tmp_path, monkeypatch):
    pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    exec(code, {"__name__": "snippet"})
