"""`regret-envs train softmax-td`: train the softmax Transformer of in-context policy evaluation."""

from __future__ import annotations

import sys
from pathlib import Path

import click


@click.command("softmax-td")
@click.option(
    "--layers", "num_layers", type=int, default=10, show_default=True, help="L; they share parameters."
)
@click.option("--discount", type=float, default=0.5, show_default=True, help="γ.")
@click.option("--states", "num_states", type=int, default=5, show_default=True, help="Of the processes.")
@click.option("--features", type=click.Choice(["random", "one_hot"]), default="random", show_default=True)
@click.option("--num-features", type=int, default=5, show_default=True, help="Of random features.")
@click.option("--context-length", type=int, default=50, show_default=True, help="n, transitions in context.")
@click.option("--steps", "num_steps", type=int, default=1500, show_default=True, help="Optimiser steps.")
@click.option("--batch-size", type=int, default=64, show_default=True, help="Fresh processes a step.")
@click.option("--learning-rate", type=float, default=0.01, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="CPU threads.")
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), help="[default: runs/softmax-td-lL-gγ-seedS]"
)
@click.option("--overwrite", is_flag=True, help="Replace what is in --out.")
def softmax_td(threads: int, out: Path | None, overwrite: bool, **settings: int | float | str) -> None:
    """Softmax Transformer, trained by TD to evaluate policies in context.

    `load` of `regret_envs.rooms.policy_evaluation.checkpoint` reads the checkpoint; it
    estimates values and is not an agent of the leaderboard.
    """
    import numpy as np

    from regret_envs.rooms.policy_evaluation.softmax_td import SoftmaxTransformer

    try:
        import torch

        from regret_envs.agents.attention.checkpoint import CONFIG_FILE
        from regret_envs.rooms.policy_evaluation import checkpoint as checkpoint
        from regret_envs.rooms.policy_evaluation.training import SoftmaxTDTraining, train
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f'{error.name} is not installed: pip install "regret-envs[torch]"'
        ) from error

    torch.set_num_threads(threads)
    if out is None:
        name = "softmax-td-l{num_layers}-g{discount}-seed{seed}".format(**settings)
        out = Path("runs", name)
    if (out / CONFIG_FILE).exists() and not overwrite:
        raise click.UsageError(f"{out} holds a training already: give another --out, or --overwrite")
    try:
        config = SoftmaxTDTraining(**settings)  # type: ignore[arg-type]
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    with click.progressbar(length=config.num_steps, label="steps", file=sys.stderr) as bar:
        try:
            transformer = train(config, progress=lambda step, loss: bar.update(1))
        except FloatingPointError as error:
            raise click.ClickException(str(error)) from None
    checkpoint.save(out, transformer, config)

    rng = np.random.default_rng([config.seed, 1])
    fresh = config.processes(1000, rng=rng).sample(config.context_length, rng=rng)
    constructed = SoftmaxTransformer.construct(transformer.num_features, num_layers=config.num_layers)
    errors = {
        "trained": transformer.state_values(fresh)[-1],
        "constructed, τ = 6": constructed.state_values(fresh)[-1],
        "zero": np.zeros_like(fresh.process.values),
        "certainty equivalence": fresh.certainty_equivalence,
    }
    attention, weights = transformer.attention, transformer.value_weights
    cosine = np.trace(attention) / np.linalg.norm(attention) / np.sqrt(len(attention))
    click.echo("V, (reward, target, value): " + ", ".join(f"{w:.3f}" for w in weights))
    click.echo(f"cosine of A with the identity: {cosine:.4f}")
    for name, estimates in errors.items():
        click.echo(f"MSVE {name}: {fresh.process.mean_square_value_error(estimates).mean():.4g}")
    click.echo(f"the checkpoint is in {out}")
