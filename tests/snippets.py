"""Snippets of Markdown pages, run as a reader would run them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Snippet:
    """A fenced block: its language, its text, and what the comment before it says.

    `<!-- run with: MODULE -->` names a library that it needs, `<!-- not run: WHY -->` says why no test can
    run it.
    """

    language: str
    text: str
    needs: str | None = None
    not_run: str | None = None


_BLOCK = re.compile(
    r"^(?:<!-- (?:run with: (\w+)|not run: (.+?)) -->\n)?```(\w+)\n(.*?)^```$", flags=re.MULTILINE | re.DOTALL
)


def snippets(page: str) -> Iterator[Snippet]:
    """The fenced blocks of a page that have a language; directives have none."""
    for needs, why, language, text in _BLOCK.findall(page):
        yield Snippet(language, text, needs or None, why or None)


def run_page(page: str, folder: Path, *, skip_commands: int = 0) -> None:
    """Run a page's snippets from top to bottom in `folder`, and compare what it shows with what is printed.

    Every Python block is a script, named by a first line `# name.py`; TOML is a file, named by a first line
    `# name.toml`; text is what the block before it printed. BibTeX and console sessions are only read.

    Args:
        page: the page's Markdown.
        folder: an empty folder.
        skip_commands: how many commands at the beginning are left out.
    """
    printed = ""
    for snippet in snippets(page):
        if snippet.not_run or (snippet.needs and importlib.util.find_spec(snippet.needs) is None):
            continue
        name = re.match(r"# ([\w.-]+\.\w+)\n", snippet.text)
        if snippet.language == "python":
            file = folder / (name[1] if name else "block.py")
            file.write_text(snippet.text)
            printed = shell(f"python {file.name}", folder)
        elif snippet.language == "toml" and name:
            (folder / name[1]).write_text(snippet.text)
        elif snippet.language == "sh":
            skip_commands -= 1
            if skip_commands < 0:
                printed = shell(snippet.text, folder)
        elif snippet.language == "text":
            assert_same_answer(snippet.text, printed)
        elif snippet.language not in ("bibtex", "console"):
            pytest.fail(f"no rule for a block in {snippet.language}")


def shell(command, folder):
    """Run a command as a reader would, in `folder`; what it printed."""
    path = f"{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=folder,
        env={"PATH": path, "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


NUMBER = r"-?\d+(?:\.\d+)?"


def rows_of(text):
    """The lines of a printed answer, tables without their order and padding: who is where may be chance."""
    lines = [re.sub(r" +", " ", line) for line in text.strip().splitlines()]
    lines = [re.sub("-{3,}:?", "---", line) for line in lines]
    return sorted(re.sub(r"^\| (\d+|–)( ~)? \|", "| # |", line) for line in lines)


def assert_same_answer(shown, printed):
    """The same tables, agents and words; means within four standard errors, and intervals that meet."""
    words = [[re.sub(NUMBER, "0", row) for row in rows_of(text)] for text in (shown, printed)]
    assert sorted(words[0]) == sorted(words[1])
    for ours, theirs in zip(*map(by_agent, (shown, printed)), strict=True):
        for (a, e), (b, f) in zip(ours[1], theirs[1], strict=True):
            assert abs(a - b) <= 4 * (e**2 + f**2) ** 0.5, (ours, theirs)
        for (low, high), (other_low, other_high) in zip(ours[2], theirs[2], strict=True):
            assert low <= other_high and other_low <= high, (ours, theirs)


def by_agent(text):
    """Per table and agent: its means with their errors, and its intervals."""
    found = []
    table = ""
    for line in text.splitlines():
        table = line if line.startswith("#") else table
        if line.startswith("|"):
            means = re.findall(rf"({NUMBER}) ± ({NUMBER})", line)
            intervals = re.findall(rf"\[({NUMBER}), ({NUMBER})\]", line)
            pairs = [[tuple(map(float, pair)) for pair in x] for x in (means, intervals)]
            if any(pairs):
                found.append(((table.partition(":")[0], line.split("|")[2].strip()), *pairs))
    return sorted(found)
