"""Training of universal policies: regret of whole games and streams, minimized by gradient descent.

Features depend on the losses alone, so play is rolled out in NumPy without gradients, and the network
is then run over all rounds at once. Losses count as given: no gradient runs through opponents. Where losses
react to play, the policy therefore also imitates the expert with the least regret there, by
KL(expert ‖ policy): predictive regret matching+ in games, a slow Hedge against adversaries.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch

from regret_envs.agents.attention.log import summary_writer
from regret_envs.agents.universal.families import Family
from regret_envs.agents.universal.features import CONTEXT_FEATURES, EXPERTS, TOKEN_FEATURES, LossFeatures
from regret_envs.agents.universal.network import SHAPES, Network
from regret_envs.seeding import RunSeeds
from regret_envs.worlds import Game, Stream

Objective = Literal["external", "swap"]


@dataclass(frozen=True)
class UniversalRecipe:
    """How a universal policy is trained.

    Attributes:
        objective: the regret that is minimized.
        num_steps: gradient steps.
        num_tokens: rounds times runs times actions of a world that is drawn, about; at least 8 runs.
        batch: how many worlds a step learns from: a new one, and others from memory.
        memory: how many of the last streams are kept.
        reactive_memory: how many of the last games and adversaries are.
        learning_rate: the first one; it falls to 2 % of it along a cosine.
        average: decay of the average of the weights that is kept in the end.
        imitation: what the divergence from the imitated expert weighs, where losses react to play.
        seed: of everything.
    """

    objective: Objective = "external"
    num_steps: int = 1600
    num_tokens: int = 25_000
    batch: int = 5
    memory: int = 60
    reactive_memory: int = 5
    learning_rate: float = 2e-3
    average: float = 0.99
    imitation: float = 1.0
    seed: int = 0


@dataclass
class Rollout:
    """A seat's features and losses in some runs of a world.

    Shapes: tokens (T, R, d, F), context (T, R, C), experts (T, R, d, K), losses (T, R, d). `imitated` is the
    number of the expert that is imitated where losses react to play, None where they do not.
    """

    family: str
    tokens: torch.Tensor
    context: torch.Tensor
    experts: torch.Tensor
    losses: torch.Tensor
    imitated: int | None


_IN_GAMES = EXPERTS.index("predictive regret matching+")
_AGAINST_ADVERSARIES = EXPERTS.index("Hedge, 0.5 times the standard step")


def initial_parameters(seed: int) -> dict[str, torch.Tensor]:
    """Random weights; the network's proposal starts as Hedge and has a quarter of the mixture."""
    rng = np.random.default_rng(seed)
    parameters = {}
    for name, shape in SHAPES.items():
        fan = shape[-1] * (3 if name.startswith(("context", "pooled")) else 1)
        value = rng.standard_normal(shape) / math.sqrt(fan) if len(shape) == 2 else np.zeros(shape)
        parameters[name] = torch.tensor(value, dtype=torch.float32)
    parameters["gate_out"] *= 0.1
    parameters["logit_direct"][0] = -1.5
    return {name: value.requires_grad_() for name, value in parameters.items()}


def network(
    p: Mapping[str, torch.Tensor], tokens: torch.Tensor, context: torch.Tensor, experts: torch.Tensor
) -> torch.Tensor:
    """`universal.network.Network` with gradients; shapes as in `Rollout`, returns (T, R, d)."""
    hidden = torch.relu(tokens @ p["token_in"].T + (context @ p["context_in"].T + p["bias_in"])[..., None, :])
    shared = _pooled(hidden) @ p["pooled_mid"].T + context @ p["context_mid"].T + p["bias_mid"]
    hidden = torch.relu(hidden @ p["token_mid"].T + shared[..., None, :])
    gate = torch.relu(_pooled(hidden) @ p["pooled_gate"].T + context @ p["context_gate"].T + p["bias_gate"])
    gate = torch.softmax(gate @ p["gate_out"].T + p["bias_out"], -1)
    proposal = torch.softmax(hidden @ p["logit_token"] + tokens @ p["logit_direct"], -1)
    played = gate[..., :1] * proposal + gate[..., -1:] / tokens.shape[-2]
    return played + (experts @ gate[..., 1:-1, None]).squeeze(-1)


def _pooled(hidden: torch.Tensor) -> torch.Tensor:
    return torch.cat([hidden.mean(-2), hidden.amax(-2)], -1)


def normalized_regret(played: torch.Tensor, losses: torch.Tensor, objective: Objective) -> torch.Tensor:
    """The regret of every run over 1.5 · σ · sqrt(T ln d / 2), σ the runs' root-mean-square loss, shape (R,).

    σ is of the losses centered over the actions; losses in {0, 1} with mean 1/2 have σ = 1/2.
    """
    horizon, _, d = losses.shape
    scale = torch.sqrt((losses**2).mean() * d / (d - 1)) * 1.5 * math.sqrt(horizon * math.log(d) / 2)
    if objective == "swap":
        matrix = torch.einsum("tri,trj->rij", played, losses)
        regret = (torch.diagonal(matrix, dim1=1, dim2=2) - matrix.amin(2)).sum(1)
    else:
        regret = (played * losses).sum((0, 2)) - losses.sum(0).amin(1)
    return regret / (scale + 1e-12)


def loss(regret: torch.Tensor) -> torch.Tensor:
    """r₊ + r₊²/8 − log(1 + r₋): a negative regret is worth having, but not at the price of a bad case."""
    return torch.relu(regret) + torch.relu(regret) ** 2 / 8 - torch.log1p(torch.relu(-regret))


def divergence(expert: torch.Tensor, played: torch.Tensor) -> torch.Tensor:
    """KL(expert ‖ played), the mean over rounds and runs; policies of shape (T, R, d)."""
    return (expert * (torch.log(expert + 1e-9) - torch.log(played + 1e-9))).sum(-1).mean()


def roll_out(
    family: Family, parameters: Mapping[str, np.ndarray], rng: np.random.Generator, num_tokens: int
) -> list[Rollout]:
    """Play a world that is drawn from the family, in self-play where it is a game; one entry per seat."""
    world, horizon, starting_scale = family.sample(rng)
    seats = world.seats(world.default_seats())
    num_runs = int(np.clip(num_tokens / (horizon * sum(seats)), 8, 64))
    seeds = RunSeeds(int(rng.integers(1 << 31)), num_runs)
    episode = world.start(num_agents=len(seats), horizon=horizon, seeds=seeds)
    told = horizon if rng.random() < 0.5 else None
    features = [LossFeatures(d, told, num_runs) for d in seats]
    if starting_scale:
        for f in features:
            f.observe(starting_scale * rng.standard_normal((f.num_actions, num_runs)))
    kept = [_Kept(horizon, num_runs, d) for d in seats]
    network, reacts = Network(parameters), not isinstance(world, Stream)
    for t in range(horizon):
        if reacts:
            played = [np.ascontiguousarray(network.policies(f).T) for f in features]
        else:
            played = [np.full((num_runs, d), 1.0 / d) for d in seats]
        for f, k in zip(features, kept, strict=True):
            k.tokens[t], k.context[t], k.experts[t] = (
                f.tokens.transpose(2, 1, 0),
                f.context.T,
                f.experts.transpose(2, 1, 0),
            )
        for f, k, answer in zip(features, kept, episode.step(played), strict=True):
            k.losses[t] = answer - answer.mean(1, keepdims=True)
            f.observe(answer.T)
    imitated = None if not reacts else _IN_GAMES if isinstance(world, Game) else _AGAINST_ADVERSARIES
    return [k.rollout(family.name, imitated) for k in kept if k.losses.shape[2] > 1]


class _Kept:
    def __init__(self, horizon: int, num_runs: int, d: int) -> None:
        shape = (horizon, num_runs)
        self.tokens = np.empty((*shape, d, len(TOKEN_FEATURES)), np.float32)
        self.context = np.empty((*shape, len(CONTEXT_FEATURES)), np.float32)
        self.experts = np.empty((*shape, d, len(EXPERTS)), np.float32)
        self.losses = np.empty((*shape, d), np.float32)

    def rollout(self, family: str, imitated: int | None) -> Rollout:
        arrays = (self.tokens, self.context, self.experts, self.losses)
        tokens, context, experts, losses = map(torch.from_numpy, arrays)
        return Rollout(family, tokens, context, experts, losses, imitated)


def as_numpy(parameters: Mapping[str, torch.Tensor]) -> dict[str, np.ndarray]:
    """The parameters as float64 arrays."""
    return {name: value.detach().double().numpy() for name, value in parameters.items()}


def evaluate(
    families: Sequence[Family],
    parameters: Mapping[str, torch.Tensor],
    objective: Objective,
    *,
    num_tokens: int = 25_000,
    seed: int = 1_000_000,
) -> dict[str, float]:
    """The mean normalized regret on three held-out worlds of every family, the same ones each time."""
    found = {}
    with torch.no_grad():
        for i, family in enumerate(families):
            rng = np.random.default_rng([seed, i])
            seats = [s for _ in range(3) for s in roll_out(family, as_numpy(parameters), rng, num_tokens)]
            values = [
                normalized_regret(
                    network(parameters, s.tokens, s.context, s.experts), s.losses, objective
                ).mean()
                for s in seats
            ]
            found[family.name] = float(np.mean([float(v) for v in values]))
    return found


def train(
    recipe: UniversalRecipe,
    families: Sequence[Family],
    out: Path,
    *,
    say: Callable[[str], None] = print,
    evaluate_every: int = 200,
    resume: bool = False,
    tensorboard: bool = False,
) -> dict[str, torch.Tensor]:
    """Train, and write `weights.npz` (the averaged weights) and `log.csv` to a folder as training goes on.

    Args:
        recipe: how.
        families: on what.
        out: the folder.
        say: shows a line at every evaluation.
        evaluate_every: steps between evaluations, at which everything is saved.
        resume: go on from what is saved in the folder. The worlds in memory are not saved, so that what comes
            differs from an uninterrupted training in its draws.
        tensorboard: whether to write the same as scalars for TensorBoard, to `out/tensorboard`.

    Returns:
        The averaged weights.

    Raises:
        FileNotFoundError: if there is nothing to go on from.
        ImportError: if TensorBoard is asked for and not installed; names the extra.
    """
    out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(recipe.seed)
    parameters = initial_parameters(recipe.seed)
    average = {name: value.detach().clone() for name, value in parameters.items()}
    optimizer = torch.optim.Adam(parameters.values(), lr=recipe.learning_rate, betas=(0.9, 0.99))
    # What reacts answered the policy of its time: learning from an old answer runs in circles.
    pools: dict[bool, list[list[Rollout]]] = {False: [], True: []}
    keep = {False: recipe.memory, True: recipe.reactive_memory}
    first, recent = 1, 0.0
    if resume:
        saved = torch.load(out / STATE_FILE, weights_only=True)
        first, recent = saved["step"] + 1, saved["recent"]
        rng = np.random.default_rng([recipe.seed, first])
        optimizer.load_state_dict(saved["optimizer"])
        with torch.no_grad():
            for name in SHAPES:
                parameters[name].copy_(saved["parameters"][name])
                average[name].copy_(saved["average"][name])
    scalars = summary_writer(out / "tensorboard", first - 1) if tensorboard else None
    with (out / LOG_FILE).open("a" if resume else "w", newline="") as file:
        log = csv.writer(file)
        if not resume:
            log.writerow(["step", "loss", *(family.name for family in families)])
        for step in range(first, recipe.num_steps + 1):
            fresh = roll_out(_choose(families, rng), as_numpy(parameters), rng, recipe.num_tokens)
            reacts = fresh[0].imitated is not None
            pool = pools[reacts]
            pool.append(fresh)
            del pool[: -keep[reacts]]
            decay = 0.02 + 0.98 * (1 + math.cos(math.pi * step / recipe.num_steps)) / 2
            for group in optimizer.param_groups:
                group["lr"] = min(1.0, step / 50) * recipe.learning_rate * decay
            optimizer.zero_grad()
            drawn = [fresh, *(_recall(pools, rng) for _ in range(recipe.batch - 1))]
            total = sum(_backward(parameters, seats, recipe) for seats in drawn)
            torch.nn.utils.clip_grad_norm_(parameters.values(), 0.5)
            optimizer.step()
            recent = total if step == 1 else 0.98 * recent + 0.02 * total
            with torch.no_grad():
                for name, value in parameters.items():
                    average[name].lerp_(value, 1 - recipe.average)
            if step % evaluate_every == 0 or step == recipe.num_steps:
                found = evaluate(families, average, recipe.objective, num_tokens=recipe.num_tokens)
                log.writerow([step, f"{recent:.4f}", *(f"{value:.4f}" for value in found.values())])
                file.flush()
                if scalars is not None:
                    scalars.add_scalar("loss", recent, step)
                    for name, regret in found.items():
                        scalars.add_scalar(f"regret/{name}", regret, step)
                    scalars.flush()
                np.savez(out / WEIGHTS_FILE, allow_pickle=False, **{k: v.numpy() for k, v in average.items()})
                state = {"step": step, "recent": recent, "optimizer": optimizer.state_dict()}
                torch.save(state | {"parameters": parameters, "average": average}, out / STATE_FILE)
                say(f"step {step}: loss {recent:.3f}, " + ", ".join(f"{k} {v:.2f}" for k, v in found.items()))
    return average


WEIGHTS_FILE, LOG_FILE, STATE_FILE = "weights.npz", "log.csv", "state.pt"


def _choose(families: Sequence[Family], rng: np.random.Generator) -> Family:
    weights = np.array([family.weight for family in families])
    return families[rng.choice(len(families), p=weights / weights.sum())]


def _recall(pools: Mapping[bool, list[list[Rollout]]], rng: np.random.Generator) -> list[Rollout]:
    """A world from memory, a stream or not with probability 1/2 each where there are both."""
    filled = [pool for pool in pools.values() if pool]
    pool = filled[rng.integers(len(filled))]
    return pool[rng.integers(len(pool))]


def _backward(
    parameters: Mapping[str, torch.Tensor], seats: Sequence[Rollout], recipe: UniversalRecipe
) -> float:
    """Add the gradient of a world's share of the loss; the share."""
    total = 0.0
    for seat in seats:
        played = network(parameters, seat.tokens, seat.context, seat.experts)
        value = loss(normalized_regret(played, seat.losses, recipe.objective)).mean()
        if seat.imitated is not None:
            value = value + recipe.imitation * divergence(seat.experts[..., seat.imitated], played)
        share = value / (recipe.batch * len(seats))
        share.backward()
        total += share.item()
    return total
