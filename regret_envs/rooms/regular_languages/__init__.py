"""Learning regular languages: a one-layer Transformer trained by gradient descent, and its rivals."""

from regret_envs.rooms import EnvironmentEntry, Reproduction, Room

ROOM = Room(
    environments={
        "regret_envs/EvenPairs-v0": EnvironmentEntry(
            f"{__name__}.environments:EvenPairs",
            "Does a sequence begin and end alike? Logarithmic loss, one agent",
        ),
        "regret_envs/ParityCheck-v0": EnvironmentEntry(
            f"{__name__}.environments:ParityCheck",
            "Is the number of b even? At once or by chain of thought; logarithmic loss, one agent",
        ),
    },
    reproductions={
        "regular-languages": Reproduction(
            f"{__name__}.reproduction:run", "A one-layer Transformer learns even pairs and parity"
        ),
    },
    train_commands={"one-layer-transformer": f"{__name__}.train_command:one_layer_transformer"},
)
