"""`regret-envs check`: does an agent follow the protocol?"""

from __future__ import annotations

import os
import sys
from functools import partial
from typing import TYPE_CHECKING

import click

from regret_envs.benchmarks.cli import complete
from regret_envs.benchmarks.cli.common import Usage, finite

if TYPE_CHECKING:
    from regret_envs.testing.findings import Finding, Status


@click.command("check", short_help="Check whether an agent follows the protocol.")
@click.argument("agent", shell_complete=complete.agents)
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    default=60.0,
    show_default=True,
    callback=finite,
    help="Seconds that each check may take.",
)
@click.pass_context
def check_command(context: click.Context, agent: str, timeout: float) -> None:
    """Check whether an agent follows the protocol, and say what to fix.

    AGENT is a spec, such as mypkg.mine:Mine[alpha=2]. It plays in a process of its own and prints to standard
    error.
    """
    from regret_envs.agents import registry
    from regret_envs.benchmarks.running.apart import Apart, Died
    from regret_envs.names import UnknownNameError
    from regret_envs.testing import Finding

    sys.path.insert(0, os.getcwd())
    found: list[Finding] = []
    with Apart(limit=timeout) as apart:
        try:
            checks = apart.call(_checks, agent)
        except (ImportError, registry.SpecError, UnknownNameError, _Asks) as error:
            raise Usage(str(error)) from None
        except Exception as error:
            raise click.ClickException(f"{agent} cannot be made: {error}") from None
        for k, (what, status, decisive) in enumerate(checks):
            try:
                found.append(apart.call(_check, agent, k))
            except Died as error:
                fix = "an agent raises an Exception where it cannot go on, and leaves its process alone"
                found.append(Finding(what, status, str(error), fix))
            if decisive and found[-1].status != "ok":
                break
    for f in found:
        click.echo(f"{f.status:7} {f.what}")
        if f.problem:
            click.echo(f"        {f.problem}\n        to fix: {f.fix}")
    failed = sum(f.status == "fails" for f in found)
    advice = sum(f.status == "advice" for f in found)
    click.echo(f"{agent}: {failed} to fix, {advice} to consider, {len(found) - failed - advice} ok")
    context.exit(1 if failed else 0)


class _Asks(Exception):
    """The agent asks at a price."""


def _checks(spec: str) -> list[tuple[str, Status, bool]]:
    """The checks of an agent: what, the status of one that does not pass, and whether it is decisive."""
    from regret_envs.agents import registry
    from regret_envs.agents.usage import Asking
    from regret_envs.names import UnknownNameError
    from regret_envs.testing.agents import agent_checks
    from regret_envs.testing.findings import described

    try:
        made = registry.make(spec)
    except (registry.MissingExtraError, registry.AgentImportError) as error:
        raise type(error)(str(error)) from None  # without the cause, which may not pickle
    except (registry.SpecError, UnknownNameError):
        raise
    except Exception as error:
        raise RuntimeError(described(error)) from None
    if isinstance(made, Asking):
        raise _Asks(f"{spec} asks at a price, and checks play hundreds of rounds: it is not checked")
    checks = agent_checks(partial(registry.make, spec))
    return [(check.what, check.status, check.decisive) for check in checks]


def _check(spec: str, k: int) -> Finding:
    """What check number k finds."""
    from regret_envs.agents import registry
    from regret_envs.testing.agents import HINT, agent_checks
    from regret_envs.testing.findings import run_check

    return run_check(agent_checks(partial(registry.make, spec))[k], HINT)
