"""`weighted_rps_v1` with the defaults of version 0 (`regret_envs.envs.version_0`)."""

from regret_envs import weighted_rps_v1
from regret_envs.envs.version_0 import forms

parallel_env, env, SingleEnv, vector_env = forms(weighted_rps_v1)
raw_env = env
