"""What an agent is shown: layers between the world and the agent (bandit, delayed, noisy, corrupted)."""

from regret_envs.feedback.channels import Channel, Channels, Feedback, Place, Takes, as_layers, unfit
from regret_envs.feedback.layers import FEEDBACK, Bandit, Corrupted, Delayed, Noisy, Phased, Pure, make

__all__ = [
    "FEEDBACK",
    "Bandit",
    "Channel",
    "Channels",
    "Corrupted",
    "Delayed",
    "Feedback",
    "Noisy",
    "Phased",
    "Place",
    "Pure",
    "Takes",
    "as_layers",
    "make",
    "unfit",
]
