"""What an agent must do to be run, what it had better do, and how to fix it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Protocol

import numpy as np

from regret_envs.arrays import FloatArray
from regret_envs.forks import forks_end
from regret_envs.simplex import off_simplex
from regret_envs.testing.findings import Check, Finding, Problem, described, find, global_seed, shown


class AgentLike(Protocol):
    """The part of `regret_envs.agents.Agent` that the checks use."""

    def reset(
        self, num_actions: int, *, horizon: int | None, num_runs: int, rng: np.random.Generator
    ) -> None:
        """Begin `num_runs` runs."""

    def act(self) -> FloatArray:
        """The policies of the round."""

    def observe(self, losses: FloatArray) -> None:
        """Take in the losses of the round."""

    def unsupported(self, num_actions: int, *, horizon: int | None) -> str | None:
        """Why such a problem cannot be played."""


Make = Callable[[], AgentLike]
# Numbers of actions and horizons; None is a horizon that the agent is not told.
Size = tuple[int, int | None]
SIZES: tuple[Size, ...] = ((3, 20), (3, None), (2, 6), (7, 6), (1, 6), (2, 1))
HINT = "see the line named; `Agent` in regret_envs/agents/base.py says what each method is given"


def check_agent(agent: AgentLike | Make, *, raises: bool = True) -> list[Finding]:
    """Check that an agent does what it must to be run, and what it had better do.

    It must play on the simplex for any number of actions and runs that it supports, with the horizon known
    or not, leave losses as they are, start anew at `reset`, and draw all randomness from the generator it is
    given. It had better treat runs alike, bear being asked twice (delayed feedback does that), pickle in
    the middle of play, and name its settings.

    Args:
        agent: a class or function that makes the agent anew, each time alike; or an unplayed agent, to copy.
        raises: whether to raise on failure rather than to return.

    Returns:
        What was found; an agent that does not play on the simplex is not checked any further.

    Raises:
        ConformanceError: if a check fails and `raises` is set; lists every failure. Advice never raises.
    """
    made_anew = isinstance(agent, type) or not hasattr(agent, "act")
    make: Make = agent if made_anew else partial(copy.deepcopy, agent)  # type: ignore[assignment]
    return find(shown(make()), agent_checks(make), HINT, raises=raises)


def agent_checks(make: Make) -> list[Check]:
    """The checks of `check_agent`, in their order.

    Args:
        make: makes the agent anew.
    """
    try:
        sizes = _sizes(make())
    except Problem as problem:
        return [Check(partial(_raise, problem), "plays some problem")]
    size = sizes[0]
    return [
        Check(
            partial(_plays, make, sizes),
            "plays on the simplex, for any number of actions and runs, the horizon known or not",
            decisive=True,
        ),
        Check(partial(_keeps_losses, make, size), "leaves the losses that it is shown as they are"),
        Check(partial(_starts_anew, make, size), "starts anew when it is reset"),
        Check(
            partial(_draws_from_rng, make, size),
            "takes all randomness from the generator that reset() is given",
        ),
        Check(partial(_takes_any_scale, make, size), "plays on the simplex whatever the scale of the losses"),
        Check(
            partial(_takes_ranges, make, size),
            "plays on the simplex out of the range that it assumes, and alike in any range that it is told",
        ),
        Check(partial(_keeps_runs_apart, make, size), "plays a run alike alone and among others", "advice"),
        Check(
            partial(_takes_delay, make, size),
            "plays the same when asked again before it is shown losses",
            "advice",
        ),
        Check(partial(_pickles, make, size), "can be pickled in the middle of play", "advice"),
        Check(partial(_shows_its_settings, make), "shows its settings in repr()", "advice"),
    ]


def _raise(problem: Problem) -> None:
    raise problem


def _sizes(sample: AgentLike) -> list[Size]:
    """The problems that the agent says it plays."""
    try:
        why = {size: sample.unsupported(size[0], horizon=size[1]) for size in SIZES}
    except Exception as error:
        raise Problem(
            f"unsupported() raised {described(error)}", "let it return the reason, or None without one"
        ) from error
    sizes = [size for size, reason in why.items() if reason is None]
    if not sizes:
        raise Problem(
            f"none of {SIZES}: {why[SIZES[0]]}",
            "let unsupported() return None for the problems that the agent does play",
        )
    return sizes


def _losses(size: Size, num_runs: int = 3, seed: int = 0) -> FloatArray:
    """Shape (rounds, num_runs, num_actions)."""
    return np.random.default_rng(seed).normal(size=(size[1] or 6, num_runs, size[0]))


def _begin(agent: AgentLike, size: Size, num_runs: int) -> AgentLike:
    agent.reset(size[0], horizon=size[1], num_runs=num_runs, rng=np.random.default_rng(5))
    return agent


@forks_end()
def _play_on(agent: AgentLike, losses: FloatArray) -> FloatArray:
    """Policies, the shape of `losses`, each checked as it comes."""
    _, num_runs, num_actions = losses.shape
    policies = np.empty(losses.shape)
    for t, row in enumerate(losses):
        played = np.asarray(agent.act())
        if played.shape != (num_runs, num_actions):
            raise Problem(
                f"act() returned shape {played.shape} in round {t + 1} with {num_runs} runs",
                f"return one policy per run, shape (num_runs, num_actions) = {(num_runs, num_actions)}; for "
                "an agent written for one run subclass SingleRunAgent",
            )
        policies[t] = played
        off = off_simplex(policies[t], axis=1)
        if off.any():
            run = int(np.flatnonzero(off)[0])
            raise Problem(
                f"act() returned {policies[t, run]} in round {t + 1}, row {run}",
                "policies must be finite, not negative and sum to 1 within 1e-6: divide by the sum, and "
                "subtract the maximum before an exponential",
            )
        agent.observe(row)
    return policies


def _play(agent: AgentLike, size: Size, losses: FloatArray) -> FloatArray:
    return _play_on(_begin(agent, size, losses.shape[1]), losses)


def _plays(make: Make, sizes: list[Size]) -> None:
    for size in sizes:
        for num_runs in (3, 1):
            try:
                _play(make(), size, _losses(size, num_runs))
            except Problem as problem:
                raise Problem(f"{_at(size)}: {problem.args[0]}", problem.args[1]) from None
            except Exception as error:
                raise Problem(f"{_at(size)}: {described(error)}", HINT) from error


def _at(size: Size) -> str:
    return f"with {size[0]} actions, horizon {size[1]}"


def _keeps_losses(make: Make, size: Size) -> None:
    losses = _losses(size)
    _play(make(), size, losses)
    if not np.array_equal(losses, _losses(size)):
        raise Problem("observe() changed the losses", "copy them first: losses = losses.copy()")


def _starts_anew(make: Make, size: Size) -> None:
    agent = make()
    first = _play(agent, size, _losses(size))
    _play(agent, size, _losses(size, num_runs=2, seed=1))
    if not np.array_equal(_play(agent, size, _losses(size)), first):
        raise Problem(
            "it played differently after another reset", "set all state in reset(), none in __init__"
        )


def _draws_from_rng(make: Make, size: Size) -> None:
    found = []
    for seed in (1, 2):
        with global_seed(seed):
            found.append(_play(make(), size, _losses(size)))
    if not np.array_equal(found[0], found[1]):
        raise Problem(
            "the same generator led to other policies",
            "draw from the rng of reset(); use neither random, numpy.random, the clock nor default_rng()",
        )


def _takes_any_scale(make: Make, size: Size) -> None:
    for scale in (0.0, 1e-12, 1e6):
        with np.errstate(all="ignore"):
            _play(make(), size, scale * _losses(size))


def _takes_ranges(make: Make, size: Size) -> None:
    """Losses far out of [0, ρ]; and 4 ℓ told that ρ is 4, against ℓ told that it is 1."""
    if getattr(make(), "assumed_losses", "any") == "any":
        return
    with np.errstate(all="ignore"):
        for shift in (-3.0, 30.0):
            _play(make(), size, _losses(size) + shift)
    if make().assumed_losses != "interval":  # type: ignore[attr-defined]
        return
    losses = np.random.default_rng(0).random((size[1] or 6, 3, size[0]))
    played = []
    for loss_range in (1.0, 4.0):
        agent = make()
        agent.set_range(loss_range)  # type: ignore[attr-defined]
        told = agent.played_range  # type: ignore[attr-defined]
        if told is None:
            raise Problem("it assumes an interval, and its played_range is None", "let it return ρ")
        played.append(_play(agent, size, told * losses))
    if not np.allclose(played[0], played[1], rtol=0, atol=1e-9):
        raise Problem(
            "it played otherwise when losses and loss_range were four times as large",
            "divide losses by played_range, or the step size; set_range() is called before reset()",
        )


def _keeps_runs_apart(make: Make, size: Size) -> None:
    losses = _losses(size)
    together = _play(make(), size, losses)
    for run in range(losses.shape[1]):
        alone = _play(make(), size, losses[:, run : run + 1])
        if not np.allclose(alone[:, 0], together[:, run], rtol=0, atol=1e-9):
            raise Problem(
                f"run {run} of {losses.shape[1]} was played differently alone",
                "let row r of the policies depend on row r of the losses alone; an agent that draws numbers "
                "for all runs at once may leave this as it is",
            )


def _takes_delay(make: Make, size: Size) -> None:
    """The k-th `observe` is about the round of the k-th `act`, however many were asked for in between."""
    losses = _losses(size)
    for delay in (1, 3):
        early, late = _begin(make(), size, 3), _begin(make(), size, 3)
        same = all(np.array_equal(np.array(early.act()), np.array(late.act())) for _ in range(delay))
        early.act()
        for row in losses[:delay]:
            early.observe(row)
            early.act()
            late.observe(row)
        if not (same and np.array_equal(np.array(early.act()), np.array(late.act()))):
            raise Problem(
                "another call of act() changed later policies",
                "change state in observe(), not in act(): under delayed feedback act() is called more often; "
                "an agent that draws numbers in act() may leave this as it is",
            )


def _pickles(make: Make, size: Size) -> None:
    losses = _losses(size)
    agent = _begin(make(), size, 3)
    cut = min(3, len(losses) - 1)
    _play_on(agent, losses[:cut])
    agent.act()  # between a policy and its losses
    try:
        twin: AgentLike = pickle.loads(pickle.dumps(agent))
    except Exception as error:
        raise Problem(
            f"{type(error).__name__}: {error}",
            "keep no lambdas, open files or Python generators in attributes, or a long cell that is "
            "interrupted starts over",
        ) from error
    for one in (agent, twin):
        one.observe(losses[cut])
    if not np.array_equal(_play_on(twin, losses[cut + 1 :]), _play_on(agent, losses[cut + 1 :])):
        raise Problem("the copy played differently", "keep all state in attributes of the agent")


def _shows_its_settings(make: Make) -> None:
    agent = make()
    if type(agent).__repr__.__qualname__ in ("object.__repr__", "Agent.__repr__"):
        raise Problem(
            f"repr() is {agent!r}",
            "decorate the class with @dataclass(eq=False), settings as fields: errors name the agent so",
        )
