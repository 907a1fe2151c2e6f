import msgspec
import pytest

from regret_envs import simulate
from regret_envs.agents import Uniform
from regret_envs.benchmarks.running import planning
from regret_envs.benchmarks.tasks.core import SUITES, TASKS
from regret_envs.benchmarks.tasks.task import (
    GAME_METRICS,
    STREAM_METRICS,
    Layer,
    Task,
    make_feedback,
    make_world,
)
from regret_envs.feedback import Bandit, Delayed
from regret_envs.games import Game
from regret_envs.metrics import METRICS
from regret_envs.names import UnknownNameError


@pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
def test_every_task_states_its_world_as_it_is(task):
    world = make_world(task)
    assert task.loss_scale == pytest.approx(world.loss_scale, rel=1e-12)
    is_game = isinstance(world, Game)
    if task.id in (*SUITES["paper"].tasks, *SUITES["core"].tasks):
        assert task.metrics == (GAME_METRICS if is_game else STREAM_METRICS)
    seats = world.default_seats()
    # The whole horizon and the last run can be played.
    alike = len(set(world.seats(seats))) == 1 and not task.feedback
    large = task.id in (*SUITES["many-players"].tasks, *SUITES["many-actions"].tasks)
    play = simulate(
        world,
        Uniform() if alike else [Uniform() for _ in range(seats)],
        horizon=20 if large else task.horizon,
        first_run=(task.num_runs or 1) - 1,
        starting_loss_scale=task.starting_loss_scale,
        feedback=make_feedback(task),
        record=("policies", "losses"),
        outcomes=True,
    )
    assert all(METRICS[name].of(play).shape in {(1,), (world.default_seats(), 1)} for name in task.metrics)


def test_suites():
    for name, task in TASKS.items():
        assert name == task.id
    for suite in SUITES.values():
        assert set(suite.tasks) <= set(TASKS) and len(set(suite.tasks)) == len(suite.tasks)
    core = [TASKS[id] for id in SUITES["core"].tasks]
    assert min(t.horizon for t in core) == 20 and max(t.horizon for t in core) >= 5000
    seats = [make_world(t).num_players for t in core if t.world.startswith("games.")]
    assert {2, 3} <= set(seats)


def test_games_have_starting_losses_except_in_the_paper_suite():
    for task in TASKS.values():
        if task.world.startswith("games."):
            in_paper = task.id in SUITES["paper"].tasks
            assert task.starting_loss_scale == (0.0 if in_paper else 1.0)
            large = task.id in (*SUITES["many-players"].tasks, *SUITES["many-actions"].tasks)
            assert (task.num_runs == 1) if in_paper else (task.num_runs is not None) == large


def test_real_prices():
    whole, windows, djia = (TASKS[id] for id in ("nyse_o", "nyse_o_windows", "djia"))
    assert make_world(whole).losses.shape == (5651, 36) and (whole.horizon, whole.num_runs) == (5651, 1)
    assert make_world(windows).num_windows == 22 and (windows.horizon, windows.num_runs) == (250, 22)
    assert make_world(djia).losses.shape == (507, 30) and (djia.horizon, djia.num_runs) == (507, 1)
    # At natural size uniform's regret on NYSE(O) is 1.605.
    play = simulate(make_world(whole), Uniform(), horizon=5651)
    assert play.regret().item() * whole.settings["loss_scale"] == pytest.approx(1.605, abs=5e-4)


def test_a_task_names_its_feedback_and_mistakes_in_it():
    task = TASKS["bandit_delayed_d5_t2000"]
    assert make_feedback(task) == [Bandit(), Delayed(20, jitter=20)]
    assert msgspec.convert(msgspec.to_builtins(task), Task) == task
    for layers, error, message in [
        ([Layer("bandits")], UnknownNameError, "did you mean 'bandit'"),
        ([Layer("bandit", {"gamma": 0.1})], TypeError, "gamma"),
        ([Layer("delayed", {"delay": -3})], ValueError, "delay must be at least 0, got -3"),
        ([Layer("delayed"), Layer("phased")], ValueError, "at most one layer of feedback may delay losses"),
    ]:
        with pytest.raises(error, match=message):
            make_feedback(msgspec.structs.replace(task, feedback=tuple(layers)))


def test_a_realized_metric_needs_drawn_actions():
    play = simulate(make_world(TASKS["djia"]), Uniform(), horizon=3)
    with pytest.raises(ValueError, match="a task whose feedback has the layer 'bandit'"):
        METRICS["realized_regret"].of(play)


def test_a_mistyped_field_or_world_is_an_error():
    fields = msgspec.to_builtins(TASKS["djia"])
    assert msgspec.convert(fields, Task) == TASKS["djia"]
    with pytest.raises(msgspec.ValidationError, match="horzon"):
        msgspec.convert({**fields, "horzon": 3}, Task)
    for world, near in [("stream.prices", "streams"), ("streams.price", "prices"), ("games.chess", "known")]:
        with pytest.raises(UnknownNameError, match=near):
            make_world(msgspec.structs.replace(TASKS["djia"], world=world))


def test_cells_whose_losses_are_brought_into_range_have_other_keys_and_no_built_in_task_has_such():
    def data(task):
        (cell,) = planning.plan("s", [task], ["thompson"], runs=1, seed=0)
        return cell.data

    for task in TASKS.values():
        if any(layer.name == "bandit" for layer in task.feedback):
            assert data(task) is None, task.id
    dilemma = msgspec.structs.replace(
        TASKS["bandit_shapley_t5000"], world="games.prisoners_dilemma", feedback=(Layer("bandit"),)
    )
    assert data(dilemma) is not None
    # The losses, −5 to 0, were out of [0, 1] with this offset too.
    assert (
        data(msgspec.structs.replace(dilemma, feedback=(Layer("bandit", {"loss_offset": -5}),))) is not None
    )
