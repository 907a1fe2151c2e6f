import pytest

from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.benchmarks.tasks.suites import SuiteError, find_tasks, read_suite
from regret_envs.benchmarks.tasks.task import Task

GOOD = """
summary = "two games"
tasks = ["jordan_t1000", "smoke"]

[[task]]
id = "chicken_t50"
world = "games.chicken"
horizon = 50
metrics = ["ce_gap", "swap_regret"]
loss_scale = 7.0
starting_loss_scale = 1.0
summary = "chicken"

[[task]]
id = "bandit_t20"
world = "streams.bernoulli"
settings = {num_actions = 3, gap = 0.2}
feedback = [{name = "bandit"}]
horizon = 20
metrics = ["external_regret"]
loss_scale = 1.0
summary = "a bandit"
"""


@pytest.fixture
def suite(tmp_path):
    def write(text):
        (tmp_path / "mine.toml").write_text(text)
        return str(tmp_path / "mine.toml")

    return write


def test_a_suite_file(suite):
    tasks = find_tasks(f"weighted_rps_t20,{suite(GOOD)}")
    assert [t.id for t in tasks] == [
        "weighted_rps_t20",
        "jordan_t1000",
        "biased_gaussian_d3_t20",
        "chicken_t50",
        "bandit_t20",
    ]
    assert tasks[3] == Task(
        id="chicken_t50",
        world="games.chicken",
        horizon=50,
        metrics=("ce_gap", "swap_regret"),
        loss_scale=7.0,
        starting_loss_scale=1.0,
        summary="chicken",
    )


def test_opponents_and_the_ranked_agents_seat(suite):
    lines = "horizon = 50\nopponents = ['stackelberg-leader[follower={agent}]']\nseat = 1\nrounds = [10, 50]"
    task = find_tasks(suite(GOOD.replace("horizon = 50", lines)))[-2]
    assert task.opponents == ("stackelberg-leader[follower={agent}]",)
    assert (task.seat, task.rounds) == (1, (10, 50))


def test_built_in_names():
    assert [t.id for t in find_tasks("paper, smoke")] == list(
        dict.fromkeys((*SUITES["paper"].tasks, *SUITES["smoke"].tasks))
    )
    assert find_tasks("jordan_t1000") == [TASKS["jordan_t1000"]]


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ('summary = "two', 'sumary = "two', "unknown field `sumary`; did you mean 'summary'"),
        ("horizon = 50", "horizn = 50", "unknown field `horizn` - at `$.task[0]`; did you mean 'horizon'"),
        (
            'name = "bandit"',
            'nam = "bandit"',
            "unknown field `nam` - at `$.task[1].feedback[0]`; did you mean 'name'",
        ),
        ("horizon = 50", 'horizon = "50"', "Expected `int`, got `str` - at `$.task[0].horizon`"),
        ("horizon = 50\n", "", "missing required field `horizon`"),
        (
            "jordan_t1000",
            "jordan_t100",
            "mine.toml: unknown suite or task 'jordan_t100': did you mean 'jordan_t1000'",
        ),
        ("ce_gap", "ce_gpa", "task 'chicken_t50': unknown metric 'ce_gpa': did you mean"),
        (
            "games.chicken",
            "games.chickn",
            "task 'chicken_t50': unknown game 'chickn': did you mean 'chicken'",
        ),
        ("gap = 0.2", "gpa = 0.2", "task 'bandit_t20': "),
        ('"bandit"', '"bandti"', "task 'bandit_t20': unknown feedback 'bandti': did you mean 'bandit'"),
        ("chicken_t50", "jordan_t1000", "task 'jordan_t1000': the id is a built-in task's"),
        ("bandit_t20", "chicken_t50", "two tasks with the id 'chicken_t50'"),
        ("games.chicken", "no_such_module:World", "task 'chicken_t50': No module named 'no_such_module'"),
        ("games.chicken", "math:gcd", "task 'chicken_t50': math:gcd is not called, since"),
        ("[[task]]", "[[task", "mine.toml: "),
        (GOOD, "summary = ''", "has no tasks"),
    ],
)
def test_what_is_wrong_is_named(suite, old, new, says):
    assert old in GOOD
    with pytest.raises(SuiteError) as error:
        find_tasks(suite(GOOD.replace(old, new, 1)))
    assert says in str(error.value) and "mine.toml" in str(error.value)


@pytest.mark.parametrize(
    ("horizon", "lines", "says"),
    [
        (50, "opponents = ['hegde']", "task 'chicken_t50': unknown agent 'hegde': did you mean"),
        (50, "opponents = ['hedge', 'ftl']", "the number of opponents in games.chicken is 1, got 2 specs"),
        (50, "opponents = ['hedge[']", "'[' at position 5 is never closed"),
        (50, "opponents = ['ucb1']\nseat = 1", "ucb1 cannot play in seat 0: needs bandit feedback"),
        (50, "opponents = ['hedge']\nseat = 2", "seat is 2; the number of seats of games.chicken is 2"),
        (50, "seat = 1", "who sits in the other seats?"),
        (20, "opponents = ['hedge']", "the number of seats of streams.bernoulli is 1"),
        (50, "rounds = [5, 51]", "rounds must increase and lie in 1 … 50, got [5, 51]"),
    ],
)
def test_seats_that_cannot_be_taken_are_named(suite, horizon, lines, says):
    with pytest.raises(SuiteError) as error:
        find_tasks(suite(GOOD.replace(f"horizon = {horizon}\n", f"horizon = {horizon}\n{lines}\n")))
    assert says in str(error.value) and "mine.toml" in str(error.value)


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(SuiteError, match=r"no\.toml cannot be read: No such file"):
        read_suite(tmp_path / "no.toml")


def test_a_file_of_losses_is_no_suite_but_a_suite_file_may_play_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SuiteError, match="describe a task in a suite file"):
        find_tasks("mine.csv")
    task = '[[task]]\nid = "mine"\nworld = "streams.recorded"\nsettings = {source = "mine.csv"}\n'
    task += 'horizon = 2\nmetrics = ["external_regret"]\nloss_scale = 1.0\nsummary = "my losses"\n'
    (tmp_path / "my.toml").write_text(task)
    with pytest.raises(SuiteError, match=r"my\.toml, task 'mine': .*mine\.csv"):
        find_tasks("my.toml")
    (tmp_path / "mine.csv").write_text("a,b\n0,1\n1,0\n")
    assert find_tasks("my.toml")[0].id == "mine"
