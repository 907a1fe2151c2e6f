"""Minari: record episodes as a data set, and replay its losses to the suite's agents.

python record_minari.py    # the data set lies where MINARI_DATASETS_PATH says
"""

import gymnasium
import minari
import numpy as np

from regret_envs import simulate, streams
from regret_envs.agents import Hedge

NAME = "regret_envs/biased-gaussian/random-v0"
HORIZON = 20


def record(episodes: int = 50) -> minari.MinariDataset:
    """Random play in the environment; episode n was reset with seed n."""
    environment = gymnasium.make("regret_envs:regret_envs/BiasedGaussian-v1", horizon=HORIZON)
    collector = minari.DataCollector(environment, record_infos=True)
    collector.action_space.seed(0)
    for episode in range(episodes):
        collector.reset(seed=episode)
        over = False
        while not over:
            _, _, terminated, truncated, _ = collector.step(collector.action_space.sample())
            over = terminated or truncated
    return collector.create_dataset(NAME, algorithm_name="random", description="random logits")


def losses(dataset: minari.MinariDataset) -> np.ndarray:
    """(episodes, rounds, actions); the first info of an episode is that of its reset."""
    return np.array([episode.infos["losses"][1:] for episode in dataset.iterate_episodes()])


if __name__ == "__main__":
    recorded = losses(record())
    # Run r plays the r-th window of the sequence: the r-th episode.
    stream = streams.Recorded(recorded.reshape(-1, recorded.shape[-1]), window=HORIZON)
    play = simulate(stream, Hedge(), horizon=HORIZON, num_runs=len(recorded))
    print(f"Hedge on the {len(recorded)} recorded episodes: regret {play.regret()[0].mean():.3f}")
