"""A page for every environment: picture, import, spaces, rewards, infos, arguments, version."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from markdown import arguments, document, table, write
from PIL import Image

from regret_envs.envs import ENVIRONMENTS, PREDICTION, actions, observations
from regret_envs.envs.parallel import ParallelPlay
from regret_envs.envs.single import SinglePlay

_NEEDED: dict[str, dict[str, Any]] = {"regret_envs/RepeatedGame-v1": {"game": "shapley"}}
_ROUNDS = 40


def write_pages(folder: Path) -> None:
    """One page per environment, and an index."""
    rows = []
    for name, entry in ENVIRONMENTS.items():
        page = name.partition("/")[2]
        _write_world(folder, page, name, entry.module, entry.summary)
        rows.append((f"[`{name}`]({page}.md)", "PettingZoo, Gymnasium, vectorized", entry.summary))
    for name, entry in PREDICTION.items():
        page = name.partition("/")[2]
        _write_prediction(folder, page, name, entry.module, entry.summary)
        rows.append((f"[`{name}`]({page}.md)", "Gymnasium", entry.summary))
    names = [name.partition("/")[2] for name in (*ENVIRONMENTS, *PREDICTION)]
    write(
        folder / "index.md",
        "# Environments",
        "`import regret_envs` registers them. Rewards are negated losses, and `reset(seed=s)` gives "
        "the losses of `simulate(..., seed=s)`.",
        table(("environment", "interfaces", "what it is"), rows),
        "```{toctree}\n:hidden:\n" + "\n".join(names) + "\n```",
    )


def _write_world(folder: Path, page: str, name: str, module: str, summary: str) -> None:
    door = importlib.import_module(module)
    short = module.rpartition(".")[2]
    given = _NEEDED.get(name, {})
    settings = "".join(f", {k}={v!r}" for k, v in given.items())
    parallel = door.parallel_env(horizon=_ROUNDS, action_mode="normalize", render_mode="rgb_array", **given)
    _picture(folder / "pictures" / f"{page}.png", parallel)
    env = door.parallel_env(**given)
    _, infos = env.reset(seed=0)
    agent = env.possible_agents[0]
    single = gymnasium.make(name, **given)
    write(
        folder / f"{page}.md",
        f"# {page}",
        f"{summary}.",
        f":::{{figure}} pictures/{page}.png\n:alt: Policies and running regret of the agents\n"
        ":class: paper\n\n"
        f'{_ROUNDS} rounds of random actions, as `render_mode="rgb_array"` draws them.\n:::',
        table(
            ("property", "value"),
            (
                (
                    "PettingZoo, parallel",
                    f"`from regret_envs import {short}`; `{short}.parallel_env({settings[2:]})`",
                ),
                ("PettingZoo, AEC", f"`{short}.env({settings[2:]})`"),
                ("Gymnasium", f'`gymnasium.make("regret_envs:{name}"{settings})`'),
                (
                    "Gymnasium, vectorized",
                    f'`gymnasium.make_vec("regret_envs:{name}"{settings}, num_envs=1024)`',
                ),
                ("agents", ", ".join(f"`{a}`" for a in env.possible_agents)),
                ("action space", f"`{env.action_space(agent)}`"),
                ("observation space", f"`Box{env.observation_space(agent).shape}`, float32"),
                ("render modes", ", ".join(f"`{m}`" for m in env.metadata["render_modes"])),
                (
                    "Gymnasium's spaces",
                    f"actions `{single.action_space}`, observations `Box{single.observation_space.shape}`",
                ),
            ),
        ),
        "## Actions",
        _after_title(actions),
        "## Observations",
        _after_title(observations),
        "## Rewards",
        "The reward of a round is −⟨ℓ_t, π_t⟩, the negated expected loss. With pure actions or bandit "
        "feedback an action is drawn, and the reward is its negated loss.",
        "## Infos",
        table(
            ("key", "shape", "what"),
            [(f"`{key}`", np.shape(value), _INFOS.get(key, "")) for key, value in infos[agent].items()],
        ),
        "With pure actions or bandit feedback also `realized_action` (−1 before round 1), `realized_loss`.",
        "## Arguments",
        "Of this environment:",
        arguments(door.parallel_env),
        "Of every PettingZoo environment:",
        arguments(ParallelPlay),
        "Of its Gymnasium form, beside those of this environment:",
        arguments(SinglePlay),
        "## Version history",
        '- **v1**: `action_mode` is "softmax" and `horizon_ends` "terminated" where none is given, since '
        "learners do better ([measured](../../libraries.md#what-helps-learners)).\n"
        f'- **v0**: "normalize" and "truncated". `{name.replace("-v1", "-v0")}` and '
        f"`{short.replace('_v1', '_v0')}` still have these defaults.",
    )
    single.close()


_INFOS = {
    "policy": "the policy π_t that was played",
    "losses": "the losses ℓ_t of all actions",
    "expected_loss": "⟨ℓ_t, π_t⟩",
    "realized_action": "the drawn action",
    "realized_loss": "its loss",
}


def _after_title(module: Any) -> str:
    """A module's docstring without its first line."""
    return document(module)[0].partition("\n\n")[2]


def _picture(file: Path, env: Any) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    env.reset(seed=1)
    rng = np.random.default_rng(0)
    while env.agents:
        env.step({a: rng.random(env.action_space(a).shape).astype(np.float32) ** 3 for a in env.agents})
    Image.fromarray(env.render()).save(file)


def _write_prediction(folder: Path, page: str, name: str, target: str, summary: str) -> None:
    module, _, cls_name = target.partition(":")
    cls = getattr(importlib.import_module(module), cls_name)
    env = gymnasium.make(name)
    _, info = env.reset(seed=0)
    write(
        folder / f"{page}.md",
        f"# {page}",
        f"{summary}.",
        table(
            ("property", "value"),
            (
                ("Gymnasium", f'`gymnasium.make("regret_envs:{name}")`'),
                ("action space", f"`{env.action_space}`"),
                ("observation space", f"`{env.observation_space}`"),
                ("infos", ", ".join(f"`{key}`" for key in info) or "none"),
            ),
        ),
        document(cls)[0],
        "## Arguments",
        arguments(cls),
        "## Version history",
        f"- **{page.rpartition('-')[2]}**: the first version.",
    )
    env.close()
