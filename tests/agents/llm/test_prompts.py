"""Prompts."""

from __future__ import annotations

import shutil
from importlib import resources

import numpy as np
import pytest

from regret_envs.agents.llm.agent import LanguageModel
from regret_envs.agents.llm.prompts import SHIPPED, VARIABLES, PromptError, Prompts, count_tokens, fingerprint


@pytest.fixture
def folder(tmp_path):
    shipped = resources.files("regret_envs.agents.llm") / "prompts_data" / "plain"
    shutil.copytree(shipped, tmp_path / "mine")
    return tmp_path / "mine"


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_prompts_compile(name):
    Prompts(name)


def test_a_copied_folder_says_the_same(folder):
    rules = {"actions": ("A", "B"), "num_actions": 2, "horizon": 5, "answer": "policy"}
    assert Prompts(str(folder)).render("world", rules) == Prompts("plain").render("world", rules)
    assert '"A", "B"' in Prompts("plain").render("world", rules)


def test_every_edit_changes_the_fingerprint(folder):
    before = fingerprint(str(folder))
    (folder / "history.jinja").write_text("{{ round }}?")
    middle = fingerprint(str(folder))
    (folder / "system.jinja").write_text("You are a pirate.")
    assert len({before, middle, fingerprint(str(folder))}) == 3


@pytest.mark.parametrize(
    ("file", "text", "why"),
    [
        ("history.jinja", "{{ rounds }}", "history.jinja.*'rounds'.*round"),
        ("world.jinja", "{% if %}", "world.jinja, line 1"),
        ("world.jinja", "{% include 'other.jinja' %}", "other.jinja"),
        ("world.jinja", "{{ payoffs[0] }}", "world.jinja.*'payoffs'.*two players"),
        ("history.jinja", "{{ history[0].cost }}", "history.jinja"),
        (
            "history.jinja",
            "{{ actions.__class__.__mro__ }}",
            "history.jinja.*unsafe|history.jinja.*undefined",
        ),
        ("world.jinja", "{{ 1 / 0 }}", "world.jinja.*ZeroDivisionError"),
    ],
)
def test_a_wrong_template_is_named_before_anything_is_asked(folder, file, text, why):
    (folder / file).write_text(text)
    with pytest.raises(PromptError, match=why):
        agent = LanguageModel("m", base_url="http://127.0.0.1:9/v1", prompts=str(folder))
        agent.reset(2, horizon=5, num_runs=1, rng=np.random.default_rng(0))
        agent.act()


def test_no_such_prompts():
    with pytest.raises(PromptError, match="plain, summary, game, bandit"):
        Prompts("plane")


def test_tokens_are_counted_rather_high():
    assert count_tokens("Round 12 losses: A -0.1234, B 1.") >= 14
    assert set(VARIABLES) > {"actions", "history"}
