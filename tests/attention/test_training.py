# ruff: noqa: E402
import numpy as np
import pytest

torch = pytest.importorskip("torch")

import msgspec
from safetensors.torch import load_file

from regret_envs import streams
from regret_envs.agents.attention import training
from regret_envs.agents.attention.checkpoint import STATE_FILE, CheckpointError, load, read_config
from regret_envs.agents.attention.k_star import k_star
from regret_envs.agents.attention.recipe import Recipe, default_recipe, make_model, training_world
from regret_envs.agents.attention.rollout import play_batch
from regret_envs.agents.attention.training import DivergedError, Trainer, train

TINY = dict(num_actions=3, horizon=5, batch_size=8, num_steps=5)


def tiny(model="linear-attention", **changes):
    return default_recipe(model, **{**TINY, **changes})


@pytest.fixture(autouse=True)
def quick_evaluation(monkeypatch):
    monkeypatch.setattr(training, "_EVALUATION_BATCHES", 1)


EVERY = [
    tiny(),
    tiny(settings={"form": "full"}, estimator="hindsight"),
    tiny(settings={"operator": "identity", "domain": "ball"}),
    tiny("swap-attention"),
    tiny("swap-attention", objective="swap-regret", settings={"form": "block"}),
    tiny("swap-attention", objective="swap-regret", settings={"fixed_point": "unrolled"}),
    tiny("transformer", settings={"width": 8, "layers": 1}),
    tiny("transformer", settings={"width": 8, "layers": 1}, stream="self-play", objective="swap-regret"),
    tiny(stream="self-play"),
    tiny(stream="biased-gaussian", stream_settings={"bias_scale": 0.5}),
    tiny(stream="bernoulli", worst_of=4, temperature=0.5),
    tiny(stream="adaptive"),
    tiny(feedback="bandit", h="positive-square"),
    tiny(min_horizon=2, h="exponential"),
    tiny(feedback="delayed", delay=2),
    tiny("transformer", settings={"width": 8, "layers": 2, "normalization": "post"}, schedule="constant"),
    tiny(optimizer="sgd", schedule="linear", learning_rate=0.01),
    tiny("swap-attention", optimizer="adamw", warm_up=0),
]


@pytest.mark.parametrize("recipe", EVERY, ids=lambda r: f"{r.model}-{r.stream}-{r.objective}")
def test_every_recipe_trains_all_parameters_and_is_resumed_to_the_bit(recipe, tmp_path, monkeypatch):
    config = train(recipe, tmp_path / "whole")
    assert config.recipe == recipe and np.isfinite(config.final_loss)
    whole = load_file(tmp_path / "whole" / "model.safetensors")
    for name, start in make_model(recipe).named_parameters():
        assert not torch.equal(whole[name], start.detach()), name

    one_step = Trainer.train_step
    monkeypatch.setattr(Trainer, "train_step", lambda self: stop_after(3, self, one_step))
    with pytest.raises(KeyboardInterrupt):
        train(recipe, tmp_path / "broken")
    assert (tmp_path / "broken" / STATE_FILE).exists()
    monkeypatch.setattr(Trainer, "train_step", one_step)
    assert train(recipe, tmp_path / "broken", resume=True) == config
    broken = load_file(tmp_path / "broken" / "model.safetensors")
    assert all(torch.equal(broken[name], whole[name]) for name in whole)
    assert not (tmp_path / "broken" / STATE_FILE).exists()


def stop_after(steps, trainer, one_step):
    if trainer.step == steps:
        raise KeyboardInterrupt
    return one_step(trainer)


def test_ctrl_c_in_the_middle_of_a_step_waits_for_its_end(tmp_path, monkeypatch):
    import os
    import signal

    adam = torch.optim.Adam.step

    def interrupted(self, *args, **kwargs):
        if self.state and next(iter(self.state.values()))["step"] == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return adam(self, *args, **kwargs)

    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(torch.optim.Adam, "step", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), tmp_path / "broken")
    assert signal.getsignal(signal.SIGINT) is before
    monkeypatch.setattr(torch.optim.Adam, "step", adam)
    train(tiny(), tmp_path / "broken", resume=True)
    train(tiny(), tmp_path / "whole")
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("broken", "whole")]
    assert files[0] == files[1]


def test_the_seed_makes_the_checkpoint(tmp_path):
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(tiny(seed=seed), tmp_path / name)
    files = [(tmp_path / name / "model.safetensors").read_bytes() for name in "abc"]
    assert files[0] == files[1] != files[2]
    assert (tmp_path / "a" / "config.json").read_bytes() == (tmp_path / "b" / "config.json").read_bytes()


def test_resuming_asks_for_the_same_recipe_and_for_something_to_resume(tmp_path, monkeypatch):
    with pytest.raises(CheckpointError, match="no interrupted training"):
        train(tiny(), tmp_path, resume=True)
    one_step = Trainer.train_step
    monkeypatch.setattr(Trainer, "train_step", lambda self: stop_after(2, self, one_step))
    with pytest.raises(KeyboardInterrupt):
        train(tiny(), tmp_path)
    with pytest.raises(CheckpointError, match="begun with another recipe"):
        train(tiny(learning_rate=0.1), tmp_path, resume=True)
    with pytest.raises(CheckpointError, match="interrupted, continue it with --resume"):
        read_config(tmp_path)


def test_a_loss_that_is_not_finite_stops_with_the_step_and_a_hint(tmp_path):
    recipe = tiny(h="exponential", stream_settings={"scale": 300.0})
    with pytest.raises(
        DivergedError, match=r"inf in step 1 of 5: try .*learning rate than 0.02, or h='square'"
    ):
        train(recipe, tmp_path)


class Broken(streams.Gaussian):
    def draw(self, rng, state, t, num_rounds):
        losses = super().draw(rng, state, t, num_rounds)
        losses[3 - t if t <= 3 < t + num_rounds else 0, 1] = np.nan
        return losses


def test_a_stream_that_is_not_finite_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(streams.STREAMS, "broken", Broken)
    with pytest.raises(
        ValueError, match=r"stream broken gave losses that are not finite: step 0, sequence 0, round 4"
    ):
        train(tiny(stream="broken"), tmp_path)


def test_linear_attention_finds_k_star_and_swap_attention_d_times_it(tmp_path):
    trained = train(default_recipe("linear-attention", horizon=6, num_steps=150, seed=3), tmp_path / "linear")
    assert trained.step_size == pytest.approx(k_star(3, 6), rel=0.05)
    recipe = default_recipe(
        "swap-attention", horizon=6, num_steps=250, batch_size=128, settings={"form": "block"}
    )
    swap = train(recipe, tmp_path / "swap")
    assert swap.step_size == pytest.approx(3 * k_star(3, 6), rel=0.1)
    model, _ = load(tmp_path / "swap")
    assert model.logit_scale == 3 and model.step_size() == pytest.approx(swap.step_size)


def test_progress_is_told_and_ends_at_the_last_step(tmp_path):
    seen = []
    train(tiny(), tmp_path, progress=seen.append)
    last = seen[-1]
    assert (last.step, last.num_steps, last.seconds_left) == (5, 5, 0)
    assert np.isfinite([last.loss, last.step_size]).all()


@pytest.mark.parametrize("stream", ["gaussian", "biased-gaussian", "switching"])
def test_training_sequences_are_the_streams(stream):
    recipe = tiny(stream=stream, horizon=40)
    _, losses = play_batch(make_model(recipe), recipe, training_world(recipe), 0, 400)
    losses = losses.double().numpy()
    world = training_world(recipe)
    from regret_envs.seeding import RunSeeds

    episode = world.start(num_agents=1, horizon=40, seeds=RunSeeds(1, 400))
    theirs = np.stack([episode.step(())[0] for _ in range(40)], 1)
    for statistic in (lambda x: x.mean((1, 2)), lambda x: x.std((1, 2)), lambda x: x.sum(1).min(1)):
        a, b = statistic(losses), statistic(theirs)
        assert abs(a.mean() - b.mean()) < 4 * np.hypot(a.std(), b.std()) / 20


def test_what_is_shown_under_bandit_feedback_is_an_estimate_of_the_losses():
    recipe = tiny(feedback="bandit", implicit_exploration=0.0, horizon=2)
    model = make_model(recipe)
    shown = []
    step = model.step
    model.step = lambda state, losses: shown.append(losses) or step(state, losses)
    _, losses = play_batch(model, recipe, training_world(recipe), 0, 4000)
    (estimate,) = shown
    assert ((estimate != 0).sum(1) == 1).all()
    error = (estimate - losses[:, 0]).double()
    assert (error.mean(0).abs() < 4 * error.std(0) / 4000**0.5).all()


def test_self_play_meets_expected_losses_of_the_games():
    recipe = tiny(stream="self-play")
    policies, losses = play_batch(make_model(recipe), recipe, training_world(recipe), 0, 8)
    assert policies.shape == losses.shape == (16, 5, 3)
    # Uniform payoffs on [−1, 1] in every game, so expected losses lie within.
    assert float(losses.abs().max()) <= 1


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (dict(stream="gausian"), "did you mean 'gaussian'"),
        (dict(stream_settings={"scael": 1}), "scael"),
        (dict(stream="prices", stream_settings={"market": "djia"}), "30 actions, the model 3"),
        (dict(h="cube"), "unknown h"),
        (dict(num_steps=0), "num_steps must be at least 1"),
        (dict(learning_rate=float("nan")), "learning_rate must be positive"),
        (dict(warm_up=-1), "warm_up must be at least 0"),
        (dict(optimizer="adamax"), "optimizer must be one of adam, adamw, sgd"),
        (dict(schedule="step"), "schedule must be one of constant, linear, cosine"),
        (dict(feedback="delayed", delay=0), "delay must be at least 1"),
        (dict(min_horizon=9), "min_horizon must lie in 2 … 5"),
        (dict(estimator="hindsight", stream="bernoulli"), "use estimator 'sample'"),
        (dict(estimator="hindsight", stream_settings={"scale": 2.0}), "use estimator 'sample'"),
        (dict(objective="block-swap-regret"), "use 'swap-regret'"),
        (dict(settings={"opertor": "softmax"}), "did you mean 'operator'"),
        (dict(settings={"operator": "relu"}), "operator must be one of"),
    ],
)
def test_recipes_that_do_not_go_together(changes, says):
    with pytest.raises(ValueError, match=says):
        tiny(**changes)


def test_an_unknown_model_or_field():
    with pytest.raises(ValueError, match="did you mean 'transformer'"):
        default_recipe("transfomer")
    with pytest.raises(TypeError, match="batch"):
        default_recipe("transformer", batch=3)


def test_a_recipe_is_json():
    recipe = tiny("transformer", settings={"width": 8})
    assert msgspec.json.decode(msgspec.json.encode(recipe), type=Recipe) == recipe


def test_a_device_that_is_not_there(tmp_path):
    missing = f"cuda:{torch.cuda.device_count()}"  # devices are numbered from 0
    with pytest.raises(ValueError, match=rf"device '{missing}' is not there .*there is cpu"):
        training.train(tiny(), tmp_path, device=missing)


def test_learning_rates_follow_their_schedule():
    def rates(**changes):
        trainer = Trainer(tiny(num_steps=40, learning_rate=0.5, **changes))
        found = []
        for trainer.step in (0, 9, 19, 20, 39):
            found.append(trainer._learning_rate())
        return np.array(found)

    done = np.array([0, 9, 19, 20, 39]) / 40
    warm = np.array([0.05, 0.5, 1, 1, 1])
    assert np.allclose(rates(schedule="constant", warm_up=0), 0.5)
    assert np.allclose(rates(schedule="constant"), 0.5 * warm)
    assert np.allclose(rates(schedule="linear"), 0.5 * warm * (1 - done))
    assert np.allclose(rates(), 0.5 * warm * (1 + np.cos(np.pi * done)) / 2)


@pytest.mark.parametrize("optimizer", ["sgd", "adamw"])
def test_a_step_of_the_optimizers_by_hand(optimizer):
    trainer = Trainer(tiny(optimizer=optimizer, schedule="constant", warm_up=0, learning_rate=0.01))
    before = {name: p.detach().clone() for name, p in trainer.model.named_parameters()}
    trainer.train_step()
    for name, parameter in trainer.model.named_parameters():
        gradient = parameter.grad.double()
        if optimizer == "sgd":
            expected = before[name] - 0.01 * gradient
        else:  # Adam's first step is the gradient's sign, decoupled from the decay of 0.01
            expected = before[name] * (1 - 0.01 * 0.01) - 0.01 * gradient / (gradient.abs() + 1e-8)
        assert torch.allclose(parameter.detach().double(), expected.double(), atol=1e-6), name


def test_iterates_are_kept_and_play(tmp_path):
    recipe = tiny()
    train(recipe, tmp_path / "whole", keep=(2, 5))
    assert sorted(p.name for p in (tmp_path / "whole").glob("step-*")) == ["step-2", "step-5"]
    model, config = load(tmp_path / "whole" / "step-2")
    assert config.step == 2 and config.recipe == recipe
    trainer = Trainer(recipe)
    for _ in range(2):
        trainer.train_step()
    assert torch.equal(model.value, trainer.model.value.detach().double())
    last, whole = (load(tmp_path / "whole" / name)[0] for name in ("step-5", ""))
    assert torch.equal(last.value, whole.value)
    with pytest.raises(ValueError, match="steps to keep lie in 1 … 5, got 6"):
        train(recipe, tmp_path / "other", keep=(6,))


def test_no_model_changes_its_estimator_by_itself():
    for model in ("linear-attention", "swap-attention", "transformer"):
        for stream in ("gaussian", "biased-gaussian"):
            assert tiny(model, stream=stream).estimator == "sample"


def test_delayed_losses_come_late():
    recipe = tiny(feedback="delayed", delay=2, horizon=4)
    model = make_model(recipe)
    policies, losses = play_batch(model, recipe, training_world(recipe), 0, 3)
    expected = model(losses)
    # Round t + 2 plays on what round t would have played on.
    assert torch.allclose(policies[:, 0], expected[:, 0]) and torch.allclose(policies[:, 2:], expected[:, :2])
