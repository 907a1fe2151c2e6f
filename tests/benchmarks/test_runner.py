import dataclasses
import os

import msgspec
import numpy as np
import pytest

from regret_envs import simulate
from regret_envs.agents import AdaHedge, Agent, FollowTheLeader, Hedge, StackelbergLeader, registry
from regret_envs.agents.stackelberg_leader import best_plan
from regret_envs.benchmarks.running import planning, runner
from regret_envs.benchmarks.running import states as saved
from regret_envs.benchmarks.running.cells import missing, needed_modules
from regret_envs.benchmarks.running.rows import Row, complete_cells
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.task import Task, make_world
from regret_envs.metrics import METRICS

pytestmark = pytest.mark.usefixtures("importable")

RPS = TASKS["weighted_rps_t20"]
BIASED = TASKS["biased_gaussian_d3_t20"]
JORDAN = TASKS["jordan_t1000"]


class Spoiled(Agent):
    """Uniform play until round `round`, in which row 1 goes wrong."""

    def __init__(self, how="", round=3):
        self.how, self.round = how, round

    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.t, self.shape = 0, (num_runs, num_actions)

    def act(self):
        self.t += 1
        policies = np.full(self.shape, 1 / self.shape[1])
        if self.t == self.round:
            if self.how == "raises":
                raise RuntimeError("out of ideas")
            if self.how == "mumbles":
                raise RuntimeError("\udcff")
            if self.how == "kills":
                os._exit(1)
            if self.how == "shape":
                return policies[:, 1:]
            policies[1] = {"nan": np.nan, "negative": [-1, 1, 1], "sum": 0.9}[self.how]
        return policies

    def observe(self, losses):
        pass

    def unsupported(self, num_actions, *, horizon):
        reasons = {"n/a": "plays two actions alone", "true": True}
        return reasons.get(self.how) if num_actions != 2 else None


def spoiled(how):
    return f"{__name__}:Spoiled[how={how!r}]"


def plan(*agents, tasks=(RPS,), runs=64, seed=0, suite="s"):
    return planning.plan(suite, tasks, agents, runs=runs, seed=seed)


def measured(cell):
    """{(metric, round): values} of a cell that went well."""
    rows = runner.measure(cell)
    assert {row.status for row in rows} == {"ok"}
    assert len(complete_cells(rows)) == 1
    return {(row.metric, row.round): row.values for row in rows}


def test_closed_forms_of_weighted_rps():
    (bm,) = plan("blum-mansour")
    values = measured(bm)
    assert values["ce_gap", 20] == (pytest.approx(0.0617213, abs=1e-7),)
    assert values["swap_gap", 20] == (pytest.approx(0.1040524, abs=1e-7),)
    (hedge,) = plan("hedge")
    assert measured(hedge)["cce_gap", 20] == (pytest.approx(0.1188957, abs=1e-7),)
    (uniform,) = plan("uniform")
    values = measured(uniform)
    for t in (1, 10, 20):
        for gap in ("cce_gap", "ce_gap", "swap_gap"):
            assert values[gap, t] == (pytest.approx(1 / 9, abs=1e-12),)
        # Zero-sum from one policy: both players gain 1/9.
        assert values["nash_conv", t] == (pytest.approx(2 / 9, abs=1e-12),)
        assert values["external_regret", t] == (pytest.approx(t / 9, abs=1e-12),)


def test_blocks_cover_the_runs_of_one_simulation():
    cells = plan("hedge", tasks=[BIASED], runs=150, seed=5)
    assert sorted((c.block, c.num_runs) for c in cells) == [(0, 64), (1, 64), (2, 22)]
    whole = simulate(make_world(BIASED), Hedge(), horizon=20, num_runs=150, seed=5)
    for kind in ("external", "swap"):
        blocks = [measured(c)[f"{kind}_regret", 20] for c in sorted(cells, key=lambda c: c.block)]
        np.testing.assert_allclose(np.concatenate(blocks), whole.regret(kind)[0], rtol=0, atol=1e-10)


def test_self_play_has_an_agent_a_seat_and_takes_the_worst_player():
    (cell,) = plan("hedge[step_size=0.3]", tasks=[JORDAN], runs=5)
    agents = [Hedge(step_size=0.3) for _ in range(3)]
    play = simulate(make_world(JORDAN), agents, horizon=1000, num_runs=5, starting_loss_scale=1.0)
    values = measured(cell)
    np.testing.assert_allclose(values["external_regret", 1000], play.regret().max(0), rtol=0, atol=1e-10)
    np.testing.assert_allclose(values["nash_conv", 1000], play.nash_conv(), rtol=0, atol=1e-10)
    assert len({round(v, 9) for v in values["ce_gap", 1000]}) == 5


def test_tasks_of_fixed_runs_keep_them_and_their_seed():
    cells = plan("hedge", tasks=[RPS, TASKS["nyse_o_windows"], BIASED], runs=7, seed=3)
    assert {c.task.id: (c.num_runs, c.seed) for c in cells} == {
        "weighted_rps_t20": (1, 0),
        "nyse_o_windows": (22, 0),
        "biased_gaussian_d3_t20": (7, 3),
    }


def test_long_cells_first():
    cells = plan("hedge", tasks=TASKS.values())
    assert [c.cost for c in cells] == sorted((c.cost for c in cells), reverse=True)


def test_the_key_is_made_of_what_decides_the_result():
    (cell,) = plan("hedge", tasks=[BIASED])
    replace = msgspec.structs.replace

    def task(**changes):
        return replace(cell, task=replace(BIASED, **changes))

    different = [
        task(version=2),
        task(horizon=21),
        task(settings={"num_actions": 4}),
        task(starting_loss_scale=1.0),
        replace(cell, seats=("hedge[step_size=1]",)),
        replace(cell, seats=("hedge", "hedge")),
        replace(cell, seats=("hedge", "hedge"), seat=1),
        replace(cell, source="f00"),
        replace(cell, data="f00"),
    ]
    assert len({cell.identity, *(c.identity for c in different)}) == 1 + len(different)
    blocks = [replace(cell, seed=1), replace(cell, block=1), replace(cell, num_runs=63)]
    assert {c.identity for c in blocks} == {cell.identity}
    assert len({cell.key, *(c.key for c in different + blocks)}) == 1 + len(different + blocks)
    same = [replace(cell, suite="another"), task(summary="another")]
    assert {c.key for c in same} == {cell.key}
    # The same in another process, and in releases to come.
    assert cell.key == "9c097211ca6740ed"


def test_recorded_data_are_part_of_the_key(tmp_path):
    path = tmp_path / "losses.npy"

    def key():
        task = Task(
            id="mine",
            world="streams.recorded",
            settings={"source": str(path)},
            horizon=2,
            metrics=("external_regret",),
            loss_scale=1.0,
            summary="",
        )
        return plan("hedge", tasks=[task])[0].key

    np.save(path, np.eye(3))
    before = key()
    assert key() == before
    np.save(path, 2 * np.eye(3))
    assert key() != before


def test_a_spec_is_one_cell_however_it_is_written():
    assert len(plan("hedge[step_size=0.70]", "hedge[ step_size = .7 ]")) == 1


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("raises", ["RuntimeError: out of ideas", "in round 3", "in act"]),
        ("mumbles", ["RuntimeError: \\udcff", "in round 3"]),
        ("shape", ["PolicyError", "shape (64, 2) in round 3"]),
        ("nan", ["PolicyError", "round 3, row 1", "nan"]),
        ("negative", ["PolicyError", "round 3, row 1", "minimum -1"]),
        ("sum", ["PolicyError", "round 3, row 1", "sum 2.7"]),
    ],
)
def test_a_failing_agent_is_one_row_that_says_all(how, says):
    (_, cell) = sorted(plan(spoiled(how), tasks=[BIASED], runs=128), key=lambda c: c.block)
    (row,) = runner.measure(cell)
    assert row.status == "failed" and row.key == cell.key and row.values == ()
    for text in [*says, "Traceback", f"agent {cell.agent}", "task biased_gaussian_d3_t20", "runs 64 to 127"]:
        assert text in row.message
    assert msgspec.json.decode(msgspec.json.encode(row), type=Row) == row


def test_what_an_agent_does_not_play_is_no_failure():
    (on_rps,) = plan(spoiled("n/a"))
    (row,) = runner.measure(on_rps)
    assert (row.status, row.message) == ("n/a", "plays two actions alone")
    (on_rps,) = plan(spoiled("true"))
    (row,) = runner.measure(on_rps)
    assert (row.status, row.message) == ("n/a", "True"), "not a text, and written all the same"


def test_missing_cells():
    cells = plan("hedge", spoiled("raises"), spoiled("n/a"), "uniform", tasks=[BIASED])
    failed, not_there = cells[1], cells[3]
    done = complete_cells([row for c in cells[:3] for row in runner.measure(c)])
    assert missing(cells, done) == [failed, not_there]


def test_not_a_number_out_of_a_metric_is_a_failure(monkeypatch):
    broken = dataclasses.replace(METRICS["swap_regret"], of=lambda play: np.array([np.inf]))
    monkeypatch.setitem(METRICS, "swap_regret", broken)
    (row,) = runner.measure(plan("hedge", tasks=[BIASED])[0])
    assert row.status == "failed" and "swap_regret is not finite in round 1" in row.message


def save_at_once(monkeypatch):
    for name in ("SAVE_SECONDS", "SHOW_SECONDS", "PAUSES"):
        monkeypatch.setattr(saved, name, 0)


LONG = msgspec.structs.replace(JORDAN, id="long", horizon=3000)


@pytest.mark.parametrize("agent", ["adahedge", "blum-mansour"])
def test_a_long_cell_that_was_interrupted_goes_on_from_its_state(agent, tmp_path, monkeypatch):
    [cell] = plan(agent, tasks=[LONG], runs=2)
    whole = runner.measure(cell)
    states = tmp_path / "states"
    save_at_once(monkeypatch)
    advance = runner.Simulation.advance
    stops = []

    def interrupted(self, stop, *, progress):
        def break_off(t):
            progress(t)
            if t > 1500:
                raise KeyboardInterrupt

        stops.append(stop)
        advance(self, stop, progress=break_off)

    monkeypatch.setattr(runner.Simulation, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        runner.measure(cell, states=states)
    assert {path.suffix for path in states.iterdir()} == {".state", ".rounds"} and stops[0] == 1
    assert 0.5 < saved.shares_played(states)[0] < 2154 / 3000
    stops.clear()
    monkeypatch.setattr(
        runner.Simulation,
        "advance",
        lambda self, stop, *, progress: stops.append(stop) or advance(self, stop),
    )
    assert runner.measure(cell, states=states) == whole
    assert stops == [2154, 3000]
    assert list(states.iterdir()) == []


def test_a_state_that_cannot_be_read_or_written_is_no_harm(tmp_path, monkeypatch):
    [cell] = plan("hedge", tasks=[JORDAN], runs=2)
    whole = runner.measure(cell)
    save_at_once(monkeypatch)
    states = tmp_path / "states"
    states.mkdir()
    (states / f"{cell.key}-{whole[0].code_version}.state").write_bytes(b"torn")
    assert runner.measure(cell, states=states) == whole
    (tmp_path / "file").write_text("in the way")
    assert runner.measure(cell, states=tmp_path / "file") == whole
    # An agent that does not pickle.
    monkeypatch.setattr(Hedge, "__getstate__", lambda self: {"act": lambda: None}, raising=False)
    assert runner.measure(cell, states=states) == whole
    assert list(states.iterdir()) == []


def test_a_cell_that_fails_leaves_no_state(tmp_path, monkeypatch):
    save_at_once(monkeypatch)
    [cell] = plan(f"{__name__}:Spoiled[how='raises',round=900]", tasks=[LONG], runs=2)
    assert runner.measure(cell, states=tmp_path)[0].status == "failed"
    assert list(tmp_path.iterdir()) == []


def test_many_seats_that_are_alike_are_played_by_one_agent(monkeypatch):
    made = []
    make = runner.registry.make
    monkeypatch.setattr(runner.registry, "make", lambda spec: made.append(spec) or make(spec))
    task = TASKS["minority_n51_t1000"]
    [cell] = plan("hedge", tasks=[msgspec.structs.replace(task, horizon=30)])
    rows = runner.measure(cell)
    assert made == ["hedge"] and {row.metric for row in rows} == set(task.metrics)
    world = make_world(task)
    play = simulate(world, [Hedge() for _ in range(51)], horizon=30, num_runs=4, starting_loss_scale=1.0)
    last = {row.metric: row.values for row in rows if row.round == 30}
    assert last["social_cost"] == pytest.approx(play.social_cost(), rel=1e-12)
    assert last["cce_gap"] == pytest.approx(play.gaps().cce.max, abs=1e-12)


def test_agents_with_hooks_have_a_seat_each(monkeypatch):
    class Watching(Hedge):
        def watch(self, policies):
            assert len(policies) == 51

    monkeypatch.setattr(runner.registry, "make", lambda spec: Watching())
    task = TASKS["minority_n51_t1000"]
    [cell] = plan("hedge", tasks=[msgspec.structs.replace(task, horizon=3)])
    assert {row.status for row in runner.measure(cell)} == {"ok"}


def test_outcomes_are_measured():
    task = msgspec.structs.replace(TASKS["first_price_n10_t1000"], horizon=20, num_runs=1)
    [cell] = plan("hedge", tasks=[task])
    last = {row.metric: row.values[0] for row in runner.measure(cell) if row.round == 20}
    assert 0 < last["revenue"] < 1 and 0 < last["efficiency"] <= 1


UNEQUAL = Task(
    id="unequal",
    world="games.random_game",
    settings={"num_actions": [2, 3, 4], "seed": 2},
    horizon=50,
    metrics=("payoff", "external_regret", "cce_gap"),
    loss_scale=2.0,
    starting_loss_scale=1.0,
    opponents=("ftl", "hedge[step_size=0.3]"),
    seat=1,
    rounds=(7, 50),
    summary="",
)


def test_an_agent_among_opponents_is_measured_in_its_seat():
    [cell] = plan("adahedge", tasks=[UNEQUAL], runs=5)
    assert cell.seats == ("ftl", "adahedge", "hedge[step_size=0.3]") and cell.agent == "adahedge"
    rows = runner.measure(cell)
    assert {(r.agent, r.seats, r.seat, r.player) for r in rows} == {("adahedge", cell.seats, 1, None)}
    agents = [FollowTheLeader(), AdaHedge(), Hedge(step_size=0.3)]
    whole = simulate(make_world(UNEQUAL), agents, horizon=50, num_runs=5, starting_loss_scale=1.0, rounds=[7])
    for t in (7, 50):
        play = whole.at(t)
        values = {r.metric: r.values for r in rows if r.round == t}
        assert values["external_regret"] == tuple(play.regret()[1])
        assert values["payoff"] == tuple(-np.trace(play.play_losses[1], axis1=1, axis2=2) / t)
        assert values["cce_gap"] == tuple(play.gaps().cce.max)


def test_in_self_play_the_worst_seat_counts():
    task = msgspec.structs.replace(UNEQUAL, opponents=(), seat=0)
    [cell] = plan("hedge", tasks=[task], runs=3)
    assert cell.seats == ("hedge",)
    values = measured(cell)
    play = simulate(
        make_world(task), [Hedge() for _ in range(3)], horizon=50, num_runs=3, starting_loss_scale=1.0
    )
    payoffs = [-np.trace(m, axis1=1, axis2=2) / 50 for m in play.play_losses]
    assert values["payoff", 50] == pytest.approx(np.min(payoffs, 0), abs=1e-12)
    assert values["external_regret", 50] == pytest.approx(play.regret().max(0), abs=1e-10)


def test_one_opponent_may_fill_all_other_seats_and_know_the_agent():
    replace = msgspec.structs.replace
    task = replace(UNEQUAL, opponents=("fixed-share[num_switches=2]",), seat=2)
    [cell] = plan("hedge", tasks=[task], runs=1)
    assert cell.seats == (*["fixed-share[num_switches=2]"] * 2, "hedge")
    knows = replace(UNEQUAL, opponents=("blum-mansour[copies={agent}]",), seat=0)
    [cell] = plan("hedge[ step_size = .5 ]", tasks=[knows], runs=1)
    assert cell.seats == ("hedge[step_size=0.5]", *["blum-mansour[copies=hedge[step_size=0.5]]"] * 2)


def test_who_sits_where_is_part_of_the_key():
    replace = msgspec.structs.replace
    changes = [{}, {"seat": 0}, {"opponents": ("ftl",)}, {"rounds": ()}, {"opponents": (), "seat": 0}]
    changes += [{"opponents": ("hedge", "ftl")}]
    tasks = [replace(UNEQUAL, **change) for change in changes]
    assert len({cell.identity for cell in plan("adahedge", tasks=tasks, runs=1)}) == len(tasks)
    [cell] = plan("hedge", tasks=[replace(UNEQUAL, opponents=(f"{__name__}:Spoiled",))], runs=1)
    assert cell.source is not None and __name__ in needed_modules([cell])


def test_an_opponent_that_cannot_play_is_named():
    task = msgspec.structs.replace(UNEQUAL, opponents=(spoiled("n/a"), "ucb1"), seat=0)
    for agent, reason in [
        ("hedge", f"{registry.canonical(spoiled('n/a'))}: plays two actions alone"),
        ("ucb1", "needs bandit feedback"),
    ]:
        [row] = runner.measure(plan(agent, tasks=[task], runs=1)[0])
        assert row.status == "n/a" and row.message.startswith(reason), row.message


def test_a_leader_is_made_knowing_the_agent():
    task = msgspec.structs.replace(TASKS["strategic_random_3x4_t2000"], horizon=200)
    [cell] = plan("hedge", tasks=[task], runs=2)
    assert cell.seats == ("stackelberg-leader[follower=hedge]", "hedge") and cell.agent == "hedge"
    values = measured(cell)
    game = make_world(task)
    plan_, _ = best_plan(game, Hedge(), horizon=200)
    agents = [StackelbergLeader([plan_]), Hedge()]
    play = simulate(game, agents, horizon=200, num_runs=2, starting_loss_scale=1.0)
    assert values["extraction", 200] == pytest.approx(play.extraction(), abs=1e-12)
    assert values["follower_regret", 200] == pytest.approx(play.regret()[1], abs=1e-10)
