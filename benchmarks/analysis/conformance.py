"""Conformance of an agent: what it must do to be run, what it had better do, and how to mend it."""

from __future__ import annotations

import pickle
import random
import traceback
from collections.abc import Callable
from typing import Literal

import msgspec
import numpy as np

from regret_envs.agents import Agent
from regret_envs.arrays import FloatArray
from regret_envs.metrics import off_simplex

Make = Callable[[], Agent]
Problem = tuple[int, int | None]
_PROBLEMS: tuple[Problem, ...] = ((3, 20), (3, None), (2, 6), (7, 6), (1, 6), (2, 1))


class Finding(msgspec.Struct, frozen=True):
    """What a check found.

    Attributes:
        what: what was looked at.
        status: "ok", "fails", or "advice": it can be run, but not all will be well.
        problem: what happened.
        mend: what to do about it.
    """

    what: str
    status: Literal["ok", "fails", "advice"]
    problem: str = ""
    mend: str = ""


class _Found(Exception):
    """A problem and how to mend it."""


def check(make: Make) -> list[Finding]:
    """Check an agent; one that does not play on the simplex is not checked any further.

    Args:
        make: makes it anew, each time alike.
    """
    agent = make()
    problems = [p for p in _PROBLEMS if agent.unsupported(p[0], horizon=p[1]) is None]
    if not problems:
        why = agent.unsupported(3, horizon=20)
        mend = "let unsupported() return None for the problems that the agent does play"
        return [Finding("plays some problem", "fails", f"none of {_PROBLEMS}: {why}", mend)]
    checks: tuple[tuple[Literal["fails", "advice"], Callable[[Make, Problem], None], bool], ...] = (
        ("fails", _plays, True),
        ("fails", _keeps_losses, False),
        ("fails", _starts_anew, False),
        ("fails", _draws_from_rng, False),
        ("fails", _takes_any_size, False),
        ("advice", _keeps_runs_apart, False),
        ("advice", _repeats_itself, False),
        ("advice", _pickles, False),
        ("advice", _shows_its_settings, False),
    )
    findings = []
    for severity, function, everywhere in checks:
        what = (function.__doc__ or "").rstrip(".")
        finding = Finding(what, "ok")
        for problem in problems if everywhere else problems[:1]:
            at = f"with {problem[0]} actions, horizon {problem[1]}"
            try:
                function(make, problem)
            except _Found as found:
                finding = Finding(what, severity, f"{at}: {found.args[0]}", found.args[1])
                break
            except Exception as error:
                where = traceback.extract_tb(error.__traceback__)[-1]
                said = f"{at}: {type(error).__name__}: {error} ({where.filename}:{where.lineno})"
                mend = "see the line named; regret_envs/agents/hedge.py shows how an agent may look"
                finding = Finding(what, severity, said, mend)
                break
        findings.append(finding)
        if function is _plays and finding.status != "ok":
            break  # what else is seen would be the same again
    return findings


def _losses(problem: Problem, num_runs: int = 3, seed: int = 0) -> FloatArray:
    return np.random.default_rng(seed).normal(size=(problem[1] or 6, num_runs, problem[0]))


def _play(agent: Agent, problem: Problem, losses: FloatArray, seed: int = 5) -> FloatArray:
    """Policies, the shape of `losses`, each checked as it comes."""
    rounds, num_runs, num_actions = losses.shape
    rng = np.random.default_rng(seed)
    agent.reset(num_actions, horizon=problem[1], num_runs=num_runs, rng=rng)
    policies = np.empty(losses.shape)
    for t in range(rounds):
        played = np.asarray(agent.act())
        if played.shape != (num_runs, num_actions):
            raise _Found(
                f"act() returned shape {played.shape} in round {t + 1} with {num_runs} runs",
                f"return one policy a run, shape (num_runs, num_actions) = {(num_runs, num_actions)}; for an "
                "agent written for one run subclass SingleRunAgent",
            )
        policies[t] = played
        if off_simplex(policies[t], axis=1).any():
            row = int(np.flatnonzero(off_simplex(policies[t], axis=1))[0])
            raise _Found(
                f"act() returned {policies[t, row]} in round {t + 1}, row {row}",
                "policies must be finite, not negative and sum to 1 within 1e-6: divide by the sum, and "
                "subtract the maximum before an exponential",
            )
        agent.observe(losses[t])
    return policies


def _plays(make: Make, problem: Problem) -> None:
    """plays on the simplex, for any number of actions and runs, the horizon known or not."""
    for num_runs in (3, 1):
        _play(make(), problem, _losses(problem, num_runs))


def _keeps_losses(make: Make, problem: Problem) -> None:
    """leaves the losses that it is shown as they are."""
    losses = _losses(problem)
    _play(make(), problem, losses)
    if not np.array_equal(losses, _losses(problem)):
        raise _Found("observe() changed the losses", "copy them first: losses = losses.copy()")


def _starts_anew(make: Make, problem: Problem) -> None:
    """starts anew when it is reset."""
    agent = make()
    first = _play(agent, problem, _losses(problem))
    _play(agent, problem, _losses(problem, seed=1))
    if not np.array_equal(_play(agent, problem, _losses(problem)), first):
        raise _Found("it played otherwise after a second reset", "set all state in reset(), none in __init__")


def _draws_from_rng(make: Make, problem: Problem) -> None:
    """takes all randomness from the generator that reset() is given."""
    saved, saved_numpy = random.getstate(), np.random.get_state()  # noqa: NPY002 - others' generators
    found = []
    try:
        for seed in (1, 2):
            random.seed(seed)
            np.random.seed(seed)  # noqa: NPY002
            found.append(_play(make(), problem, _losses(problem)))
    finally:
        random.setstate(saved)
        np.random.set_state(saved_numpy)  # noqa: NPY002
    if not np.array_equal(found[0], found[1]):
        raise _Found(
            "the same generator came to other policies",
            "draw from the rng of reset(); use neither random, numpy.random, the clock nor default_rng()",
        )


def _takes_any_size(make: Make, problem: Problem) -> None:
    """plays on the simplex whatever the size of the losses."""
    for scale in (0.0, 1e-12, 1e6):
        with np.errstate(all="ignore"):
            _play(make(), problem, scale * _losses(problem))


def _keeps_runs_apart(make: Make, problem: Problem) -> None:
    """plays a run the same alone and among others."""
    losses = _losses(problem)
    alone = _play(make(), problem, losses[:, 1:2])
    together = _play(make(), problem, losses)[:, 1:2]
    if not np.allclose(alone, together, rtol=0, atol=1e-9):
        raise _Found(
            "run 1 of 3 was played otherwise alone",
            "let row r of the policies depend on row r of the losses alone; an agent that draws numbers for "
            "all runs at once may leave this as it is",
        )


def _repeats_itself(make: Make, problem: Problem) -> None:
    """plays the same when asked twice before it is shown losses."""
    agent = make()
    _play(agent, problem, _losses(problem))
    if not np.array_equal(np.array(agent.act()), np.array(agent.act())):
        raise _Found(
            "a second call of act() returned other policies",
            "change state in observe(), not in act(): under delayed feedback act() comes more often",
        )


def _pickles(make: Make, problem: Problem) -> None:
    """can be pickled in the middle of play."""
    agent = make()
    _play(agent, problem, _losses(problem))
    expected = np.array(agent.act())
    try:
        copy: Agent = pickle.loads(pickle.dumps(agent))
    except Exception as error:
        raise _Found(
            f"{type(error).__name__}: {error}",
            "keep no lambdas, open files or generators of Python in attributes, else a long cell that is "
            "interrupted begins anew",
        ) from error
    if not np.array_equal(np.array(copy.act()), expected):
        raise _Found("the copy played otherwise", "keep all state in attributes of the agent")


def _shows_its_settings(make: Make, problem: Problem) -> None:
    """shows its settings in repr()."""
    if type(make()).__repr__ in (object.__repr__, Agent.__repr__):
        raise _Found(
            f"repr() is {make()!r}",
            "decorate the class with @dataclass(eq=False), settings as fields: errors name the agent so",
        )
