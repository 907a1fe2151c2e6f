import gc
import json

import msgspec
import numpy as np
import pytest
from conftest import invoke

from regret_envs import games, simulate
from regret_envs.agents import Agent, Hedge, Uniform
from regret_envs.benchmarks.analysis.leaderboard import leaderboard
from regret_envs.benchmarks.analysis.nash_averaging import nash_averaging
from regret_envs.benchmarks.analysis.standings import Tournament, tournament
from regret_envs.benchmarks.running.cells import missing
from regret_envs.benchmarks.running.planning import plan_tournament
from regret_envs.benchmarks.running.results import Writer, read
from regret_envs.benchmarks.running.rows import complete_cells
from regret_envs.benchmarks.running.runner import measure
from regret_envs.benchmarks.tasks.game import tournament_task

pytestmark = pytest.mark.usefixtures("importable")

PURE = "regret_envs.agents.external.baselines:FixedPolicy"
SEEN = []


class Spy(Uniform):
    """Notes all that it is handed."""

    def reset(self, num_actions, **settings):
        SEEN.extend(settings.values())
        super().reset(num_actions, **settings)

    def observe(self, losses):
        SEEN.append(losses)


class Picky(Uniform):
    def unsupported(self, num_actions, *, horizon):
        return "three actions alone" if num_actions != 3 else None


def play(game, agents, horizon=30, runs=8):
    task, _ = tournament_task(game, horizon)
    cells = plan_tournament(task, agents, runs=runs, seed=0)
    rows = [row for cell in cells for row in measure(cell)]
    return tournament(rows, task.id, None), rows


def test_pure_actions_of_a_game_that_is_not_symmetric():
    # Chicken's second player gets what the first would; battle of the sexes prefers seats differently.
    agents = [f"{PURE}[policy=({a})]" for a in ("1,0", "0,1")]
    found, _ = play("battle_of_the_sexes", agents)
    pairs = {(p.row, p.column): p for p in found.pairings}
    game = games.battle_of_the_sexes()
    names = sorted(found.agents, reverse=True)  # the one that plays action 0 first
    for i, x in enumerate(names):
        for j, y in enumerate(names):
            assert pairs[x, y].payoff == tuple(float(u[i, j]) for u in game.payoffs)
            regret = [30 * float(u.max(k)[(j, i)[k]] - u[i, j]) for k, u in enumerate(game.payoffs)]
            assert pairs[x, y].external_regret == pytest.approx(regret)
            assert pairs[x, y].cce_gap == pytest.approx(max(regret) / 30)
            assert pairs[x, y].payoff_error == (None, None), "runs that are copies of one"
    u, v = game.payoffs
    means = {x: float((u[i].mean() + v[:, i].mean()) / 2) for i, x in enumerate(names)}
    assert {s.agent: s.mean_payoff for s in found.standings} == pytest.approx(means)
    assert found.payoffs()[found.agents.index(names[0]), found.agents.index(names[1])] == u[0, 1]


def test_the_meta_game_of_pure_actions_is_the_game():
    agents = [f"{PURE}[policy=({a})]" for a in ("1,0,0", "0,1,0", "0,0,1")]
    found, _ = play("weighted_rps[weights=(4, 2, 1)]", agents)
    nash = {s.agent: s.nash for s in found.standings}
    p = [nash[a] for a in found.agents]
    expected, _ = nash_averaging(games.weighted_rps((4, 2, 1)).payoffs[0])
    order = [found.agents.index(a) for a in agents]
    np.testing.assert_allclose(np.array(p)[order], expected, atol=1e-7)


def test_a_pairing_is_what_simulate_plays():
    found, rows = play("random_game[num_actions=(2, 3), seed=5]", ["hedge", "ftl"], horizon=40, runs=70)
    assert found.agents == ["ftl", "hedge"] and not found.notes
    (pair,) = [p for p in found.pairings if (p.row, p.column) == ("hedge", "ftl")]
    from regret_envs.agents import FollowTheLeader

    world = games.random_game([2, 3], seed=5)
    whole = simulate(world, [Hedge(), FollowTheLeader()], horizon=40, num_runs=70, starting_loss_scale=1.0)
    payoff = -np.trace(whole.play_losses[1], axis1=1, axis2=2) / 40
    assert pair.num_runs == 70
    assert pair.payoff[1] == pytest.approx(payoff.mean())
    assert pair.payoff_error[1] == pytest.approx(payoff.std(ddof=1) / np.sqrt(70))
    assert pair.swap_regret[0] == pytest.approx(whole.regret("swap")[0].mean())
    assert pair.ce_gap == pytest.approx(whole.gaps().ce.max.mean())
    # A tournament is not a leaderboard.
    assert leaderboard(rows).tasks == []


def test_an_agent_never_sees_its_opponents_object():
    SEEN.clear()
    play("chicken", [f"{__name__}:Spy", "hedge"], horizon=5, runs=2)
    assert SEEN
    for seen in SEEN:
        assert isinstance(seen, (int, np.ndarray, np.random.Generator))
        base = seen
        while isinstance(base, np.ndarray) and base.base is not None:
            base = base.base
        assert not any(isinstance(x, Agent) for x in gc.get_referents(seen, base))
        if isinstance(seen, np.ndarray):
            assert seen.dtype == np.float64  # numbers, not objects


def test_who_cannot_play_is_left_out_and_the_others_are_ranked():
    found, rows = play("chicken", ["hedge", f"{__name__}:Picky", "ftl", "uniform"])
    assert found.agents == ["ftl", "hedge", "uniform"]
    assert found.notes == [f"{__name__}:Picky is left out: n/a: {__name__}:Picky: three actions alone"]
    assert len(found.pairings) == 9 and len(found.standings) == 3
    missing = [row for row in rows if row.seats != ("hedge", "ftl")]
    task = rows[0].task
    fewer = tournament(missing, task, ["hedge", "ftl", "uniform"])
    assert len(fewer.agents) == 2 and "has not played everyone" in fewer.notes[0]


def test_who_does_not_play_such_games_is_not_tried_again():
    task = tournament_task("weighted_rps", 20)[0]
    cells = plan_tournament(task, ["hedge", "ucb1"], runs=2, seed=0)
    rows = [row for cell in cells for row in measure(cell)]
    statuses = {cell[0].seats: cell[0].status for cell in complete_cells(rows).values()}
    assert statuses.pop(("hedge", "hedge")) == "ok" and set(statuses.values()) == {"n/a"}
    assert missing(cells, complete_cells(rows)) == []
    found = tournament(rows, task.id)
    assert found.agents == ["hedge"] and "ucb1 is left out: n/a: ucb1: needs bandit" in found.notes[0]


def test_a_file_of_an_earlier_version(tmp_path):
    _, rows = play("chicken", ["hedge", "ftl"], runs=2)
    old = [msgspec.structs.replace(r, seats=(), opponent=r.seats[1]) for r in rows]
    with Writer(tmp_path / "old.jsonl") as writer:
        writer.append(old)
    assert b"seats" not in (tmp_path / "old.jsonl").read_bytes()
    assert read(tmp_path / "old.jsonl").rows == rows


def test_a_tournament_needs_two_players():
    with pytest.raises(ValueError, match="jordan has 3"):
        tournament_task("jordan", 10)[0]


def test_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    args = ["tournament", "--game", "weighted_rps", "--agents", "hedge,ftl,uniform", "--horizon", "20"]
    args += ["--runs", "4", "--executor", "local:2"]
    result = invoke(*args)
    assert "### tournament_weighted_rps_t20: ranking" in result.stdout and "9 cells to run" in result.stderr
    again = invoke(*args, "--format", "json", "--pairings")
    assert "0 cells to run" in again.stderr
    found = msgspec.json.decode(again.stdout, type=Tournament)
    assert len(found.pairings) == 9 and json.loads(again.stdout)["task"] == "tournament_weighted_rps_t20"
    assert {row.seats[1] for row in read("regret-envs-results.jsonl").rows} == {"hedge", "ftl", "uniform"}
    wrong = invoke("tournament", "--game", "weighted_rsp", code=2)
    assert wrong.exit_code == 2 and "did you mean 'weighted_rps'" in wrong.stderr
