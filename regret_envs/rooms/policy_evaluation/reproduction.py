"""Softmax Transformers do policy evaluation in context (arXiv 2605.07333)."""

from __future__ import annotations

from collections.abc import Sequence

from regret_envs.benchmarks.reproduce.checks import Options, Report
from regret_envs.rooms.policy_evaluation import theory_checks as theory
from regret_envs.rooms.policy_evaluation import training_checks as training

_NOTES = (
    "Independent: what a prototype measured; the paper, arXiv 2605.07333, was there without its numbers.",
    "MSVE is weighted by the stationary distribution; its standard errors are over processes, those of "
    "trained Transformers over training seeds.",
    "RMSVE is the root of a process's MSVE, and its mean over processes is shown.",
    "The distance to certainty equivalence is relative, in sup norm, over processes all of whose states were "
    "left; γ⁸⁰ = 2.2e-4 is what a perfectly sharp kernel would leave of it.",
    "The expected update at TD's own parameters is not 0: they are stationary in the limit of long contexts "
    "and many layers. At finite ones it undoes part of the bias that a blunt kernel leaves, and falls as "
    "both grow.",
    "Training follows the sampled transition S_n → S_{n+1}; expected updates average over it.",
)


def run(options: Options) -> Report:
    """Compute every row, write the curves and draw three figures."""
    options.say("equivalences, convergence and the error floor")
    floor = theory.error_floor(options)
    checks = [
        *theory.equivalences(),
        *theory.linear_special_case(),
        *theory.convergence(),
        *floor.checks,
        *theory.by_layers(),
    ]
    seeds = range(1 if options.quick else 4)
    near, far = (training.train_all(discount, seeds, options) for discount in (0.5, 0.9))
    checks += [*training.emergence(near), *training.beyond_td(far)]
    _draw(options, floor, (near, far))
    options.say("expected updates and regret")
    checks += [*training.expected_updates(near.transformers[0]), *training.regrets(near.transformers[0])]
    return Report(checks, _NOTES)


def _draw(options: Options, floor: theory.ErrorFloor, emerged: Sequence[training.Emerged]) -> None:
    """The figures, if matplotlib is there; the curves in any case."""
    curves = [training.layer_curves(e, options) for e in emerged]
    try:
        from regret_envs.rooms.policy_evaluation import figures as figures
    except ModuleNotFoundError as error:
        options.say(f'{error.name} is not installed, so nothing is drawn: pip install "regret-envs[plot]"')
        return
    figures.draw_floor(options.out, floor)
    figures.draw_layers(options.out, curves)
    figures.draw_parameters(
        options.out, {f"γ = {e.config.discount}, seed 0": e.transformers[0] for e in emerged}
    )
