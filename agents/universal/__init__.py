"""Regret-trained policies that play any number of actions and rounds: features, network, agent, families."""
