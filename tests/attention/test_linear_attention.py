# ruff: noqa: E402
import copy
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from hypothesis import given, settings
from hypothesis import strategies as st

from regret_envs import simulate
from regret_envs.agents import Hedge
from regret_envs.agents.attention.linear import LinearAttention, project_ball, project_simplex
from regret_envs.games import NormalFormGame, random_payoffs
from regret_envs.streams import BiasedGaussian, Gaussian


def model_of(form="reduced", seed=0, d=3, **settings):
    return LinearAttention(
        d, form=form, init_scale=0.4, generator=torch.Generator().manual_seed(seed), **settings
    ).double()


def losses_of(num_runs=4, horizon=7, d=3, seed=0):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal((num_runs, horizon, d)))


def literal_logits(model, losses):
    """The definition, one round and one key at a time."""
    one = torch.ones(model.num_actions, dtype=torch.float64)
    logits = torch.zeros_like(losses)
    for run, sequence in enumerate(losses):
        for t in range(len(sequence)):
            for loss in sequence[:t]:
                if model.form == "full":
                    score = (model.key @ loss + model.key_bias) @ (model.query @ one + model.query_bias)
                else:
                    score = 1 + model.score @ loss
                logits[run, t] += (model.value @ loss + model.value_bias) * score
    return logits


@pytest.mark.parametrize("form", ["reduced", "full"])
def test_the_forward_pass_is_the_definition(form):
    model, losses = model_of(form), losses_of()
    assert torch.allclose(model(losses), torch.softmax(literal_logits(model, losses), -1), atol=1e-12)


def test_the_full_form_maps_onto_the_reduced_one():
    full, losses = model_of("full"), losses_of(d=3)
    value, value_bias, score, score_bias = full.reduced()
    reduced = model_of("reduced")
    with torch.no_grad():
        reduced.value.copy_(value * score_bias)
        reduced.value_bias.copy_(value_bias * score_bias)
        reduced.score.copy_(score / score_bias)
    assert torch.allclose(full(losses), reduced(losses), atol=1e-12)


@pytest.mark.parametrize(("d", "step_size"), [(2, 0.3), (3, 0.4495), (5, 2.0)])
def test_the_theoretical_point_plays_as_hedge_on_streams(d, step_size):
    world = BiasedGaussian(d)
    settings = dict(horizon=200, num_runs=8, seed=3, record="policies")
    ours = simulate(world, LinearAttention.from_step_size(step_size, d), **settings)
    hedge = simulate(world, Hedge(step_size=step_size), **settings)
    assert np.abs(ours.policies[0] - hedge.policies[0]).max() < 1e-12
    assert np.allclose(ours.regret(), hedge.regret(), atol=1e-10)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), step_size=st.floats(0.01, 3))
def test_the_theoretical_point_plays_as_hedge_in_random_games(seed, step_size):
    sizes = (2, 3, 4)
    game = NormalFormGame(random_payoffs(sizes, rng=np.random.default_rng(seed)))
    play = [
        simulate(
            game, agents, horizon=50, num_runs=3, seed=seed, starting_loss_scale=1.0, record="policies"
        ).policies
        for agents in (
            [LinearAttention.from_step_size(step_size, d) for d in sizes],
            [Hedge(step_size=step_size) for _ in sizes],
        )
    ]
    for ours, hedge in zip(*play, strict=True):
        assert np.abs(ours - hedge).max() < 1e-12


def test_any_score_bias_direction_that_softmax_is_blind_to_plays_the_same():
    model = LinearAttention.from_step_size(0.5, 3)
    other = copy.deepcopy(model)
    with torch.no_grad():
        other.value += torch.tensor([0.3, -0.2, 0.9], dtype=torch.float64)  # 1cᵀ
        other.value_bias += 0.7  # v·1
    losses = losses_of()
    assert torch.allclose(model(losses), other(losses), atol=1e-12)
    assert other.step_size() == pytest.approx(0.5, abs=1e-12) == model.step_size()


@pytest.mark.parametrize("form", ["reduced", "full"])
@pytest.mark.parametrize("reference_horizon", [None, 5])
def test_round_by_round_is_the_forward_pass(form, reference_horizon):
    model = model_of(form, reference_horizon=reference_horizon)
    losses = losses_of(num_runs=5, horizon=9)
    if reference_horizon:
        with torch.no_grad():
            model.horizon_factor.exponent.fill_(-0.4)
    model.reset(3, horizon=9, num_runs=5, rng=np.random.default_rng(0))
    for t in range(9):
        policy = model.act()
        assert policy.dtype == np.float64 and np.allclose(policy, model(losses)[:, t].detach(), atol=1e-12)
        model.observe(losses[:, t].numpy())


def test_in_play_there_is_no_gradient_and_eval_mode():
    model = model_of()
    model.train()
    model.reset(3, horizon=5, num_runs=2, rng=np.random.default_rng(0))
    assert not model.training
    model.act()
    model.observe(np.ones((2, 3)))
    assert not model._state[0].requires_grad


def test_play_is_pickled_in_the_middle():
    model, losses = model_of(), losses_of(num_runs=2)
    model.reset(3, horizon=7, num_runs=2, rng=np.random.default_rng(0))
    for t in range(3):
        model.act()
        model.observe(losses[:, t].numpy())
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.act(), model.act())
    assert repr(again) == repr(model) == "LinearAttention(num_actions=3, form='reduced', operator='softmax')"


def test_float32_play_is_on_the_simplex_to_the_last_digits():
    model = LinearAttention(3, generator=torch.Generator().manual_seed(0))
    play = simulate(Gaussian(3), model, horizon=20, num_runs=16, record="policies")
    assert np.abs(play.policies[0].sum(-1) - 1).max() < 1e-14


def test_the_identity_operator_is_projected_in_eval_mode_alone():
    model, losses = model_of(operator="identity"), losses_of(num_runs=3)
    raw = model.train()(losses)
    assert torch.allclose(raw, literal_logits(model, losses), atol=1e-12)
    assert torch.allclose(model.eval()(losses), project_simplex(raw), atol=1e-15)
    ball = model_of(operator="identity", domain="ball").eval()
    assert torch.allclose(ball(losses), project_ball(raw), atol=1e-15)
    assert (ball(losses).norm(dim=-1) <= 1 + 1e-12).all()


@settings(max_examples=50, deadline=None)
@given(st.lists(st.floats(-5, 5), min_size=1, max_size=6), st.integers(0, 1000))
def test_projection_onto_the_simplex_meets_its_variational_inequality(point, seed):
    # ⟨x − P(x), q − P(x)⟩ ≤ 0 for every q on the simplex: enough to ask at the vertices.
    x = torch.tensor([point], dtype=torch.float64)
    p = project_simplex(x)
    assert float(p.sum()) == pytest.approx(1) and float(p.min()) >= 0
    assert float(((x - p) @ (torch.eye(len(point), dtype=torch.float64) - p).T).max()) <= 1e-9


def test_what_it_cannot_play_is_said():
    model = model_of()
    assert "3 actions" in model.unsupported(4, horizon=5) and model.unsupported(3, horizon=None) is None
    with pytest.raises(ValueError, match="asked to play 4"):
        model.reset(4, horizon=5, num_runs=1, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match="takes the horizon as an input"):
        model_of(reference_horizon=5).reset(3, horizon=None, num_runs=1, rng=np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"form must be one of reduced, full, got 'fulll'"):
        LinearAttention(3, form="fulll")
