"""What a game must do beside what every world must: losses are expectations over independent play."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from regret_envs.testing.findings import Check, Finding, Problem, find
from regret_envs.testing.worlds import HINT, HORIZON, RUNS, Player, close, same, world_checks
from regret_envs.worlds import Game


def check_game(game: Game, *, horizon: int = HORIZON, raises: bool = True) -> list[Finding]:
    """Check a game: all that `check_world` checks, and that losses are expectations over product play.

    Then each player's losses do not depend on its own policy and are affine in every other player's.

    Args:
        game: the game.
        horizon: rounds to play, at least 8.
        raises: whether to raise on failure rather than to return.

    Raises:
        ConformanceError: if a check fails and `raises` is set; lists every failure. Advice never raises.
        ValueError: if `horizon` is below 8.
    """
    player = Player(game, None, horizon)
    checks = [
        *world_checks(player),
        Check(partial(_keeps_no_state, player), "answers the same policies alike in every round"),
        Check(partial(_ignores_own_policy, player), "gives losses that do not depend on one's own policy"),
        Check(partial(_is_affine, player), "gives losses that are affine in the others' policies"),
        Check(partial(_stacked_agrees, player), "answers stacked policies (step_stacked) alike"),
        Check(partial(_states_its_range, player), "states in loss_scale the range of its losses"),
        Check(partial(_has_its_outcomes, player), "tells the outcomes that outcome_names promises"),
    ]
    return find(repr(game), checks, HINT, raises=raises)


def _keeps_no_state(player: Player) -> None:
    episode = player.start()
    first = [np.array(loss) for loss in episode.step(player.policies())]
    for t in range(1, 5):
        episode.step(player.policies(t=t))
    again = [np.array(loss) for loss in episode.step(player.policies())]
    if not same([first], [again]):
        raise Problem(
            "the same policies brought other losses five rounds later",
            "derive from World rather than Game: games report the gaps of one repeated stage game",
        )


def _ignores_own_policy(player: Player) -> None:
    episode = player.start()
    policies, others = player.policies(t=1), player.policies(t=2)
    losses = [np.array(loss) for loss in episode.step(policies)]
    for n in range(len(policies)):
        changed = [*policies[:n], others[n], *policies[n + 1 :]]
        if not close(np.array(episode.step(changed)[n]), losses[n]):
            raise Problem(
                f"the losses of player {n} changed with its own policy",
                "return what each action loses against the others' policies: ℓ_n(i) = E[loss_n(i, a_{−n})]",
            )


def _is_affine(player: Player) -> None:
    episode = player.start()
    policies, others = player.policies(t=1), player.policies(t=2)
    share = 0.3
    losses = [np.array(loss) for loss in episode.step(policies)]
    for m in range(len(policies)):
        changed = [*policies[:m], others[m], *policies[m + 1 :]]
        at_other = [np.array(loss) for loss in episode.step(changed)]
        mixed = [*policies[:m], (1 - share) * policies[m] + share * others[m], *policies[m + 1 :]]
        for n, loss in enumerate(episode.step(mixed)):
            if n != m and not close(np.array(loss), (1 - share) * losses[n] + share * at_other[n]):
                raise Problem(
                    f"the losses of player {n} are not affine in the policy of player {m}",
                    "return expectations over the players' draws, not the loss at the mean action",
                )


def _stacked_agrees(player: Player) -> None:
    if len(set(player.seats)) > 1:
        return
    episode: Any = player.start()
    policies = player.policies(t=1)
    stacked = episode.step_stacked(np.stack([p.T for p in policies], axis=1))
    for n, loss in enumerate(episode.step(policies)):
        if not close(np.array(stacked[:, n].T), np.array(loss)):
            raise Problem(
                f"step_stacked() and step() give player {n} different losses",
                "leave step_stacked() out, or read its policies as (num_actions, num_players, num_runs)",
            )


def _states_its_range(player: Player) -> None:
    game: Any = player.world
    seen: list[tuple[float, float]] = [(np.inf, -np.inf)] * game.num_players
    for round_ in player.play():
        seen = [
            (min(low, float(loss.min())), max(high, float(loss.max())))
            for (low, high), loss in zip(seen, round_, strict=True)
        ]
    widest = max(high - low for low, high in seen)
    # Unbounded losses (random games) state their standard deviation; ten of those is not chance.
    if not (np.isfinite(game.loss_scale) and game.loss_scale >= 0 and widest <= 10 * game.loss_scale + 1e-9):
        raise Problem(
            f"losses of one player spread over {widest:.4g} and loss_scale is {game.loss_scale!r}",
            "set loss_scale to the range of a player's losses (the largest over players), or to their "
            "standard deviation where they are unbounded",
        )


def _has_its_outcomes(player: Player) -> None:
    game: Any = player.world
    d = max(player.seats)
    policies = np.zeros((d, game.num_players, RUNS))
    for n, policy in enumerate(player.policies(t=1)):
        policies[: policy.shape[1], n] = policy.T
    outcomes = game.outcomes(policies)
    if set(outcomes) != set(game.outcome_names):
        raise Problem(
            f"outcomes() tells {sorted(outcomes)}, outcome_names is {game.outcome_names}",
            "return one array per name in outcome_names",
        )
    for name, value in outcomes.items():
        if np.shape(value) != (RUNS,) or not np.isfinite(value).all():
            raise Problem(f"the outcome {name!r} is {value!r}", "return a finite array of shape (num_runs,)")
