"""Training of universal policies: the network, the loss, and that training lowers it."""

from __future__ import annotations

import csv

import msgspec
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.special import rel_entr

from regret_envs.agents.universal.families import BUILT_IN, read_families
from regret_envs.agents.universal.features import EXPERTS, LossFeatures
from regret_envs.agents.universal.network import Network
from regret_envs.metrics import external_regret, play_loss_matrix, swap_regret

torch = pytest.importorskip("torch")

from regret_envs.agents.attention import universal  # noqa: E402

FAMILIES = {family.name: family for family in read_families()}


def random_parameters(seed=0):
    rng = np.random.default_rng(seed)
    return {name: rng.standard_normal(p.shape) * 0.3 for name, p in universal.initial_parameters(0).items()}


def test_torch_and_numpy_play_the_same():
    parameters = random_parameters()
    features = LossFeatures(5, 30, 4)
    rng = np.random.default_rng(1)
    for _ in range(12):
        features.observe(rng.standard_normal((5, 4)))
    double = {name: torch.tensor(value) for name, value in parameters.items()}
    tokens, context, experts = (
        torch.tensor(np.moveaxis(x, 0, -1).swapaxes(0, -2).copy())
        for x in (features.tokens, features.context, features.experts)
    )
    played = universal.network(double, tokens, context, experts)
    np.testing.assert_allclose(played.numpy(), Network(parameters).policies(features).T, atol=1e-12)


@pytest.mark.parametrize(("objective", "exact"), [("external", external_regret), ("swap", swap_regret)])
def test_regret_is_that_of_the_metrics(objective, exact):
    rng = np.random.default_rng(0)
    played = rng.dirichlet(np.ones(4), (20, 6))
    losses = rng.standard_normal((20, 6, 4))
    losses -= losses.mean(2, keepdims=True)
    sigma = np.sqrt((losses**2).sum() / losses[..., 1:].size)
    expected = exact(play_loss_matrix(played, losses)) / (1.5 * sigma * np.sqrt(20 * np.log(4) / 2))
    found = universal.normalized_regret(torch.tensor(played), torch.tensor(losses), objective)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9)


def test_loss():
    values = universal.loss(torch.tensor([0.0, 2.0, -1.0], dtype=torch.float64))
    np.testing.assert_allclose(values.numpy(), [0.0, 2.5, -np.log(2)])


def test_divergence_is_scipys_relative_entropy():
    expert, played = np.random.default_rng(0).dirichlet(np.ones(4), (2, 20, 6))
    found = universal.divergence(torch.tensor(expert), torch.tensor(played))
    assert found.item() == pytest.approx(rel_entr(expert, played).sum(-1).mean(), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "expert"),
    [
        ("bernoulli", None),
        ("adversary", "Hedge, 0.5 times the standard step"),
        ("adaptive", "Hedge, 0.5 times the standard step"),
        ("games-of-three", "predictive regret matching+"),
    ],
)
def test_where_losses_react_to_play_an_expert_is_imitated(name, expert):
    seats = universal.roll_out(FAMILIES[name], random_parameters(), np.random.default_rng(3), 1000)
    assert {seat.imitated for seat in seats} == {None if expert is None else EXPERTS.index(expert)}


@pytest.mark.parametrize("name", ["bernoulli", "adversary", "games-of-two", "games-of-three"])
def test_rollouts_replay_what_was_played(name):
    parameters = random_parameters()
    seats = universal.roll_out(FAMILIES[name], parameters, np.random.default_rng(3), 2000)
    for seat in seats:
        rounds, runs, d = seat.losses.shape
        features = [f for f in (LossFeatures(d, rounds, runs), LossFeatures(d, None, runs))]
        np.testing.assert_allclose(seat.losses.mean(2), 0.0, atol=1e-6)
        assert runs >= 8
        if (seat.tokens[0] == 0).all():  # no starting losses
            told = bool(seat.context[0, 0, 5])
            for t in range(min(rounds, 10)):
                now = features[0 if told else 1]
                np.testing.assert_allclose(seat.tokens[t], now.tokens.transpose(2, 1, 0), atol=1e-3)
                now.observe(seat.losses[t].double().numpy().T)


def test_training_lowers_the_loss_and_is_reproducible(tmp_path):
    families = [
        msgspec.structs.replace(FAMILIES[name], horizon=24) for name in ("repeating", "games-of-sum-zero")
    ]
    recipe = universal.UniversalRecipe(num_steps=30, num_tokens=3000, memory=20, average=0.8)
    before = universal.evaluate(families, universal.initial_parameters(0), "external", num_tokens=3000)
    weights = [
        universal.train(recipe, families, tmp_path / name, say=lambda line: None, evaluate_every=30)
        for name in "ab"
    ]
    after = universal.evaluate(families, weights[0], "external", num_tokens=3000)
    assert sum(after.values()) < sum(before.values()) - 0.2
    for name, value in weights[0].items():
        np.testing.assert_array_equal(value.numpy(), weights[1][name].numpy())


def test_tensorboard_has_the_same_scalars(tmp_path, monkeypatch):
    written = {}

    class Writer:
        def add_scalar(self, name, value, step):
            written[name, step] = value

        def flush(self):
            pass

    monkeypatch.setattr(universal, "summary_writer", lambda folder, step: Writer())
    family = msgspec.structs.replace(FAMILIES["repeating"], horizon=10)
    recipe = universal.UniversalRecipe(num_steps=2, num_tokens=1000)
    universal.train(recipe, [family], tmp_path, say=lambda line: None, evaluate_every=1, tensorboard=True)
    with (tmp_path / "log.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 and len(written) == 4
    for row in rows:
        assert written["loss", int(row["step"])] == pytest.approx(float(row["loss"]), abs=1e-4)
        assert written["regret/repeating", int(row["step"])] == pytest.approx(
            float(row["repeating"]), abs=1e-4
        )


def test_the_command(tmp_path):
    from regret_envs.benchmarks.cli.main import main

    path, out = tmp_path / "families.toml", tmp_path / "out"
    first = BUILT_IN.read_text(encoding="utf-8").split("[[family]]")[2]
    first = first.replace("[8, 200]", "[8, 20]")
    path.write_text("[[family]]" + first, encoding="utf-8")
    base = ["train", "universal", "--families", str(path), "--out", str(out), "--objective", "swap"]
    result = CliRunner().invoke(main, [*base, "--steps", "2"])
    assert result.exit_code == 0 and "universal[weights=" in result.output, result.output
    again = CliRunner().invoke(main, [*base, "--steps", "2"])
    assert again.exit_code == 2 and "--resume" in again.output
    more = CliRunner().invoke(main, [*base, "--steps", "3", "--resume"])
    assert more.exit_code == 0, more.output
    with (out / "log.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["2", "3"]
    assert CliRunner().invoke(main, [*base, "--out", str(tmp_path / "new"), "--resume"]).exit_code == 2
