"""Typical mistakes in suite files, and which door the errors name."""

import pytest

from regret_envs.benchmarks.tasks.suites import SuiteError, find_tasks
from regret_envs.names import UnknownNameError

TASK = """
[[task]]
id = "mine"
world = "games.chicken"
horizon = 20
metrics = ["cce_gap"]
loss_scale = 7.0
summary = "chicken"
"""


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("[[task]]", "[task]", "write [[task]], with two brackets, above every task"),
        ('["cce_gap"]', '"cce_gap"', 'write a list, metrics = ["…"]'),
        (
            "horizon",
            "margin = 0.1\nhorizon",
            "a setting of the world is written as settings = { margin = … }",
        ),
        ("horizon", "payoff = [[1]]\nhorizon", "did you mean 'payoffs'?"),
        ('world = "games.chicken"', 'game = "chicken"', 'write world = "games.NAME"'),
        ("[[task]]", "horizn = 3\n[[task]]", "known: summary, task, tasks"),
        ("[[task]]", "payoffs = [[1]]\n[[task]]", "write payoffs below a line [[task]]"),
        ('world = "games.chicken"', 'payoffs = "no.npz"', "task 'mine': there is no file of payoffs at"),
        ("[[task]]", "[[tasks]]", "write [[task]] above every task of your own"),
        ("horizon = 20", 'horizon = "20"', "write horizon without quotes"),
        (
            "horizon = 20\n",
            "",
            "; write horizon = 1000, the number of rounds",
        ),
        ('world = "games.chicken"\n', "", "or payoffs = [[...], [...]], one array per player"),
        ("games.chicken", "chicken", 'world must be "games.NAME", "streams.NAME" or "module:factory"'),
        (TASK, '[[task]]\nid = "mine"\npayoffs = "no.npz"\n', "mine.toml: there is no file of payoffs at"),
    ],
)
def test_the_door_is_named(tmp_path, old, new, says):
    (tmp_path / "mine.toml").write_text(TASK.replace(old, new, 1))
    with pytest.raises(SuiteError) as error:
        find_tasks(str(tmp_path / "mine.toml"))
    assert says in str(error.value) and "mine.toml" in str(error.value)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("chicken", "chicken is a game, not a suite or task: give --game chicken"),
        ("mine.nfg", "give --game mine.nfg"),
        ("jordan_t100", "did you mean 'jordan_t1000'"),
        ("xyzzy", "regret-envs list tasks name them; a suite file of your own ends in .toml"),
    ],
)
def test_names_that_are_not_suites(name, says):
    with pytest.raises(UnknownNameError) as error:
        find_tasks(name)
    assert says in str(error.value)
