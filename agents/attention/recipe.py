"""The whole recipe of a training run, as data: a checkpoint's config holds it."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import msgspec
import torch

from regret_envs import games, streams
from regret_envs.agents.attention.linear import LinearAttention
from regret_envs.agents.attention.model import AttentionModel, one_of
from regret_envs.agents.attention.objectives import TRANSFORMS
from regret_envs.agents.attention.swap import SwapAttention
from regret_envs.agents.attention.transformer import Transformer
from regret_envs.names import lookup, near_matches
from regret_envs.validation import at_least
from regret_envs.worlds import World

MODELS: dict[str, Callable[..., AttentionModel]] = {
    "linear-attention": LinearAttention,
    "swap-attention": SwapAttention,
    "transformer": Transformer,
}

Objective = Literal["regret", "ball-regret", "swap-regret", "block-swap-regret"]
Estimator = Literal["sample", "hindsight"]
Optimizer = Literal["adam", "adamw", "sgd"]
Schedule = Literal["constant", "linear", "cosine"]
FeedbackName = Literal["full", "bandit", "delayed"]
SELF_PLAY = "self-play"


class Recipe(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Everything that a training run depends on. Same recipe, same checkpoint on the same machine.

    Attributes:
        model: a name in `MODELS`.
        settings: the model's settings.
        num_actions: d.
        horizon: T.
        min_horizon: None, or every step draws T log-uniformly from min_horizon … horizon
            (horizon-free training; the model then takes T as an input).
        stream: the training distribution: a name as in `streams.make`, or "self-play": both seats
            of one random d × d game per run, after a starting loss.
        stream_settings: its settings; `num_actions` is filled in.
        objective: "regret"; "ball-regret" (identity operator on the ℓ₂ ball); "swap-regret" (of play, the
            recurrent form); "block-swap-regret" (the published form on independent blocks).
        h: "square", "positive-square" or "exponential".
        worst_of: N of the worst-case surrogate; 1 is the mean.
        temperature: of the surrogate.
        estimator: "sample", h(R) of every sequence; "hindsight", `hindsight_brier`, of the same
            expectation for i.i.d. N(0, I) losses and the square, with less noise. Elsewhere the two have
            different expectations, and "hindsight" is refused.
        feedback: what the model is shown: all losses at once ("full") or `delay` rounds late ("delayed"),
            or "bandit" estimates, those of `feedback.Bandit` at offset 0.
        implicit_exploration: γ of the bandit estimates.
        delay: rounds that delayed losses are late.
        batch_size: sequences a step (runs of a game have two).
        num_steps: optimizer steps.
        optimizer: "adam", "adamw" (decoupled weight decay 0.01) or "sgd" (no momentum).
        learning_rate: the optimizer's, after the warm-up.
        schedule: "constant", or a fall to 0 over all steps, "linear" or along a "cosine".
        warm_up: steps over which the learning rate rises linearly; 0 for none.
        seed: of the initial parameters and of all sequences.
    """

    model: str
    num_actions: int = 3
    horizon: int = 20
    settings: dict[str, Any] = {}
    min_horizon: int | None = None
    stream: str = "gaussian"
    stream_settings: dict[str, Any] = {}
    objective: Objective = "regret"
    h: str = "square"
    worst_of: int = 1
    temperature: float = 1.0
    estimator: Estimator = "sample"
    feedback: FeedbackName = "full"
    implicit_exploration: float = 0.1
    delay: int = 1
    batch_size: int = 1024
    num_steps: int = 1000
    optimizer: Optimizer = "adam"
    learning_rate: float = 0.02
    schedule: Schedule = "cosine"
    warm_up: int = 20
    seed: int = 0

    def check(self) -> None:
        """Raise `ValueError` where settings are unknown, out of range or do not go together."""
        lookup("model", self.model, MODELS)
        lookup("h", self.h, TRANSFORMS)
        at_least("num_actions", self.num_actions, 2)
        at_least("horizon", self.horizon, 2)
        at_least("batch_size", self.batch_size, 1)
        at_least("num_steps", self.num_steps, 1)
        at_least("warm_up", self.warm_up, 0)
        at_least("delay", self.delay, 1)
        for name, kind in (("optimizer", Optimizer), ("schedule", Schedule), ("feedback", FeedbackName)):
            one_of(name, getattr(self, name), get_args(kind))
        if not (math.isfinite(self.learning_rate) and self.learning_rate > 0):
            raise ValueError(f"learning_rate must be positive, got {self.learning_rate}")
        if self.min_horizon is not None and not 2 <= self.min_horizon <= self.horizon:
            raise ValueError(f"min_horizon must lie in 2 … {self.horizon}, got {self.min_horizon}")
        world = training_world(self)
        if self.objective == "block-swap-regret" and not (
            self.model == "swap-attention" and self.feedback == "full" and isinstance(world, streams.Stream)
        ):
            raise ValueError(
                "objective 'block-swap-regret' trains swap-attention on a stream under full feedback; "
                "use 'swap-regret'"
            )
        if self.estimator == "hindsight" and not self.hindsight_applies():
            raise ValueError(
                "estimator 'hindsight' is for the mean squared regret on the unit Gaussian stream under "
                "full feedback; use estimator 'sample'"
            )
        make_model(self)

    def hindsight_applies(self) -> bool:
        """Whether `hindsight_brier` has the expectation of the objective."""
        world = training_world(self)
        return (
            (self.h, self.worst_of, self.feedback) == ("square", 1, "full")
            and self.objective in ("regret", "block-swap-regret")
            and type(world) is streams.Gaussian
            and world.loss_scale == 1
        )


_DEFAULTS: dict[str, dict[str, Any]] = {
    "linear-attention": {"batch_size": 1024, "num_steps": 3000, "learning_rate": 0.02},
    "swap-attention": {
        "batch_size": 512,
        "num_steps": 3000,
        "learning_rate": 0.02,
        "objective": "block-swap-regret",
    },
    "transformer": {"batch_size": 256, "num_steps": 1200, "learning_rate": 0.001},
}


def default_recipe(model: str, *, settings: Mapping[str, Any] | None = None, **changes: Any) -> Recipe:
    """The recipe that `regret-envs train MODEL` uses, with changes.

    What follows from other settings is filled in: the logit scale d of swap attention trained in
    block form, the objective of the ball, and T as an input where T is drawn. The estimator is "sample"
    unless another is given.

    Args:
        model: a name in `MODELS`.
        settings: the model's settings.
        **changes: fields of `Recipe`.

    Raises:
        UnknownNameError: if there is no such model; lists the near matches.
        TypeError: if there is no such field.
        ValueError: as `Recipe.check`.
    """
    fields = {**lookup("model", model, _DEFAULTS), **changes}
    settings = dict(settings or {})
    if fields.get("objective") == "block-swap-regret":
        # The blocks of training are d times as large as those of play.
        settings.setdefault("logit_scale", float(fields.get("num_actions", 3)))
    if settings.get("domain") == "ball":
        fields.setdefault("objective", "ball-regret")
    if fields.get("min_horizon") is not None:
        if model == "transformer":
            settings.setdefault("horizon_input", True)
        else:
            middle = math.sqrt(fields["min_horizon"] * fields.get("horizon", 20))
            settings.setdefault("reference_horizon", round(middle))
    recipe = Recipe(model=model, settings=settings, **fields)
    recipe.check()
    return recipe


def make_model(recipe: Recipe) -> AttentionModel:
    """The untrained model, its parameters drawn from the recipe's seed.

    Raises:
        ValueError: if a setting is unknown (lists the near matches) or refused.
    """
    cls = lookup("model", recipe.model, MODELS)
    settings = dict(recipe.settings)
    known = set(inspect.signature(cls).parameters) - {"num_actions", "generator"}
    if recipe.model == "transformer":
        settings["horizon"] = recipe.horizon
    for key in settings:
        if key not in known:
            raise ValueError(f"{recipe.model} has no setting {key!r}: {near_matches(key, known)}")
    generator = torch.Generator().manual_seed(recipe.seed)
    try:
        return cls(recipe.num_actions, generator=generator, **settings)
    except TypeError as error:
        raise ValueError(f"{recipe.model}: {error}") from error


def training_world(recipe: Recipe) -> World:
    """The training distribution.

    Raises:
        ValueError: if there is no such stream (lists the near matches), a setting is wrong, or it
            has another number of actions.
    """
    d = recipe.num_actions
    if recipe.stream == SELF_PLAY:
        world: World = games.RandomGames([d, d], **recipe.stream_settings)
    else:
        name = recipe.stream.replace("-", "_")
        maker = lookup("stream", name, {**streams.STREAMS, SELF_PLAY: None})
        assert maker is not None
        settings: Mapping[str, Any] = recipe.stream_settings
        if "num_actions" in inspect.signature(maker).parameters:
            settings = {"num_actions": d, **settings}
        try:
            world = maker(**settings)
        except TypeError as error:
            raise ValueError(f"stream {recipe.stream}: {error}") from error
    seats = world.seats(world.default_seats())
    if set(seats) != {d}:
        raise ValueError(f"stream {recipe.stream} has {max(seats)} actions, the model {d}")
    return world
