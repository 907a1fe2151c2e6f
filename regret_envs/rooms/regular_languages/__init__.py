"""Learning regular languages: a one-layer Transformer trained by gradient descent, and its rivals."""
