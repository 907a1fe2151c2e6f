"""`regret-envs train MODEL`: train attention with regret loss and write a checkpoint."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from regret_envs.benchmarks.cli.logs import log_level_option
from regret_envs.rooms import rooms

if TYPE_CHECKING:
    from regret_envs.agents.attention.recipe import Recipe
    from regret_envs.agents.attention.training import Progress

Command = Callable[..., None]


def _steps(context: click.Context, parameter: click.Parameter, value: str | None) -> list[int]:
    try:
        return [] if value is None else [int(step) for step in value.split(",")]
    except ValueError:
        raise click.BadParameter(f"steps separated by commas, such as 20,40,80, not {value!r}") from None


# Every option's destination is a field of `Recipe` or a setting of the model, and its default is None, so
# that options that were not given can be told apart.
_COMMON = [
    click.option("--actions", "num_actions", type=int, help="d.  [default: 3]"),
    click.option("--horizon", type=int, help="T.  [default: 20]"),
    click.option("--min-horizon", type=int, help="Draw T from here to --horizon; T becomes an input."),
    click.option("--seed", type=click.IntRange(min=0), help="[default: 0]"),
    click.option(
        "--stream",
        help='Training losses: a stream, with settings in brackets: "biased-gaussian[bias_scale=0.5]"; or '
        '"self-play", in random games.  [default: gaussian]',
    ),
    click.option(
        "--h", type=click.Choice(["square", "positive-square", "exponential"]), help="[default: square]"
    ),
    click.option("--worst-of", type=int, help="N of the worst-case surrogate.  [default: 1, the mean]"),
    click.option("--temperature", type=float, help="Of the surrogate.  [default: 1]"),
    click.option(
        "--estimator",
        type=click.Choice(["sample", "hindsight"]),
        help="Of the mean square: sampled, or, with less noise, for unit Gaussian losses.  [default: sample]",
    ),
    click.option("--feedback", type=click.Choice(["full", "bandit", "delayed"]), help="[default: full]"),
    click.option("--implicit-exploration", type=float, help="Of bandit feedback.  [default: 0.1]"),
    click.option("--delay", type=int, help="Rounds that delayed feedback is late.  [default: 1]"),
    click.option("--steps", "num_steps", type=int, help="[default: 3000; transformer 1200]"),
    click.option("--batch-size", type=int, help="[default: 1024; swap-attention 512, transformer 256]"),
    click.option("--optimizer", type=click.Choice(["adam", "adamw", "sgd"]), help="[default: adam]"),
    click.option("--learning-rate", type=float, help="[default: 0.02; transformer 0.001]"),
    click.option(
        "--schedule",
        type=click.Choice(["constant", "linear", "cosine"]),
        help="Of the learning rate.  [default: cosine]",
    ),
    click.option("--warm-up", type=int, help="Steps over which the learning rate rises.  [default: 20]"),
    click.option("--keep", callback=_steps, help="Also keep the model after these steps: 20,40,80."),
    click.option("--device", default="cpu", show_default=True, help="Any torch device."),
    click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="CPU threads."),
    click.option(
        "--out", type=click.Path(file_okay=False, path_type=Path), help="[default: runs/MODEL-dD-tT-seedS]"
    ),
    click.option("--tensorboard", is_flag=True, help="Write scalars for TensorBoard (extra tensorboard)."),
    log_level_option,
    click.option("--resume", is_flag=True, help="Resume an interrupted training."),
    click.option("--overwrite", is_flag=True, help="Overwrite what is in --out."),
]


def _common(command: Command) -> Command:
    for option in reversed(_COMMON):
        command = option(command)
    return command


_objective = click.option(
    "--objective",
    type=click.Choice(["regret", "swap-regret", "block-swap-regret"]),
    help="[default: regret; swap-attention block-swap-regret]",
)


@click.group(short_help="Train a model and write a checkpoint.")
def train() -> None:
    """Train attention with regret loss and write a checkpoint; or train a model of a side room.

    The checkpoint plays as the agent "checkpoint:DIR". Ctrl-C saves the training; --resume continues it.
    """


for _room in rooms().values():
    for _name, _target in _room.train_commands.items():
        _module, _, _attribute = _target.partition(":")
        train.add_command(getattr(importlib.import_module(_module), _attribute), _name)


@train.command("linear-attention")
@click.option("--form", type=click.Choice(["reduced", "full"]), help="[default: reduced]")
@click.option("--operator", type=click.Choice(["softmax", "identity"]), help="[default: softmax]")
@click.option("--domain", type=click.Choice(["simplex", "ball"]), help="Of the identity.  [default: simplex]")
@click.option("--init-scale", type=float, help="Of the random parameters.  [default: 0.1]")
@_common
def linear_attention(**options: Any) -> None:
    """Single-layer linear self-attention, trained with regret loss."""
    _train("linear-attention", options, ("form", "operator", "domain", "init_scale"))


@train.command("swap-attention")
@click.option("--form", type=click.Choice(["full", "block"]), help="[default: full]")
@click.option(
    "--fixed-point", type=click.Choice(["implicit", "unrolled", "tree"]), help="[default: implicit]"
)
@click.option("--num-iterations", type=int, help="Of the unrolled fixed point.  [default: 200]")
@click.option("--init-scale", type=float, help="Of the random parameters.  [default: 0.1]")
@_objective
@_common
def swap_attention(**options: Any) -> None:
    """One head per action and a fixed point, trained with swap-regret loss."""
    _train("swap-attention", options, ("form", "fixed_point", "num_iterations", "init_scale"))


@train.command("transformer")
@click.option("--layers", type=int, help="[default: 2]")
@click.option("--heads", type=int, help="[default: 4]")
@click.option("--width", type=int, help="[default: 32]")
@click.option("--mlp-ratio", type=int, help="Hidden units over width; 0 for attention alone.  [default: 4]")
@click.option("--normalization", type=click.Choice(["none", "pre", "post"]), help="[default: pre]")
@click.option("--positions", type=click.Choice(["none", "learned"]), help="[default: none]")
@_objective
@_common
def transformer(**options: Any) -> None:
    """Causal softmax Transformer, trained with regret loss."""
    names = ("layers", "heads", "width", "mlp_ratio", "normalization", "positions")
    _train("transformer", options, names)


@train.command("universal")
@click.option("--objective", type=click.Choice(["external", "swap"]), default="external", show_default=True)
@click.option(
    "--families",
    type=click.Path(dir_okay=False, path_type=Path),
    help="TOML file of what it is trained on.  [default: what the shipped ones were trained on]",
)
@click.option("--steps", type=click.IntRange(min=1), help="[default: 1600]")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="CPU threads.")
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    help="[default: runs/universal-OBJECTIVE-seedS]",
)
@click.option("--tensorboard", is_flag=True, help="Write scalars for TensorBoard (extra tensorboard).")
@click.option("--resume", is_flag=True, help="Go on with the training in --out.")
@click.option("--overwrite", is_flag=True, help="Begin anew where --out holds one.")
def universal(
    objective: Any,
    families: Path | None,
    steps: int | None,
    seed: int,
    threads: int,
    out: Path | None,
    tensorboard: bool,
    resume: bool,
    overwrite: bool,
) -> None:
    """A policy for any number of actions and rounds, trained on many kinds of worlds.

    Writes weights.npz, which plays as "universal[weights=DIR/weights.npz]", and log.csv: the normalized
    regret in every family on worlds that it is not trained on, every 200 steps.
    """
    torch = _torch()

    from regret_envs.agents.attention import universal
    from regret_envs.agents.universal.families import BUILT_IN, read_families

    torch.set_num_threads(threads)
    out = out or Path("runs", f"universal-{objective}-seed{seed}")
    state = out / universal.STATE_FILE
    if resume and not state.exists():
        raise click.UsageError(f"there is no training to go on with in {out}")
    if state.exists() and not (resume or overwrite):
        raise click.UsageError(f"{out} holds a training already: give --resume, --overwrite or another --out")
    recipe = universal.UniversalRecipe(objective=objective, seed=seed)
    if steps is not None:
        recipe = dataclasses.replace(recipe, num_steps=steps)
    try:
        worlds = read_families(families or BUILT_IN)
    except ValueError as error:
        raise click.UsageError(str(error)) from None
    try:
        universal.train(
            recipe,
            worlds,
            out,
            say=lambda line: click.echo(line, err=True),
            resume=resume,
            tensorboard=tensorboard,
        )
    except ImportError as error:
        raise click.UsageError(str(error)) from None
    except KeyboardInterrupt:
        click.echo(f"interrupted: go on with --out {out} --resume", err=True)
        raise click.exceptions.Exit(130) from None
    click.echo(f'it plays as "universal[weights={out / universal.WEIGHTS_FILE}]"')


def _torch() -> Any:
    """PyTorch, or an error that says what to install."""
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError:
        raise click.ClickException('torch is not installed: pip install "regret-envs[torch]"') from None


def _train(model: str, options: dict[str, Any], of_model: tuple[str, ...]) -> None:
    torch = _torch()

    from regret_envs.agents.attention import checkpoint, log, training

    device, threads, out = options.pop("device"), options.pop("threads"), options.pop("out")
    resume, overwrite, keep = options.pop("resume"), options.pop("overwrite"), options.pop("keep")
    tensorboard = options.pop("tensorboard")
    given = {name: value for name, value in options.items() if value is not None}
    settings = {name: given.pop(name) for name in of_model if name in given}
    torch.set_num_threads(threads)
    try:
        recipe = _recipe(model, given, settings)
        if out is None:
            out = Path("runs", f"{model}-d{recipe.num_actions}-t{recipe.horizon}-seed{recipe.seed}")
        if resume:
            saved = checkpoint.saved_recipe(out)
            _agree(saved, recipe, model, given, settings, out)
            recipe = saved
        elif not overwrite:
            for name, hint in (
                (checkpoint.STATE_FILE, "--resume to continue, "),
                (checkpoint.CONFIG_FILE, ""),
            ):
                if (out / name).exists():
                    raise click.UsageError(
                        f"{out} already holds a training ({name}): give {hint}another --out, or --overwrite"
                    )
        with _Bar() as bar:
            config = training.train(
                recipe,
                out,
                device=device,
                resume=resume,
                keep=keep,
                tensorboard=tensorboard,
                progress=bar,
            )
    except KeyboardInterrupt:
        click.echo(
            f"interrupted: the training is saved in {out}; continue with --out {out} --resume", err=True
        )
        raise click.exceptions.Exit(130) from None
    except (ValueError, TypeError, ImportError) as error:
        raise click.UsageError(str(error)) from None
    except training.DivergedError as error:
        raise click.ClickException(str(error)) from None
    step = "" if config.step_size is None else f", step size {config.step_size:.4f}"
    click.echo(f"final loss {config.final_loss:.4f}{step}")
    click.echo(f"{out / log.LOG_FILE} says what happened; regret-envs plot --training {out} draws it")
    click.echo(f'{out} plays as "checkpoint:{out}"')


def _recipe(model: str, given: dict[str, Any], settings: dict[str, Any]) -> Recipe:
    from regret_envs.agents import registry
    from regret_envs.agents.attention.recipe import default_recipe

    fields = dict(given)
    if "stream" in fields:
        fields["stream"], fields["stream_settings"] = registry.parse(fields["stream"])
    return default_recipe(model, settings=settings, **fields)


def _agree(
    saved: Recipe, recipe: Recipe, model: str, given: dict[str, Any], settings: dict[str, Any], out: Path
) -> None:
    """Options given along with --resume must be those that the training was started with."""
    differ = [name for name in given if getattr(saved, name) != getattr(recipe, name)]
    differ += [name for name in settings if saved.settings.get(name) != settings[name]]
    if saved.model != model:
        differ.insert(0, "model")
    if differ:
        raise click.UsageError(f"the training in {out} was started with a different {', '.join(differ)}")


class _Bar:
    """Loss, fitted step size and seconds left, on standard error if that is a terminal."""

    def __init__(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn

        console = Console(stderr=True)
        self._bar = Progress(
            TextColumn("step {task.completed}"),
            BarColumn(bar_width=20),
            TextColumn("{task.description}"),
            console=console,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None)

    def __call__(self, progress: Progress) -> None:
        text = (
            f"loss {progress.loss:.4g}  step size {progress.step_size:.4f}  "
            f"{progress.seconds_left:.0f} s left"
        )
        self._bar.update(self._task, total=progress.num_steps, completed=progress.step, description=text)

    def __enter__(self) -> _Bar:
        self._bar.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._bar.stop()
