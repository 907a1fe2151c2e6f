"""`regret-envs inspect DIR`: what a checkpoint is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli.common import say

if TYPE_CHECKING:
    from regret_envs.agents.attention.inspection import Inspection
    from regret_envs.benchmarks.analysis.tables import Table


@click.command("inspect", short_help="Say what a checkpoint is and how it plays.")
@click.argument("folder", metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--format", "format_", type=click.Choice(["table", "json", "csv", "md"]), default="table")
@click.option(
    "--picture",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Of a Transformer's attention over rounds.  [default: DIR/attention.svg]",
)
def inspect_command(folder: Path, format_: str, picture: Path | None) -> None:
    """Say what a checkpoint is.

    The recipe; the learned V, up to what softmax does not see; its step size beside k*(d, T); how far it is
    in play from Hedge, or from Blum–Mansour for swap attention; for Transformers a picture of the attention.
    """
    try:
        from regret_envs.agents.attention import inspection
        from regret_envs.agents.attention.checkpoint import CheckpointError
        from regret_envs.agents.attention.transformer import Transformer
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in ("torch", "safetensors"):
            raise
        raise click.ClickException(
            f'{error.name} is not installed: pip install "regret-envs[torch]"'
        ) from None
    from regret_envs.benchmarks.analysis.tables import print_as

    try:
        found, model = inspection.inspect(folder)
    except CheckpointError as error:
        raise click.ClickException(str(error)) from None
    print_as(format_, found, [_recipe_table(found), *_learned_tables(found), _play_table(found)])
    if isinstance(model, Transformer):
        path = picture or folder / "attention.svg"
        weights = inspection.attention_weights(model, found.config)
        try:
            from regret_envs.benchmarks.plotting.attention import attention

            attention(weights, title=f"{found.config.recipe.model}, {found.losses}").savefig(path)
        except ModuleNotFoundError as error:
            if error.name != "matplotlib":
                raise
            lacking = (
                'without matplotlib there is no picture of the attention: pip install "regret-envs[plot]"'
            )
            if picture is not None:
                raise click.ClickException(lacking) from None
            say(lacking)
            return
        except OSError as error:
            raise click.ClickException(f"{path} cannot be written: {error.strerror or error}") from None
        say(f"the attention over rounds is drawn in {path}")
    elif picture is not None:
        raise click.UsageError(f"{found.config.recipe.model} has no attention over rounds to draw")


def _recipe_table(found: Inspection) -> Table:
    import msgspec

    from regret_envs.benchmarks.analysis.tables import Table

    recipe = found.config.recipe
    rows = [[field, _text(value)] for field, value in msgspec.structs.asdict(recipe).items()]
    rows += [
        ["final loss", f"{found.config.final_loss:.5g}"],
        ["made by", f"regret-envs {found.config.package_version}"],
    ]
    title = f"{recipe.model}, {recipe.num_actions} actions, {recipe.horizon} rounds: the recipe"
    return Table(title, ["what", "value"], rows)


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={setting}" for key, setting in value.items()) or "–"
    return "–" if value is None else str(value)


def _learned_tables(found: Inspection) -> list[Table]:
    from regret_envs.benchmarks.analysis.tables import Table

    tables = []
    for number, head in enumerate(found.learned):
        rows = [
            [str(i), *(f"{x:.4f}" for x in row), f"{head.value_bias[i]:.4f}", f"{head.score[i]:.4f}"]
            for i, row in enumerate(head.value)
        ]
        columns = ["action", *(f"V[·, {j}]" for j in range(len(head.value))), "v_c", "a"]
        title = "Learned parameters" + (
            f" of head {number}, on its own block" if len(found.learned) > 1 else ""
        )
        note = f"V differs from the nearest multiple of I − 11ᵀ/d by {head.away:.2%} of its norm."
        if head.others is not None:
            note += f" On the other heads' blocks it has {head.others:.2%} of its norm."
        if number == len(found.learned) - 1:
            note += (
                "\nLogits are the sum over rounds of (V ℓ + v_c)(1 + aᵀℓ); columns are centered where "
                "softmax follows, which ignores a number added to all logits."
            )
        tables.append(Table(title, columns, rows, numbers=len(columns) - 1, note=note))
    return tables


def _play_table(found: Inspection) -> Table:
    from regret_envs.benchmarks.analysis.tables import Table

    rows = []
    if found.step_size is not None:
        rows.append(["effective step size k", f"{found.step_size:.5f}", "–"])
    if found.theory is not None:
        scale = "d " if len(found.learned) > 1 else ""
        rows.append([f"{scale}k*(d, T) of theory", f"{found.theory:.5f}", f"{found.theory_error:.5f}"])
        assert found.step_size is not None
        off = found.step_size / found.theory - 1
        rows.append(
            ["k above k*", f"{off:+.2%}", f"{(1 + off) * (found.theory_error or 0) / found.theory:.2%}"]
        )
    rows += [
        [f"mass moved from {d.algorithm}", f"{d.moved:.3%}", f"{d.standard_error:.3%}"]
        for d in found.distances
    ]
    note = (
        f"On {found.losses}. Mass moved: mean total variation between the two policies, rounds t ≥ 2; its "
        "standard error is over sequences. k* minimizes the mean squared regret on unit Gaussian losses."
    )
    return Table("In play", ["what", "value", "standard error"], rows, numbers=2, note=note)
