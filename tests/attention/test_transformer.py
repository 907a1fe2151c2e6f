# ruff: noqa: E402
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from regret_envs import simulate
from regret_envs.agents.attention.transformer import Transformer
from regret_envs.streams import Gaussian


def model_of(seed=0, d=3, horizon=12, **settings):
    return Transformer(d, horizon=horizon, generator=torch.Generator().manual_seed(seed), **settings)


def losses_of(num_runs=4, horizon=12, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return torch.from_numpy(rng.standard_normal((num_runs, horizon, d), dtype=np.float32))


VARIANTS = [
    dict(normalization="none"),
    dict(normalization="pre", positions="learned", layers=3),
    dict(),
    dict(mlp_ratio=0, heads=1),
    dict(horizon_input=True, normalization="pre"),
    dict(normalization="post"),
    dict(normalization="post", mlp_ratio=0, positions="learned"),
]


@pytest.mark.parametrize("settings", VARIANTS)
def test_the_cache_gives_what_a_pass_over_the_prefix_gives(settings):
    model, losses = model_of(**settings), losses_of(horizon=9)
    expected = model(losses).detach().numpy()
    model.reset(3, horizon=9, num_runs=4, rng=np.random.default_rng(0))
    for t in range(9):
        assert np.allclose(model.act(), expected[:, t], atol=1e-5)
        model.observe(losses[:, t].numpy())


@pytest.mark.parametrize("settings", VARIANTS)
def test_policies_are_causal_and_on_the_simplex(settings):
    model, losses = model_of(**settings), losses_of()
    policies = model(losses).detach()
    assert torch.allclose(policies.sum(-1), torch.ones(4, 12), atol=1e-6)
    for t in range(12):
        later = losses.clone()
        later[:, t:] += 1.0
        changed = (model(later).detach() - policies).abs().amax((0, 2))
        assert float(changed[: t + 1].max()) < 1e-6
        assert t == 11 or float(changed[t + 1]) > 1e-4


def test_one_head_one_layer_without_mlp_is_softmax_attention_written_out():
    model = model_of(layers=1, heads=1, mlp_ratio=0, width=4, normalization="none").double()
    losses = losses_of(num_runs=1, horizon=5).double()
    block = model.blocks[0]
    tokens = torch.cat([model.first[None], losses[0, :4] @ model.embedding.weight.T + model.embedding.bias])
    q, k, v = (tokens @ block.query_key_value.weight.T + block.query_key_value.bias).split(4, -1)
    for t in range(5):
        weights = torch.softmax(k[: t + 1] @ q[t] / 2.0, 0)
        x = tokens[t] + (weights @ v[: t + 1]) @ block.out.weight.T + block.out.bias
        expected = torch.softmax(model.read_out.weight @ x + model.read_out.bias, 0)
        assert torch.allclose(model(losses)[0, t], expected, atol=1e-12)


def test_gradients_flow_round_by_round_as_in_the_forward_pass():
    model, losses = model_of().double(), losses_of(horizon=5).double()
    (model(losses) * losses).sum().backward()
    expected = [p.grad.clone() for p in model.parameters() if p.grad is not None]
    model.zero_grad()
    state, total = model.begin(4, 5), 0.0
    for t in range(5):
        total = total + (model.policy(state) * losses[:, t]).sum()
        if t < 4:
            state = model.step(state, losses[:, t])
    total.backward()
    for ours, theirs in zip(
        [p.grad for p in model.parameters() if p.grad is not None], expected, strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-10)


def test_play_is_picklable_without_gradients_and_in_eval_mode():
    model, losses = model_of(), losses_of(num_runs=2)
    expected = model(losses).detach().numpy()
    model.train().reset(3, horizon=12, num_runs=2, rng=np.random.default_rng(0))
    assert not model.training
    for t in range(12):
        assert np.allclose(model.act(), expected[:, t], atol=1e-5)
        model.observe(losses[:, t].numpy())
        model = pickle.loads(pickle.dumps(model))
    assert not model._state.policy.requires_grad


@pytest.mark.parametrize("positions", ["none", "learned"])
def test_a_starting_loss_is_one_round_more_and_no_other(positions):
    model = model_of(horizon=6, positions=positions)
    play = simulate(Gaussian(3), model, horizon=6, num_runs=3, starting_loss_scale=1.0)
    assert np.isfinite(play.regret()).all()
    with pytest.raises(ValueError, match="has played its 6 rounds"):
        model.act()


def test_a_longer_horizon_is_refused_and_a_shorter_one_played():
    model = model_of(horizon=6)
    assert model.unsupported(3, horizon=4) is None and model.unsupported(3, horizon=None) is None
    with pytest.raises(ValueError, match="horizon of at most 6, asked for 7"):
        simulate(Gaussian(3), model, horizon=7)
    with pytest.raises(ValueError, match="plays 3 actions and was asked to play 2"):
        simulate(Gaussian(2), model, horizon=6)


def test_the_seed_makes_the_parameters():
    a, b, c = (model_of(seed=s) for s in (0, 0, 1))
    assert all(torch.equal(x, y) for x, y in zip(a.parameters(), b.parameters(), strict=True))
    assert not torch.equal(a.embedding.weight, c.embedding.weight)


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        (dict(width=30), "width a multiple of heads"),
        (dict(layers=0), "layers and heads must be at least 1"),
        (dict(normalization="batch"), "normalization must be one of none, pre, post"),
        (dict(positions="rotary"), "positions must be one of none, learned"),
    ],
)
def test_settings_out_of_range(settings, says):
    with pytest.raises(ValueError, match=says):
        model_of(**settings)


def test_post_normalization_normalizes_every_sum():
    model = model_of(layers=1, normalization="post").double()
    losses, block = losses_of(num_runs=2, horizon=5).double(), model.blocks[0]
    tokens = torch.cat([model.first.expand(2, 1, -1), model.embedding(losses[:, :-1])], 1)
    attended = torch.nn.functional.scaled_dot_product_attention(
        *[part.unflatten(-1, (4, 8)).transpose(1, 2) for part in block.query_key_value(tokens).split(32, -1)],
        is_causal=True,
    )
    x = block.norm_attention(tokens + block.out(attended.transpose(1, 2).flatten(2)))
    x = block.norm_mlp(x + block.mlp(x))
    # Its scale and shift start at 1 and 0, so that every token has mean 0 and variance 1 here.
    assert torch.allclose(x.mean(-1), torch.zeros(2, 5).double(), atol=1e-9)
    assert torch.allclose(x.var(-1, unbiased=False), torch.ones(2, 5).double(), atol=1e-3)
    assert torch.allclose(model(losses), torch.softmax(model.read_out(x), -1), atol=1e-12)
