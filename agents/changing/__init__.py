"""Agents for worlds that change: tracking and adaptive regret."""
