"""`check_agent` finds each kind of fault, and says how to fix it; the registry is checked in tests/agents."""

import random

import numpy as np
import pytest
from conftest import invoke

from regret_envs.agents import Agent, Hedge, Uniform, make
from regret_envs.testing import ConformanceError, check_agent


class Good(Uniform):
    pass


class OneRun(Uniform):
    def act(self):
        return super().act()[0]


class Unnormalized(Uniform):
    def act(self):
        return 0.9 * super().act()


class Overflows(Hedge):
    def observe(self, losses):
        self.sums = getattr(self, "sums", 0) + losses

    def act(self):
        weights = np.exp(-getattr(self, "sums", 0 * super().act()))
        return weights / weights.sum(1, keepdims=True)

    def reset(self, *args, **settings):
        super().reset(*args, **settings)
        self.__dict__.pop("sums", None)


class Spoils(Uniform):
    def observe(self, losses):
        losses -= losses.min(1, keepdims=True)


class Remembers(Hedge):
    count = 0

    def reset(self, num_actions, **settings):
        super().reset(num_actions, **settings)
        self.count += 1

    def act(self):
        policies = super().act() ** self.count
        return policies / policies.sum(1, keepdims=True)


class Draws(Uniform):
    def act(self):
        policies = super().act() + random.random()
        policies[:, 0] += np.random.rand()  # noqa: NPY002
        return policies / policies.sum(1, keepdims=True)


class Mixes(Hedge):
    def observe(self, losses):
        super().observe(np.broadcast_to(losses.mean(0), losses.shape))


class Counts(Hedge):
    calls = 0

    def reset(self, num_actions, **settings):
        super().reset(num_actions, **settings)
        self.calls = 0

    def act(self):
        self.calls += 1
        policies = super().act() ** (1 + self.calls)
        return policies / policies.sum(1, keepdims=True)


class Lambda(Uniform):
    def reset(self, num_actions, **settings):
        super().reset(num_actions, **settings)
        self.f = lambda x: x


class Raises(Uniform):
    def reset(self, num_actions, **settings):
        if num_actions == 7:
            raise KeyError("seven")
        super().reset(num_actions, **settings)


class Nameless(Agent):
    def reset(self, num_actions, *, horizon, num_runs, rng):
        self.policies = np.full((num_runs, num_actions), 1 / num_actions)

    def act(self):
        return self.policies

    def observe(self, losses):
        pass


class Nothing(Uniform):
    def unsupported(self, num_actions, *, horizon):
        return "not today"


@pytest.mark.parametrize(
    ("agent", "status", "what", "problem", "fix"),
    [
        (OneRun, "fails", "for any number", "shape (3,) in round 1 with 3 runs", "SingleRunAgent"),
        (Unnormalized, "fails", "for any number", "in round 1, row 0", "divide by the sum"),
        (Overflows, "fails", "whatever the scale", "row 0", "subtract the maximum"),
        (Spoils, "fails", "leaves the losses", "changed the losses", "losses.copy()"),
        (Remembers, "fails", "starts anew", "after another reset", "in reset()"),
        (Draws, "fails", "randomness", "other policies", "draw from the rng"),
        (Mixes, "advice", "alone and among", "differently alone", "row r"),
        (Counts, "advice", "asked again", "another call of act()", "in observe()"),
        (Lambda, "advice", "pickled", "lambda", "keep no lambdas"),
        (Nameless, "advice", "repr", "Nameless()", "@dataclass(eq=False)"),
        (Raises, "fails", "for any number", "with 7 actions, horizon 6: KeyError: 'seven' (", "see the line"),
        (Nothing, "fails", "some problem", "not today", "unsupported()"),
    ],
)
def test_what_is_wrong_is_found_and_how_to_fix_it_is_said(agent, status, what, problem, fix):
    found = [f for f in check_agent(agent, raises=False) if f.status != "ok"]
    (finding,) = [f for f in found if what in f.what]
    assert finding.status == status and problem in finding.problem and fix in finding.fix


def test_a_good_agent_passes_whether_class_function_or_object():
    for agent in (Good, lambda: Good(), Good(), lambda: make("hedge"), make("blum-mansour")):
        assert {f.status for f in check_agent(agent)} == {"ok"}


def test_failures_raise_together_and_advice_does_not():
    class TwoFaults(Remembers):
        def observe(self, losses):
            super().observe(losses)
            losses[...] = 0

    with pytest.raises(ConformanceError) as raised:
        check_agent(TwoFaults)
    text = str(raised.value)
    assert "fails 2 of 10 checks" in text and "losses.copy()" in text and "set all state in reset()" in text
    assert sum(f.status == "fails" for f in raised.value.findings) == 2
    assert "advice" in {f.status for f in check_agent(Mixes)}


@pytest.mark.usefixtures("importable")
def test_the_command():
    good = invoke("check", f"{__name__}:Good")
    assert "0 to fix, 0 to consider, 10 ok" in good.stdout, good.output
    assert "to fix: return one policy per run" in invoke("check", f"{__name__}:OneRun", code=1).stdout
    assert "advice " in invoke("check", f"{__name__}:Mixes").stdout
    says = {"hegde": "did you mean 'hedge'", "no_such_module:X": "does not import", "math:pi": "not a class"}
    for spec, text in says.items():
        wrong = invoke("check", spec, code=2)
        assert "Traceback" not in wrong.stderr and text in wrong.stderr
