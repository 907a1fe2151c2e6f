"""Figures: what they show is what was measured, nobody is dropped, and an agent looks the same everywhere."""

import os
from dataclasses import replace

import numpy as np
import pytest
from conftest import cell, invoke, regrets

from regret_envs import games, metrics, simulate, streams
from regret_envs.agents import FollowTheLeader, Hedge
from regret_envs.agents.catalogue import AGENTS
from regret_envs.benchmarks.analysis.equilibria import cce_marginals, nash_equilibria
from regret_envs.benchmarks.analysis.standings import tournament
from regret_envs.benchmarks.running import runner
from regret_envs.benchmarks.running.planning import plan_tournament
from regret_envs.benchmarks.tasks.core import TASKS
from regret_envs.benchmarks.tasks.game import tournament_task
from regret_envs.names import UnknownNameError

plotting = pytest.importorskip("regret_envs.benchmarks.plotting")
pytest.importorskip("matplotlib")


def luminance(color):
    from matplotlib.colors import to_rgb

    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(color)]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def measured(agent, curve, *, runs=4, spread=0.1, task="t", metric="external_regret", **fields):
    """A cell whose mean in round t is `curve(t)`, with runs spread evenly around it."""
    rounds = (1, 4, 16, 64)
    around = spread * np.linspace(-1, 1, runs)
    rows = cell(agent, {metric: np.zeros(runs)}, task=task, rounds=rounds, **fields)
    return [row_at(row, tuple((curve(row.round) + around).tolist())) for row in rows]


def row_at(row, values):
    import msgspec

    return msgspec.structs.replace(row, values=values)


def drawn(axes):
    """The lines of agents by the name of the agent."""
    return {line.get_gid().removeprefix("agent "): line for line in axes.lines if line.get_gid()}


def caption(axes):
    return next(text.get_text().replace("\n", " ") for text in axes.texts if text.get_gid() == "caption")


def test_every_built_in_agent_has_a_look_of_its_own_that_is_visible():
    looks = {agent: plotting.look(agent) for agent in AGENTS}
    assert len({(x.color, x.dashes, x.marker) for x in looks.values()}) == len(AGENTS)
    assert len({x.color for x in looks.values()}) == len(AGENTS)
    assert min(contrast(x.color, "#ffffff") for x in looks.values()) >= 2.4
    assert plotting.look("mine:Mine") == plotting.look("mine:Mine") != plotting.look("mine:Other")
    dashes = {x.dashes for x in looks.values()}
    assert all(plotting.look(f"mine:Agent{i}").dashes not in dashes for i in range(50))


def test_long_specs_are_written_in_several_lines_that_do_not_meet():
    long = "blum-mansour[copies=hedge[step_size=0.123456],solver=stationary]"
    rows = [row for agent in ("hedge", long, "ftl") for row in cell(agent, regrets(1.0, 2.0, len(agent)))]
    axes = plotting.scores(rows)
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert sorted(text.replace("\n", "") for text in labels) == sorted(["hedge", long, "ftl"])
    assert sorted(text.count("\n") for text in labels) == [0, 0, 1]
    # Each has as much room as it has lines.
    assert sorted(np.diff(axes.get_yticks())) == [1.0, 1.5]


@pytest.mark.filterwarnings("error::UserWarning")
def test_legends_of_long_specs_leave_room_for_the_axes(tmp_path):
    from regret_envs.benchmarks.plotting.looks import legend_below

    members = ",".join(f"hedge[step_size=0.{i}2345678]" for i in range(1, 6))
    long = [f"hedged[members=({members}),step_size={i}]" for i in range(1, 7)]
    rows = [row for agent in ["hedge", *long] for row in cell(agent, regrets(1.0, 2.0, len(agent)))]
    below = plotting.profile(rows, legend=False, caption=False)
    legend_below(below)
    for axes in (plotting.curves(rows), plotting.profile(rows), below):
        plotting.figure_of(axes).savefig(tmp_path / "figure.png")
        assert min(axes.get_window_extent().bounds[2:]) > 100
        texts = [text.get_text() for text in axes.get_legend().get_texts()]
        assert set(long) <= {text.replace("\n", "") for text in texts}
        assert max(len(line) for text in texts for line in text.split("\n")) <= 34


def test_an_agent_has_its_color_in_every_figure():
    rows = [
        row
        for task, order in (("a", 1), ("b", -1))
        for place, agent in enumerate(["hedge", "rm+", "hedge[step_size=0.1]"][::order])
        for row in measured(agent, lambda t, p=place: (p + 1) * t**0.5, task=task)
    ]
    figures = [
        plotting.curves(rows, task="a"),
        plotting.curves(rows, task="b", agents=["rm+"]),
        plotting.profile(rows),
    ]
    for axes in figures:
        for agent, line in drawn(axes).items():
            assert line.get_color() == plotting.look(agent).color, agent
    marks = plotting.scores(rows)
    assert len(marks.containers) == 3
    for name, mark in zip(marks.get_yticklabels(), marks.containers, strict=True):
        assert mark[0].get_color() == plotting.look(name.get_text()).color


def test_a_curve_is_the_normalized_mean_with_its_band_and_the_bound():
    axes = plotting.curves(measured("hedge", lambda t: 3 * t**0.5, loss_scale=2.0, num_actions=3))
    line = drawn(axes)["hedge"]
    unit = 2.0 * np.sqrt(np.log(3) / 2)
    np.testing.assert_allclose(line.get_xdata(), [1, 4, 16, 64])
    np.testing.assert_allclose(line.get_ydata(), 3 / unit)
    assert line.get_marker() not in ("", "None") and axes.get_xscale() == "log"
    error = 1.96 * np.std(0.1 * np.linspace(-1, 1, 4), ddof=1) / 2
    band = axes.collections[0].get_paths()[0].vertices
    at_end = band[band[:, 0] == 64, 1]
    ends = 3 / unit + np.array([-1, 1]) * error / (unit * 8)
    np.testing.assert_allclose([at_end.min(), at_end.max()], ends)
    (bound,) = [x for x in axes.lines if "bound" in str(x.get_label())]
    np.testing.assert_allclose(bound.get_ydata(), 1.0)
    assert bound.get_linestyle() != line.get_linestyle()
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert names[0] == "hedge" and "Hedge's bound" in names[1]
    assert axes.get_ylabel() == "external regret / (ρ √(t ln d / 2))"
    assert "95 % confidence interval" in caption(axes) and "4 runs" in caption(axes)


def test_a_gap_has_its_bound_over_rounds():
    axes = plotting.curves(measured("hedge", lambda t: 1 / t, metric="cce_gap", spread=0.0))
    assert axes.get_ylabel() == "CCE gap" and axes.get_yscale() == "log"
    (bound,) = [x for x in axes.lines if "bound" in str(x.get_label())]
    expected = 2.0 * np.sqrt(np.log(3) / (2 * bound.get_xdata()))
    np.testing.assert_allclose(bound.get_ydata(), expected)


@pytest.mark.parametrize(
    ("curve", "scale"),
    [
        (lambda t: t**0.5 * (2 - t), "symlog"),
        (lambda t: t**0.5 * np.exp(t / 16), "log"),
        (lambda t: t**0.5 * (1 - t / 60), "linear"),
    ],
)
def test_values_on_either_side_of_zero_are_on_the_axis(curve, scale):
    axes = plotting.curves(measured("hedge", curve, spread=0.0))
    assert axes.get_yscale() == scale
    line = drawn(axes)["hedge"]
    assert np.isfinite(line.get_ydata()).all()
    low, high = axes.get_ylim()
    assert low < line.get_ydata().min() and line.get_ydata().max() < high
    shown = axes.transData.transform(line.get_xydata())
    assert np.isfinite(shown).all()


def test_nobody_is_dropped_without_a_word():
    agents = [*list(AGENTS)[:10], "mine:Mine"]
    rows = [x for i, a in enumerate(agents) for x in measured(a, lambda t, i=i: (i + 1) * t**0.5)]
    rows += cell("ucb1", {}, status="n/a") + cell("broken:Agent", {}, status="failed")
    axes = plotting.curves(rows)
    lines = drawn(axes)
    assert lines.keys() == set(agents)
    gray = [a for a in agents if lines[a].get_color() == "#b5b5b5"]
    # The user's own agent has a color although it is the worst.
    assert gray == agents[7:10]
    assert f"Gray: {', '.join(gray)}." in caption(axes)
    assert "Not drawn (n/a): ucb1." in caption(axes) and "Not drawn (failed): broken:Agent." in caption(axes)
    chosen = plotting.curves(rows, agents=[agents[9], agents[0]])
    assert list(drawn(chosen)) == [agents[9], agents[0]] and "Gray" not in caption(chosen)


def test_rounds_are_whole_numbers_on_a_short_axis():
    rows = cell("hedge", regrets(1.0, 2.0), rounds=(1, 2, 5))
    axes = plotting.curves(rows)
    assert [t for t in axes.get_xticks() if t % 1] == []


def test_what_to_draw_is_asked_for_by_name():
    rows = [*measured("hedge", lambda t: t, task="a"), *measured("hedge", lambda t: t, task="b")]
    with pytest.raises(ValueError, match="several tasks: name one of a, b"):
        plotting.curves(rows)
    with pytest.raises(UnknownNameError, match="unknown metric of the task 'external_regrets'"):
        plotting.curves(rows, "external_regrets", task="a")
    with pytest.raises(UnknownNameError, match="unknown agent in the results 'hegde'"):
        plotting.curves(rows, task="a", agents=["hegde"])
    with pytest.raises(ValueError, match="no results"):
        plotting.curves([])
    for draw in (plotting.scores, plotting.profile, plotting.heatmap):
        with pytest.raises(ValueError, match=r"there are no results|hold no results"):
            draw([])


def test_axes_go_in_and_come_out():
    from matplotlib.figure import Figure

    left, right = Figure().subplots(1, 2)
    rows = measured("hedge", lambda t: t**0.5)
    assert plotting.curves(rows, axes=left, legend=False, caption=False) is left
    assert plotting.scores(rows, axes=right) is right
    assert left.get_legend() is None and not [x for x in left.texts if x.get_gid() == "caption"]


def test_scores_are_in_order_with_their_intervals_and_ranks():
    rows = [
        row
        for agent, size in (("rm+", 2.0), ("hedge", 1.0))
        for task in ("a", "b")
        for row in measured(agent, lambda t, s=size: s * t**0.5, task=task)
    ]
    axes = plotting.scores(rows)
    assert [x.get_text() for x in axes.get_yticklabels()] == ["hedge", "rm+"]
    unit = 2.0 * np.sqrt(np.log(3) / 2)
    np.testing.assert_allclose([c[0].get_xdata()[0] for c in axes.containers], [1 / unit, 2 / unit])
    texts = [x.get_text() for x in axes.texts]
    assert {"1.0", "2.0", "mean rank"} <= set(texts)
    assert axes.get_ylim()[0] > axes.get_ylim()[1]


@pytest.fixture(scope="module")
def pairings():
    task, _ = tournament_task("chicken", 20)
    cells = plan_tournament(task, ["hedge", "ftl", "uniform"], runs=3, seed=0)
    return [row for c in cells for row in runner.measure(c)]


def test_a_heat_map_names_everyone_and_is_legible(pairings):
    found = tournament(pairings, "tournament_chicken_t20")
    axes = plotting.heatmap(pairings, task="tournament_chicken_t20")
    names = [s.agent for s in found.standings]
    assert [x.get_text() for x in axes.get_yticklabels()] == names
    assert [x.get_text() for x in axes.get_xticklabels()] == names
    mesh = axes.collections[0]
    order = [found.agents.index(name) for name in names]
    np.testing.assert_allclose(mesh.get_array(), found.payoffs()[np.ix_(order, order)])
    low, high = mesh.get_clim()
    assert low <= mesh.get_array().min() and mesh.get_array().max() <= high
    colors = mesh.to_rgba(mesh.get_array()).reshape(-1, 4)
    cells = [x for x in axes.texts if x.get_gid() != "caption"]
    assert len(cells) == 9
    assert min(contrast(x.get_color(), c[:3]) for x, c in zip(cells, colors, strict=True)) >= 4.5


def test_no_number_on_a_heat_map_is_minus_zero():
    sizes = {"hedge": (-1e-12, 30.0), "rm+": (-0.004, 0.2)}
    rows = [
        row
        for agent, values in sizes.items()
        for task, x in zip("ab", values, strict=True)
        for row in measured(agent, lambda t, x=x: x * t**0.5, task=task, spread=0.0)
    ]
    rows += measured("ogd", lambda t: t**0.5, task="a")
    axes = plotting.heatmap(rows)
    texts = {x.get_text() for x in axes.texts if x.get_gid() != "caption"}
    assert "0.0" in texts and not any(float(x.replace("−", "-")) == 0 and x[0] in "-−" for x in texts)
    mesh = axes.collections[0]
    assert mesh.get_clim()[1] >= np.nanmax(mesh.get_array().filled(np.nan))
    assert [x.get_text() for x in axes.get_xticklabels()] == ["a", "b"]
    assert "Gray: not played." in caption(axes)


def game_3x4():
    rng = np.random.default_rng(5)
    return games.NormalFormGame(list(rng.normal(size=(2, 3, 4))))


@pytest.mark.parametrize(
    "game", [games.weighted_rps(), games.chicken(), games.shapley(), game_3x4()], ids=repr
)
def test_nash_equilibria_leave_nothing_to_gain_and_are_marginals_of_cce(game):
    found = nash_equilibria(*game.losses)
    assert found
    turns = np.linspace(0, 2 * np.pi, 13)[:-1]
    for policies in found:
        stacked = [p[None] for p in policies]
        losses = games.tensor.expected_losses(game.losses, stacked)
        np.testing.assert_allclose(metrics.nash_conv(losses, stacked), 0, atol=1e-9)
    for player, d in enumerate(game.num_actions):
        directions = np.stack([np.cos(turns + k) for k in range(d)], axis=1)
        far = cce_marginals(*game.losses, player=player, directions=directions)
        np.testing.assert_allclose(far.sum(1), 1, atol=1e-7)
        reach = (far * directions).sum(1)
        for policies in found:
            assert (directions @ policies[player] <= reach + 1e-7).all()


def test_named_equilibria():
    ((row, column),) = nash_equilibria(*games.weighted_rps().losses)
    np.testing.assert_allclose([row, column], [np.array([3, 2, 1]) / 6] * 2)
    # Chicken: two pure equilibria, and daring with probability 1/3.
    mixed = [pair for pair in nash_equilibria(*games.chicken().losses) if 0 < pair[0][0] < 1]
    np.testing.assert_allclose(mixed, [[[1 / 3, 2 / 3]] * 2])
    # In a zero-sum game the marginals of CCE are the equilibrium policies.
    directions = np.eye(3)
    far = cce_marginals(*games.weighted_rps().losses, player=1, directions=directions)
    np.testing.assert_allclose(far, [np.array([3, 2, 1]) / 6] * 3, atol=1e-7)


def test_a_simplex_shows_the_play():
    world = games.weighted_rps()
    agents = {"hedge": Hedge, "ftl": FollowTheLeader}
    plays = {
        name: simulate(
            world, [a(), a()], horizon=40, num_runs=3, starting_loss_scale=1, record="policies", seed=3
        )
        for name, a in agents.items()
    }
    axes = plotting.simplex(plays, world=world, player=1, num_runs=2, field=True)
    corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(3) / 2]])
    for name, play in plays.items():
        color = plotting.look(name).color
        lines = [x for x in axes.lines if x.get_color() == color]
        paths = [x.get_xydata() for x in lines if len(x.get_xydata()) > 1]
        assert len(paths) == 4
        for run in range(2):
            policies, average = paths[2 * run : 2 * run + 2]
            np.testing.assert_allclose(policies, play.policies[1][:, run] @ corners, atol=1e-12)
            np.testing.assert_allclose(average[-1], play.mean_policies[1][run] @ corners)
    assert [x.get_text() for x in axes.texts][:3] == ["rock", "paper", "scissors"]
    (stars,) = [x for x in axes.lines if x.get_label() == "Nash equilibrium"]
    np.testing.assert_allclose(stars.get_xydata(), [np.array([3, 2, 1]) / 6 @ corners])
    names = [text.get_text() for text in axes.get_legend().get_texts()]
    assert {"hedge", "ftl", "first policy", "last average", "Nash equilibrium"} <= set(names)


def test_a_simplex_of_a_stream_and_what_has_none():
    stream = streams.BiasedGaussian(num_actions=3)
    play = simulate(stream, Hedge(), horizon=20, num_runs=2, record="policies")
    axes = plotting.simplex(play, world=stream)
    assert [x.get_text() for x in axes.texts][:3] == ["action 0", "action 1", "action 2"]
    with pytest.raises(plotting.SimplexError, match="normal-form game of two players"):
        plotting.simplex(play, world=stream, field=True)
    with pytest.raises(plotting.SimplexError, match="were not recorded"):
        plotting.simplex(replace(play, policies=None))
    four = simulate(streams.Gaussian(num_actions=4), Hedge(), horizon=5, record="policies")
    with pytest.raises(plotting.SimplexError, match="three actions, and player 0 of policies has 4"):
        plotting.simplex(four)
    with pytest.raises(plotting.SimplexError, match="no player 1"):
        plotting.simplex(play, player=1)


def test_a_task_is_played_again():
    play, world, seat = plotting.replay(TASKS["weighted_rps_t20"], "hedge")
    assert (play.t, seat, world.num_actions) == (20, 0, (3, 3))
    np.testing.assert_allclose(play.policies[0][0], 1 / 3)
    stream, _, _ = plotting.replay(TASKS["gaussian_d3_t20"], "hedge", num_runs=2)
    assert stream.num_runs == 2
    with pytest.raises(plotting.SimplexError, match="three actions, and there are 2"):
        plotting.replay(TASKS["jordan_t1000"], "hedge")
    with pytest.raises(plotting.SimplexError, match="ucb1 does not play"):
        plotting.replay(TASKS["weighted_rps_t20"], "ucb1")


def test_a_training_log_is_drawn_column_by_column(tmp_path):
    (tmp_path / "notes.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FileNotFoundError, match="no log of a training"):
        plotting.training_log(tmp_path)
    (tmp_path / "steps.csv").write_text(
        "step,loss,held_out_regret,seconds\n0,4.0,,0\n10,2.0,1.5,1\n20,1.0,1.25,2\n"
    )
    log = plotting.training_log(tmp_path)
    axes = plotting.training(log, "held_out_regret")
    np.testing.assert_array_equal(axes.lines[0].get_xydata(), [[10, 1.5], [20, 1.25]])
    assert axes.get_ylabel() == "held out regret"
    assert plotting.training(tmp_path).get_ylabel() == "loss"
    with pytest.raises(UnknownNameError, match="unknown column of the log 'los'"):
        plotting.training(log, "los")
    with pytest.raises(ValueError, match="has a column step"):
        plotting.training({"loss": [1.0]})


def test_the_command_draws_every_kind(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tasks = "weighted_rps_t20,gaussian_d3_t20"
    invoke("run", "--suite", tasks, "--agents", "hedge,ftl", "--runs", "3", "--executor", "local:1")
    invoke(
        "tournament", "--game", "chicken", "--agents", "hedge,ftl", "--horizon", "10", "--executor", "local:1"
    )
    (tmp_path / "train").mkdir()
    (tmp_path / "train" / "steps.csv").write_text("step,loss\n0,2\n5,1\n")
    every = "curves,scores,profile,heatmap,simplex,training"
    said = invoke(
        "plot", "--kind", every, "--training", "train", "--field", "--tasks", "weighted_rps_t20"
    ).stderr
    assert "7 figures in figures" in said
    assert sorted(os.listdir("figures")) == [
        "curves-weighted_rps_t20-cce_gap.svg",
        "profile-external_regret.svg",
        "profile-swap_regret.svg",
        "scores-external_regret.svg",
        "scores-swap_regret.svg",
        "simplex-weighted_rps_t20.svg",
        "training-train.svg",
    ]
    first = (tmp_path / "figures" / "curves-weighted_rps_t20-cce_gap.svg").read_bytes()
    invoke("plot", "--kind", "curves", "--tasks", "weighted_rps_t20")
    assert (tmp_path / "figures" / "curves-weighted_rps_t20-cce_gap.svg").read_bytes() == first
    (tmp_path / "mine.mplstyle").write_text("axes.facecolor: eeeeee\n")
    options = [
        "--format",
        "png",
        "--size",
        "4x3",
        "--style",
        "mine.mplstyle",
        "--scale",
        "symlog",
        "--out",
        "png",
    ]
    invoke("plot", *options)
    found = sorted(os.listdir("png"))
    assert "heatmap-tournament_chicken_t10.png" in found and "heatmap-external_regret.png" in found


def test_the_command_says_what_is_wrong(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    invoke("run", "--suite", "gaussian_d3_t20", "--agents", "hedge", "--runs", "2", "--executor", "local:1")
    for options, said in (
        (["--kind", "curve"], "unknown kind of figure 'curve': did you mean 'curves'"),
        (["--size", "big"], "WIDTHxHEIGHT in inches"),
        (["--size", "0x3"], "above 0"),
        (["--kind", "training"], "needs --training DIR"),
        (["--agents", "hegde"], "unknown agent in the results 'hegde'"),
    ):
        assert said in invoke("plot", *options, code=2).stderr.replace("\n", " ")
    assert "no_such_style" in invoke("plot", "--style", "no_such_style", code=1).stderr
    assert "normal-form game" in invoke("plot", "--kind", "simplex", "--field", code=1).stderr
