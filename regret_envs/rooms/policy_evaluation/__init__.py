"""Estimating values in context: a softmax Transformer whose layers are steps of TD, and its rivals."""
