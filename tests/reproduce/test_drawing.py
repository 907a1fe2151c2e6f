"""Figures of reproductions: lettered panels, whole rounds, published numbers with errors, captions."""

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from regret_envs.benchmarks.reproduce import drawing
from regret_envs.benchmarks.reproduce.checks import Reference


def test_panels_are_lettered_and_a_single_one_is_not():
    _, axes = drawing.panels(3)
    assert [a.get_title(loc="left") for a in axes] == ["(a)", "(b)", "(c)"]
    _, (one,) = drawing.panels(1)
    assert one.get_title(loc="left") == ""


def test_a_published_number_has_its_printed_error():
    _, (axes,) = drawing.panels(1)
    drawing.published(axes, 20, Reference("0.0467 ± 0.0095", "paper"), "k")
    (mark,) = axes.containers
    assert mark[0].get_xydata().tolist() == [[20, 0.0467]]
    (bar,) = mark[2][0].get_segments()
    np.testing.assert_allclose(bar[:, 1], [0.0467 - 0.0095, 0.0467 + 0.0095])
    drawing.published(axes, 20, Reference("0.0617", "paper"), "k")
    assert not axes.containers[1].has_yerr


def test_ticks_of_rounds_are_whole_and_end_at_the_horizon():
    _, (axes,) = drawing.panels(1)
    drawing.rounds_axis(axes, 20)
    assert axes.get_xticks().tolist() == [1, 5, 10, 15, 20]
    assert axes.get_xlim()[1] > 20


def test_a_narrow_logarithmic_axis_has_several_plain_numbers():
    figure, (axes,) = drawing.panels(1)
    axes.plot([10, 20, 40], [0.1, 0.4, 0.75])
    drawing.log_axes(axes, x=(10, 20, 40))
    figure.canvas.draw()
    low, high = axes.get_ylim()
    labels = zip(axes.get_yticklabels(), axes.get_yticks(), strict=True)
    assert {"0.1", "0.2", "0.5"} <= {text.get_text() for text, y in labels if low < y < high}
    assert [t.get_text() for t in axes.get_xticklabels()] == ["10", "20", "40"]


def test_a_figure_is_saved_twice_with_its_caption(tmp_path):
    for name in ("one", "two"):
        figure, (axes,) = drawing.panels(1)
        drawing.band(axes, [1, 2], [[1.0, 2.0], [1.2, 2.4]], "x", "k")
        drawing.legend_below(axes)
        drawing.save(figure, tmp_path / f"{name}.png", "(a) What is\ndrawn.  " + "More of it. " * 20)
    caption = (tmp_path / "one.txt").read_text()
    assert caption.startswith("(a) What is drawn. More") and max(map(len, caption.split("\n"))) <= 100
    assert (tmp_path / "one.png").read_bytes()[:4] == b"\x89PNG"
    pdf = (tmp_path / "one.pdf").read_bytes()
    assert pdf[:4] == b"%PDF" and pdf == (tmp_path / "two.pdf").read_bytes()
