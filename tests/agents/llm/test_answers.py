"""Reading policies from what models say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from regret_envs.agents.llm.answers import MalformedAnswer, read_policy, schema

ABC = ("A", "B", "C")


@pytest.mark.parametrize(
    "text",
    [
        '{"A": 0.2, "B": 0.3, "C": 0.5}',
        ' {"C":5e-1,"A":0.2,"B":0.3}\n',
        'I like C.\n```json\n{"A": 0.2, "B": 0.3, "C": 0.5}\n```\nGood luck!',
        'First {"A": 1, "B": 0, "C": 0}, but on reflection {"A": 0.2, "B": 0.3, "C": 0.5}',
        'Set {x} aside: {"A": 0.2, "B": 0.3, "C": 0.5} {"note": "done"}',
    ],
)
def test_a_policy_is_read_wherever_it_stands(text):
    np.testing.assert_allclose(read_policy(text, ABC, "policy"), [0.2, 0.3, 0.5], atol=1e-15)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "empty"),
        ("I'm sorry, I cannot help with gambling.", "no JSON object"),
        ('{"A": 0.2, "B": 0.3}', "no probability for 'C'"),
        ('{"A": 0.2, "B": 0.3, "C": 0.5, "D": 0.0}', "'D' is not an action"),
        ('{"A": 0.5, "B": 0.5, "C": 0.5}', "sum to 1.5"),
        ('{"A": 20, "B": 30, "C": 50}', "sum to 100"),
        ('{"A": -0.5, "B": 1.0, "C": 0.5}', "negative"),
        ('{"A": NaN, "B": 0.5, "C": 0.5}', "NaN"),
        ('{"A": Infinity, "B": 0.5, "C": 0.5}', "Infinity"),
        ('{"A": 1e999, "B": 0, "C": 0}', "not a finite number"),
        ('{"A": ' + "9" * 400 + ', "B": 0, "C": 0}', "not a finite number"),
        ('{"A": true, "B": 0, "C": 0}', "not a finite number"),
        ('{"A": "0.2", "B": 0.3, "C": 0.5}', "not a finite number"),
        ('{"A": [0.2], "B": 0.3, "C": 0.5}', "not a finite number"),
        ('{"A": 0.1, "A": 0.2, "B": 0.3, "C": 0.5}', "twice"),
        ('{"A": 0.2, "B": 0.3, "C": 0.', "no JSON object"),
        ('{"a": ' * 20_000, "characters"),
        ('{"A":' * 15_000, "nested too deeply"),
    ],
)
def test_what_is_wrong_is_said(text, why):
    with pytest.raises(MalformedAnswer, match=why):
        read_policy(text, ABC, "policy")


@pytest.mark.parametrize("text", ['{"action": "B"}', "B", ' "B". ', 'Because so: {"action": "B"}'])
def test_an_action_is_pure_play(text):
    np.testing.assert_array_equal(read_policy(text, ABC, "action"), [0, 1, 0])


@pytest.mark.parametrize("text", ['{"action": "D"}', "A or B", '{"action": 1}', '{"action": ["A"]}', "no"])
def test_no_action(text):
    with pytest.raises(MalformedAnswer, match="'A', 'B', 'C'"):
        read_policy(text, ABC, "action")


def test_rounded_probabilities_are_rescaled():
    np.testing.assert_allclose(
        read_policy('{"A": 0.33, "B": 0.33, "C": 0.33}', ABC, "policy"), 1 / 3, atol=1e-15
    )


@given(st.lists(st.floats(0.01, 1), min_size=1, max_size=6), st.text(max_size=50))
def test_what_is_written_is_read(weights, before):
    policy = np.array(weights) / sum(weights)
    actions = [f"option {k}" for k in range(len(weights))]
    text = before.replace("{", "") + json.dumps(dict(zip(actions, policy.tolist(), strict=True)))
    np.testing.assert_allclose(read_policy(text, actions, "policy"), policy, rtol=1e-14)


@given(st.text())
def test_any_text_is_a_policy_or_malformed(text):
    for kind in ("policy", "action"):
        try:
            policy = read_policy(text, ABC, kind)
        except MalformedAnswer:
            continue
        assert policy.shape == (3,)
        assert abs(policy.sum() - 1) < 1e-12


def test_the_schema_names_every_action():
    assert schema(ABC, "policy")["required"] == list(ABC)
    assert schema(ABC, "action")["properties"]["action"]["enum"] == list(ABC)
    assert not schema(ABC, "policy")["additionalProperties"]
