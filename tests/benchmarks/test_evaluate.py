import msgspec
import numpy as np
import pytest

from regret_envs.agents import Hedge, Uniform
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.running.evaluation import evaluate
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.task import Task

RPS = TASKS["weighted_rps_t20"]


def means(rows):
    return {e.agent: e.estimates["cce_gap"].mean for e in leaderboard(rows).tasks[0].entries}


def test_objects_are_what_their_specs_are():
    mine = Hedge(step_size=0.7)
    rows = evaluate({"mine": mine, "other": "hedge[step_size=0.7]"}, tasks=[RPS])
    found = means(rows)
    assert found["mine"] == found["hedge[step_size=0.7]"]
    assert vars(mine) == vars(Hedge(step_size=0.7))  # never played itself
    assert means(evaluate({"mine": mine}, tasks=[RPS], num_workers=2))["mine"] == found["mine"]
    assert means(evaluate(["hedge"], tasks="weighted_rps_t20"))["hedge"] == pytest.approx(0.1188957, abs=1e-7)


def test_an_object_that_does_not_pickle_and_a_task_of_ones_own():
    class Local(Uniform):
        function = staticmethod(lambda: 0)

    task = Task(
        id="mine",
        world="streams.gaussian",
        settings={"num_actions": 4},
        horizon=10,
        metrics=("external_regret",),
        loss_scale=1.0,
        summary="",
    )
    rows = evaluate({"local": Local()}, tasks=[task], runs=70)
    (entry,) = leaderboard(rows).tasks[0].entries
    assert entry.estimates["external_regret"].num_runs == 70 and np.isfinite(
        entry.estimates["external_regret"].mean
    )


def test_objects_of_other_settings_are_not_put_together():
    first = evaluate({"mine": Hedge(step_size=0.7)}, tasks=[RPS])
    second = evaluate({"mine": Hedge(step_size=0.1)}, tasks=[RPS])
    assert first[0].identity != second[0].identity
    assert means([*first, *second]) == means(second)


@pytest.mark.parametrize("name", ["hedge", "a:b", "a b", "x[y=1.0]"])
def test_names_that_objects_cannot_have(name):
    with pytest.raises(ValueError):
        evaluate({name: Uniform()}, tasks=[RPS])


def test_an_opponent_may_know_an_object():
    task = msgspec.structs.replace(TASKS["strategic_random_3x4_t2000"], horizon=60)
    rows = evaluate({"mine": Hedge(step_size=0.7), "other": "hedge[step_size=0.7]"}, tasks=[task], runs=2)
    mine, other = ([r.values for r in rows if r.agent == a] for a in ("mine", "hedge[step_size=0.7]"))
    assert mine == other and {r.seats[0] for r in rows if r.agent == "mine"} == {
        "stackelberg-leader[follower=mine]"
    }
