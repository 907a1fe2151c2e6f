"""Tasks with partial feedback, changing losses, or an opponent that knows the agent."""

from __future__ import annotations

from regret_envs.benchmarks.tasks.task import Layer, Task

_BANDIT_METRICS = ("external_regret", "realized_regret", "swap_regret")
_BANDIT_GAME_METRICS = (
    "cce_gap",
    "realized_cce_gap",
    "ce_gap",
    "realized_ce_gap",
    "swap_gap",
    "external_regret",
    "realized_regret",
    "swap_regret",
)
_BANDIT = Layer("bandit")

BANDIT = (
    Task(
        id="bandit_bernoulli_d5_t5000",
        world="streams.bernoulli",
        settings={"num_actions": 5, "gap": 0.2},
        horizon=5000,
        metrics=_BANDIT_METRICS,
        loss_scale=1.0,
        feedback=(_BANDIT,),
        summary="bandit: one of 5 actions errs less",
    ),
    Task(
        id="bandit_constrained_d5_t5000",
        world="streams.constrained",
        settings={"num_actions": 5, "gap": 0.2},
        horizon=5000,
        metrics=_BANDIT_METRICS,
        loss_scale=1.0,
        feedback=(_BANDIT,),
        summary="bandit: the level of all losses changes",
    ),
    Task(
        id="bandit_reversal_t5000",
        world="streams.reversal",
        horizon=5000,
        metrics=_BANDIT_METRICS,
        loss_scale=1.0,
        feedback=(_BANDIT,),
        summary="bandit: the better of 2 actions turns halfway",
    ),
    Task(
        id="bandit_delayed_d5_t2000",
        world="streams.bernoulli",
        settings={"num_actions": 5, "gap": 0.2},
        horizon=2000,
        metrics=_BANDIT_METRICS,
        loss_scale=1.0,
        feedback=(_BANDIT, Layer("delayed", {"delay": 20, "jitter": 20})),
        summary="delayed bandit, 20 to 40 rounds",
    ),
    Task(
        id="bandit_corrupted_d5_t2000",
        world="streams.bernoulli",
        settings={"num_actions": 5, "gap": 0.2},
        horizon=2000,
        metrics=_BANDIT_METRICS,
        loss_scale=1.0,
        feedback=(Layer("corrupted", {"budget": 100.0, "magnitude": 0.5}), _BANDIT),
        summary="bandit: losses corrupted, 100 in all",
    ),
    Task(
        id="bandit_shapley_t5000",
        world="games.shapley",
        horizon=5000,
        metrics=_BANDIT_GAME_METRICS,
        loss_scale=1.0,
        feedback=(Layer("bandit", {"loss_offset": -1.0}),),
        starting_loss_scale=1.0,
        summary="bandit self-play in Shapley's game",
    ),
)

_TRACKING_4 = ("tracking_regret_4", "adaptive_regret", "external_regret", "swap_regret")
_TRACKING_9 = ("tracking_regret_9", "adaptive_regret", "external_regret", "swap_regret")

NONSTATIONARY = (
    Task(
        id="stationary_d5_t1000",
        world="streams.bernoulli",
        settings={"num_actions": 5, "gap": 0.07},
        horizon=1000,
        metrics=("external_regret", "adaptive_regret", "swap_regret"),
        loss_scale=1.0,
        summary="no switch: one of 5 actions errs less",
    ),
    Task(
        id="piecewise_s4_d5_t1000",
        world="streams.piecewise",
        settings={"num_actions": 5, "num_switches": 4, "gap": 0.3},
        horizon=1000,
        metrics=_TRACKING_4,
        loss_scale=1.0,
        summary="4 switches of the best of 5 actions",
    ),
    Task(
        id="piecewise_s9_d10_t2000",
        world="streams.piecewise",
        settings={"num_actions": 10, "num_switches": 9, "gap": 0.3},
        horizon=2000,
        metrics=_TRACKING_9,
        loss_scale=1.0,
        summary="9 switches of the best of 10 actions",
    ),
    Task(
        id="drifting_d5_t2000",
        world="streams.drifting",
        settings={"num_actions": 5, "drift_scale": 0.05},
        horizon=2000,
        metrics=_TRACKING_9,
        loss_scale=1.0,
        summary="means that walk at random, 5 actions",
    ),
    Task(
        id="seasonal_d4_t2000",
        world="streams.seasonal",
        settings={"num_actions": 4, "period": 800, "amplitude": 0.25},
        horizon=2000,
        metrics=_TRACKING_9,
        loss_scale=1.0,
        summary="every action is best for a season, 4 actions",
    ),
    Task(
        id="djia_blocks",
        world="streams.prices",
        settings={"market": "djia", "loss_scale": 0.05, "block_length": 20},
        horizon=507,
        metrics=_TRACKING_9,
        loss_scale=1.0,
        summary="DJIA, months in an order of each run",
    ),
)

_STRATEGIC_METRICS = ("extraction", "follower_regret", "follower_swap_regret")

# The Stackelberg value of player 0, by linear program: 0 in Deng, Schneider and Sivan's game, 0.3584 in
# the random one. The leader plays the plan of two phases that pays it most against the agent: against
# Hedge (up, down), half of the time each, and actions 0 for a quarter of the time and then 1.
_LEADER = ("stackelberg-leader[follower={agent}]",)
STRATEGIC = (
    Task(
        id="strategic_dss_t2000",
        world="games.deng_schneider_sivan",
        settings={"margin": 0.04},
        horizon=2000,
        metrics=_STRATEGIC_METRICS,
        loss_scale=4.0,
        opponents=_LEADER,
        seat=1,
        starting_loss_scale=1.0,
        summary="Deng, Schneider and Sivan's game, value 0",
    ),
    Task(
        id="strategic_random_3x4_t2000",
        world="games.random_game",
        settings={"num_actions": [3, 4], "seed": 16},
        horizon=2000,
        metrics=_STRATEGIC_METRICS,
        loss_scale=1.7059547495256544,
        opponents=_LEADER,
        seat=1,
        starting_loss_scale=1.0,
        summary="a random 3 × 4 game, value 0.3584",
    ),
)
