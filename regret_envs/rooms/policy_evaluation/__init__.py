"""Estimating values in context: a softmax Transformer whose layers are steps of TD, and its rivals."""

from regret_envs.rooms import EnvironmentEntry, Reproduction, Room

ROOM = Room(
    environments={
        "regret_envs/PolicyEvaluation-v0": EnvironmentEntry(
            f"{__name__}.environment:PolicyEvaluationEnv",
            "Values of a Markov reward process from one trajectory; squared error, one agent",
        ),
    },
    reproductions={
        "in-context-td": Reproduction(
            f"{__name__}.reproduction:run",
            "Softmax Transformers do policy evaluation in context (arXiv 2605.07333)",
            requires="torch",
        ),
    },
    train_commands={"softmax-td": f"{__name__}.train_command:softmax_td"},
)
