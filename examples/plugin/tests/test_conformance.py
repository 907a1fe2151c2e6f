"""The plug-in's own tests: its agent, its world and its metric keep the contract of regret-envs."""

from regret_envs_example.agents import LazyHedge
from regret_envs_example.tasks import REGRET_PER_ROUND, Tides

from regret_envs.testing import check_agent, check_metric, check_world


def test_the_agent_conforms():
    check_agent(LazyHedge)
    check_agent(LazyHedge(every=1))


def test_the_stream_conforms():
    check_world(Tides(num_actions=3, period=7), num_agents=2)


def test_the_metric_conforms():
    check_metric(REGRET_PER_ROUND)
