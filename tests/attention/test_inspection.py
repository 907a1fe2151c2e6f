"""What `inspect` says of checkpoints, held against theoretical points and play."""

# ruff: noqa: E402
import json

import numpy as np
import pytest
from conftest import invoke

torch = pytest.importorskip("torch")

from regret_envs.agents.attention import checkpoint, inspection
from regret_envs.agents.attention.builtin import SHIPPED
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.recipe import default_recipe, make_model
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.agents.attention.transformer import Transformer


@pytest.fixture(autouse=True)
def few_runs(monkeypatch):
    monkeypatch.setattr(inspection, "RUNS", 32)


def saved(folder, model, name, **changes):
    recipe = default_recipe(name, num_actions=model.num_actions, **changes)
    checkpoint.save(folder, model, recipe, final_loss=1.0)
    return inspection.inspect(folder)[0]


def test_at_the_theoretical_point_linear_attention_is_hedge(tmp_path):
    found = saved(tmp_path, LinearAttention.from_step_size(0.4, 4), "linear-attention", horizon=12)
    (head,) = found.learned
    assert head.away == pytest.approx(0, abs=1e-7) and head.others is None
    np.testing.assert_allclose(head.value, -0.4 * (np.eye(4) - 1 / 4), atol=1e-7)
    assert found.step_size == pytest.approx(0.4)
    assert (found.theory, found.theory_error) == (k_star(4, 12), k_star(4, 12).standard_error)
    fitted, theory = found.distances
    assert fitted.algorithm == "hedge, step size 0.4000" and fitted.moved < 1e-4
    assert theory.algorithm == f"hedge, step size {k_star(4, 12):.4f}"
    assert theory.moved > 20 * theory.standard_error > 0
    # By hand: softmax of the cumulative losses.
    losses, _ = inspection._losses(found.config)
    before = np.cumsum(losses, 1)[:, :-1]
    policies = [np.exp(-k * before) for k in (0.4, float(k_star(4, 12)))]
    policies = [p / p.sum(-1, keepdims=True) for p in policies]
    moved = 0.5 * np.abs(policies[0] - policies[1]).sum(-1).mean(1)
    assert theory.moved == pytest.approx(moved.mean(), rel=1e-5)
    assert theory.standard_error == pytest.approx(moved.std(ddof=1) / np.sqrt(32), rel=1e-5)


def test_what_softmax_does_not_see_is_not_shown(tmp_path):
    model = make_model(default_recipe("linear-attention", num_actions=3, settings={"init_scale": 0.3}))
    one = saved(tmp_path / "one", model, "linear-attention")
    with torch.no_grad():
        model.value += torch.tensor([5.0, -1.0, 2.0])
        model.value_bias += 3.0
    two = saved(tmp_path / "two", model, "linear-attention")
    np.testing.assert_allclose(two.learned[0].value, one.learned[0].value, atol=1e-5)
    np.testing.assert_allclose(two.learned[0].value_bias, one.learned[0].value_bias, atol=1e-5)
    assert two.learned[0].away == pytest.approx(one.learned[0].away, abs=1e-4) and one.learned[0].away > 0.1


@pytest.mark.parametrize("settings", [{"form": "full"}, {"form": "reduced"}])
def test_the_shown_parameters_play_as_the_model(tmp_path, settings):
    recipe = default_recipe("linear-attention", num_actions=3, min_horizon=5, settings=settings, seed=3)
    model = make_model(recipe)
    with torch.no_grad():
        model.horizon_factor.exponent += 0.7
    checkpoint.save(tmp_path, model, recipe, final_loss=1.0)
    found, loaded = inspection.inspect(tmp_path)
    losses, _ = inspection._losses(recipe_config := found.config)
    (head,) = found.learned
    terms = losses @ np.array(head.value).T + head.value_bias
    terms *= 1 + losses @ np.array(head.score)[:, None]
    logits = np.concatenate([np.zeros_like(terms[:, :1]), np.cumsum(terms, 1)[:, :-1]], 1)
    policies = np.exp(logits - logits.max(-1, keepdims=True))
    policies /= policies.sum(-1, keepdims=True)
    np.testing.assert_allclose(inspection.play(loaded, losses), policies, atol=1e-9)
    assert recipe_config.recipe == recipe


@pytest.mark.parametrize("form", ["full", "block"])
def test_at_the_theoretical_point_swap_attention_is_blum_mansour(tmp_path, form):
    model = SwapAttention.from_step_size(1.5, 3, form=form)
    settings = {"form": form, "logit_scale": 1.0}
    found = saved(tmp_path, model, "swap-attention", settings=settings)
    assert len(found.learned) == 3 and found.theory == 3 * k_star(3, 20)
    for head in found.learned:
        np.testing.assert_allclose(head.value, -1.5 * (np.eye(3) - 1 / 3), atol=1e-7)
        assert head.away == pytest.approx(0, abs=1e-7) and head.others == (0 if form == "full" else None)
    own, theory = found.distances
    assert own.algorithm == "blum-mansour over hedge, step size 1.5000" and own.moved < 1e-6 < theory.moved


def test_what_a_head_has_on_the_others_blocks(tmp_path):
    model = SwapAttention.from_step_size(1.0, 2)
    with torch.no_grad():
        model.value[0, 0, 2] += 2.0  # of head 0 on block 1: centered, (1, −1)
    found = saved(tmp_path, model, "swap-attention", settings={"logit_scale": 1.0})
    assert [head.others for head in found.learned] == [pytest.approx((2 / 3) ** 0.5), 0]


def test_where_theory_says_nothing(tmp_path):
    ball = {"operator": "identity", "domain": "ball"}
    model = make_model(default_recipe("linear-attention", settings=ball))
    found = saved(tmp_path / "ball", model, "linear-attention", settings=ball)
    assert found.theory is None and found.distances == [] and len(found.learned) == 1
    model = make_model(default_recipe("transformer", settings={"width": 8}))
    found = saved(tmp_path / "deep", model, "transformer", settings={"width": 8}, stream="self-play")
    assert found.theory is None and found.learned == [] and found.step_size is None
    assert len(found.distances) == 1 and found.losses.endswith("20 rounds, stream gaussian")


@pytest.mark.parametrize("normalization", ["none", "pre", "post"])
def test_the_attention_of_a_transformer(normalization):
    generator = torch.Generator().manual_seed(1)
    model = Transformer(
        3, horizon=6, layers=2, heads=2, width=8, normalization=normalization, generator=generator
    ).double()
    losses = torch.randn(5, 6, 3, generator=generator, dtype=torch.float64)
    with torch.no_grad():
        weights = model.attention(losses).numpy()
        assert weights.shape == (2, 5, 2, 6, 6)
        np.testing.assert_allclose(weights.sum(-1), 1)
        assert (np.triu(weights, 1) == 0).all() and (np.tril(weights) + np.triu(np.ones(6), 1) > 0).all()
        # By hand, the first layer.
        tokens = torch.cat([model.first.expand(5, 1, -1), model.embedding(losses[:, :-1])], 1)
        block = model.blocks[0]
        packed = block.query_key_value(block.norm_attention(tokens) if normalization == "pre" else tokens)
        query, key = packed[..., :8].numpy(), packed[..., 8:16].numpy()
        for head in range(2):
            q, k = query[..., 4 * head : 4 * head + 4], key[..., 4 * head : 4 * head + 4]
            for t in range(6):
                scores = np.exp(np.einsum("rc,rsc->rs", q[:, t], k[:, : t + 1]) / 2)
                expected = scores / scores.sum(1, keepdims=True)
                np.testing.assert_allclose(weights[0, :, head, t, : t + 1], expected)


def test_the_command(tmp_path):
    shown = invoke("inspect", SHIPPED / "linear-attention").stdout
    assert "| learning_rate        | 0.02 " in shown and "| k*(d, T) of theory" in shown
    found = json.loads(invoke("inspect", SHIPPED / "swap-attention", "--format", "json").stdout)
    assert found["config"]["recipe"]["model"] == "swap-attention" and len(found["learned"]) == 3
    refused = invoke("inspect", SHIPPED / "linear-attention", "--picture", tmp_path / "a.svg", code=2)
    assert "has no attention over rounds to draw" in refused.stderr
    assert f"there is no checkpoint in {tmp_path}" in invoke("inspect", tmp_path, code=1).stderr


def test_the_picture_of_a_transformer(tmp_path):
    pytest.importorskip("matplotlib")
    shown = invoke("inspect", SHIPPED / "transformer-2", "--picture", tmp_path / "a.svg").stderr
    assert f"drawn in {tmp_path / 'a.svg'}" in shown
    text = (tmp_path / "a.svg").read_text()
    assert text.startswith("<?xml") and text.count('id="axes_') == 2 * 4 + 1
    nowhere = tmp_path / "no" / "a.svg"
    assert (
        "cannot be written"
        in invoke("inspect", SHIPPED / "transformer-2", "--picture", nowhere, code=1).stderr
    )
