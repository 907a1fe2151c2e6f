"""`regret-envs train one-layer-transformer`: gradient descent on a regular language."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from regret_envs.rooms.regular_languages.transformer import OneLayerTransformer

_TASKS = ("even-pairs", "parity-cot")


@click.command("one-layer-transformer")
@click.option("--task", type=click.Choice(_TASKS), required=True)
@click.option(
    "--length", type=int, help="Longest sequence; of parity-cot, tokens.  [default: 6; parity-cot 4]"
)
@click.option("--steps", type=click.IntRange(min=0), default=10_000, show_default=True)
@click.option("--step-size", type=float, default=0.1, show_default=True, help="η.")
@click.option("--temperature", type=float, default=2.0, show_default=True, help="λ.")
@click.option(
    "--attention-steps",
    type=click.IntRange(min=0),
    default=100,
    show_default=True,
    help="t_0, steps with ηλ for attention; 0 is plain gradient descent.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The model's file.  [default: runs/one-layer-transformer-TASK.npz]",
)
@click.option("--overwrite", is_flag=True, help="Replace the file.")
def one_layer_transformer(
    task: str,
    length: int | None,
    steps: int,
    step_size: float,
    temperature: float,
    attention_steps: int,
    out: Path | None,
    overwrite: bool,
) -> None:
    """Even pairs, or parity by chain of thought.

    even-pairs: all sequences up to a length, +1 where the first token equals the last. parity-cot: the
    steps of a chain of thought, with the even pairs below its length as the regularizer. Full-batch
    gradient descent from zero, so it takes no seed. Ctrl-C saves.
    """
    import numpy as np

    from regret_envs.rooms.regular_languages.training import train
    from regret_envs.rooms.regular_languages.transformer import (
        OneLayerTransformer,
        even_pairs_set,
        parity_chain_set,
    )

    out = out or Path("runs", f"one-layer-transformer-{task}.npz")
    if out.exists() and not overwrite:
        raise click.UsageError(f"{out} is there already: give another --out, or --overwrite")
    length = length if length is not None else 6 if task == "even-pairs" else 4
    try:
        data = even_pairs_set(length) if task == "even-pairs" else parity_chain_set(length)
        model = OneLayerTransformer(data.max_length, temperature=temperature)
        trajectory = train(model, data, num_steps=steps, step_size=step_size, attention_steps=attention_steps)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    except FloatingPointError as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        _save(model, out)
        click.echo(f"interrupted: the model so far is in {out}", err=True)
        raise click.exceptions.Exit(130) from None
    _save(model, out)
    click.echo("   step        loss")
    powers = (10**n for n in range(len(str(steps))))
    for step in sorted({0, steps, *(power for power in powers if power < steps)}):
        click.echo(f"{step:7d}  {trajectory.losses[step]:10.6f}")
    first = trajectory.first_step_right
    right = np.count_nonzero(data.labels * model.outputs(data) > 0)
    since = "" if first is None else f", all of them from step {first} on"
    click.echo(f"{right} of {len(data)} sequences right{since}")
    truncate = task == "even-pairs"
    for tokens in range(2, length + 1) if truncate else [length]:
        click.echo(
            f"parity of {tokens} tokens by chain of thought: {_parity(model, tokens, truncate):.1%} right"
        )
    click.echo(f"the model is in {out}")


def _save(model: OneLayerTransformer, out: Path) -> None:
    out.parent.mkdir(parents=True, exist_ok=True)
    model.save(out)


def _parity(model: OneLayerTransformer, length: int, truncate: bool) -> float:
    from regret_envs.rooms.regular_languages import languages
    from regret_envs.rooms.regular_languages.transformer import chain_of_thought

    tokens = languages.sequences(length)
    answers = chain_of_thought(model, tokens, truncate=truncate)
    return float((answers == languages.parity(tokens)).mean())
