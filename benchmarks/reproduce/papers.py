"""The papers whose numbers are reproduced: rows and captions name them by identifier, and cite them below."""

from __future__ import annotations

PAPERS = {
    "arXiv 2607.23333": "Training with (Swap) Regret Loss in a Single-Layer Self-Attention Model: A Case "
    "Study on the Probability Simplex, 2026",
    "arXiv 2505.00926": "Huang, Liang and Yang, How Transformers Learn Regular Language Recognition: A "
    "Theoretical Study on Training Dynamics and Implicit Bias, 2025",
    "arXiv 2605.07333": "Chen, Chandra, Zhang, Liu, Liu and Xie, Beyond Linear Attention: Softmax "
    "Transformers Implement In-Context Reinforcement Learning, 2026",
}
"""By arXiv identifier; with authors where we know them."""


def cited(text: str) -> list[str]:
    """A line for each paper that the text names."""
    return [f"{identifier}: {paper}." for identifier, paper in PAPERS.items() if identifier in text]
