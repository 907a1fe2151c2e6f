"""What an agent is shown: layers between the world and the agent (bandit, delayed, noisy, corrupted)."""

from regret_envs.feedback.channels import (
    AssumedLosses,
    Channel,
    Channels,
    Feedback,
    Place,
    Takes,
    as_layers,
    told_range,
    unfit,
    within_unit,
)
from regret_envs.feedback.drawn import Bandit, Pure
from regret_envs.feedback.layers import FEEDBACK, Corrupted, Delayed, Noisy, Phased, make

__all__ = [
    "FEEDBACK",
    "AssumedLosses",
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
    "told_range",
    "unfit",
    "within_unit",
]
