"""The streaming agents against hand computation, and in the environments that they are for."""

import math

import numpy as np
import pytest

from regret_envs.rooms.regular_languages.environments import EvenPairs, ParityCheck
from regret_envs.rooms.regular_languages.sequence_predictors import (
    TablePredictor,
    TransformerPredictor,
    UniformPredictor,
    play,
)
from regret_envs.rooms.regular_languages.training import train
from regret_envs.rooms.regular_languages.transformer import (
    LabeledSequences,
    OneLayerTransformer,
    even_pairs_set,
)

AB, BBA = np.array([0, 1]), np.array([1, 1, 0])


def test_uniform_loses_ln_2_a_round():
    losses = play(UniformPredictor(), EvenPairs(), num_rounds=50, seed=0)
    np.testing.assert_allclose(losses, math.log(2))


def test_the_table_counts_each_sequence_by_itself_and_forgets_on_reset():
    table = TablePredictor()
    table.reset(3)
    assert table.predict(AB) == 0.5
    for label in (1, 1, -1):
        table.observe(AB, label)
    assert table.predict(AB) == 2.5 / 4 and table.predict(BBA) == 0.5
    table.reset(3)
    assert table.predict(AB) == 0.5


def test_the_transformer_takes_one_gradient_step_on_what_it_is_shown():
    predictor = TransformerPredictor(step_size=0.4, temperature=3.0)
    predictor.reset(3)
    model = OneLayerTransformer(3, temperature=3.0)
    for tokens, label in [(AB, -1), (BBA, 1), (AB, -1)]:
        data = LabeledSequences([([tokens], [label])], 3)
        assert predictor.predict(tokens) == pytest.approx(1 / (1 + math.exp(-model.outputs(data)[0])))
        predictor.observe(tokens, label)
        _, head, attention = model.gradient(data)
        model.head[:] -= 0.4 * head
        model.attention[:] -= 1.2 * attention
    assert predictor.predict(AB) < 0.5
    predictor.reset(3)
    assert predictor.predict(AB) == 0.5


def test_in_even_pairs_the_transformer_generalizes_and_the_table_does_not():
    """In 400 rounds of lengths to 9 hardly a sequence of more than 6 tokens comes twice."""
    totals = {}
    for predictor in (TransformerPredictor(step_size=4.0), TablePredictor()):
        losses = play(predictor, EvenPairs(max_length=9), num_rounds=400, seed=1)
        assert np.isfinite(losses).all()
        totals[type(predictor)] = losses[200:].mean()
    assert totals[TransformerPredictor] < 0.1 and totals[TablePredictor] > 0.3


def test_a_model_of_even_pairs_finds_parity_by_chain_of_thought():
    model = OneLayerTransformer()
    train(model, even_pairs_set(), num_steps=1000)
    before = model.head.copy()
    env = ParityCheck(chain_of_thought=True)
    losses = play(TransformerPredictor(start=model), env, num_rounds=200, seed=0)
    assert losses.max() < math.log(2)  # every answer was right
    np.testing.assert_array_equal(model.head, before)


def test_bad_settings():
    for setting in ("step_size", "attention_step_size", "temperature"):
        with pytest.raises(ValueError, match=f"{setting} must be positive"):
            TransformerPredictor(**{setting: 0.0})
    with pytest.raises(ValueError, match=r"up to 6 tokens, and OneLayerTransformer\(max_length=4"):
        play(TransformerPredictor(start=OneLayerTransformer(4)), EvenPairs(), num_rounds=1, seed=0)
    with pytest.raises(ValueError, match="num_rounds must be at least 1"):
        play(UniformPredictor(), EvenPairs(), num_rounds=0, seed=0)
