import random
import sys

import numpy as np
import pytest
from click.testing import CliRunner

from regret_envs.agents import Agent, Hedge, Uniform, make
from regret_envs.benchmarks.analysis.conformance import check
from regret_envs.benchmarks.cli.main import main


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
    ("agent", "status", "what", "problem", "mend"),
    [
        (OneRun, "fails", "for any number", "shape (3,) in round 1 with 3 runs", "SingleRunAgent"),
        (Unnormalized, "fails", "for any number", "in round 1, row 0", "divide by the sum"),
        (Overflows, "fails", "whatever the size", "row 0", "subtract the maximum"),
        (Spoils, "fails", "leaves the losses", "changed the losses", "losses.copy()"),
        (Remembers, "fails", "starts anew", "after a second reset", "in reset()"),
        (Draws, "fails", "randomness", "other policies", "draw from the rng"),
        (Mixes, "advice", "alone and among", "otherwise alone", "row r"),
        (Counts, "advice", "asked twice", "second call of act()", "in observe()"),
        (Lambda, "advice", "pickled", "lambda", "keep no lambdas"),
        (Nameless, "advice", "repr", "Nameless()", "@dataclass(eq=False)"),
        (Raises, "fails", "for any number", "with 7 actions, horizon 6: KeyError: 'seven' (", "see the line"),
        (Nothing, "fails", "some problem", "not today", "unsupported()"),
    ],
)
def test_what_is_wrong_is_found_and_how_to_mend_it_is_said(agent, status, what, problem, mend):
    found = [f for f in check(agent) if f.status != "ok"]
    (finding,) = [f for f in found if what in f.what]
    assert finding.status == status and problem in finding.problem and mend in finding.mend


def test_a_good_agent_and_the_built_in_ones_pass():
    assert {f.status for f in check(Good)} == {"ok"}
    for name in ("hedge", "ftl", "rm+", "blum-mansour", "exp3", "thompson"):
        wrong = [f for f in check(lambda name=name: make(name)) if f.status == "fails"]
        assert wrong == [], name


def test_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, __name__, sys.modules.get(__name__) or __import__(__name__))
    good = CliRunner().invoke(main, ["check", f"{__name__}:Good"])
    assert good.exit_code == 0 and "0 to fix, 0 to consider, 9 ok" in good.stdout, good.output
    bad = CliRunner().invoke(main, ["check", f"{__name__}:OneRun"])
    assert bad.exit_code == 1 and "to fix: return one policy a run" in bad.stdout
    advised = CliRunner().invoke(main, ["check", f"{__name__}:Mixes"])
    assert advised.exit_code == 0 and "advice " in advised.stdout
    says = {"hegde": "did you mean 'hedge'", "no_such_module:X": "does not import", "math:pi": "not a class"}
    for spec, text in says.items():
        wrong = CliRunner().invoke(main, ["check", spec])
        assert wrong.exit_code == 2 and "Traceback" not in wrong.stderr and text in wrong.stderr
