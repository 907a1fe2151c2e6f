"""How agents look, the same in every figure; the style of figures; legends and captions."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from os import PathLike
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from regret_envs.benchmarks.analysis.tables import is_own

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

P = ParamSpec("P")
T = TypeVar("T")

COLORS = (
    "#0072b2",  # blue
    "#d55e00",  # vermilion
    "#00855f",  # green
    "#b04a8f",  # purple
    "#7a5c00",  # brown
    "#0a8a9c",  # teal
    "#a01c1c",  # dark red
    "#5b4bc4",  # indigo
    "#c07800",  # orange
    "#2f5d1e",  # dark green
    "#d6417e",  # pink
    "#1f3a5f",  # navy
)
"""Colors of at least 3:1 on white, after Okabe and Ito (2008); agents differ in dashes and marks as well."""

_SHADES = (("#ffffff", 0.0), ("#000000", 0.3), ("#ffffff", 0.25), ("#000000", 0.55))
DASHES: tuple[tuple[float, ...], ...] = ((), (5, 1.6), (6, 1.6, 1.4, 1.6), (2.4, 1.2))
_OTHER_DASHES = ((8, 1.6), (8, 1.6, 1.4, 1.6, 1.4, 1.6), (4, 1.2, 4, 2.8))
"""Of agents without a place in the table, so that none of them is taken for a built-in one."""
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "d")
MOST_AGENTS = 8
"""So many agents have a color in a figure; the others are gray."""
GRAY, REFERENCE = "#b5b5b5", "#000000"
BOUND_DASHES = (1, 1.3)

# A row per shade and kind of dashes, a column per hue; agents that are often compared differ in hue.
_TABLE = (
    (
        *("hedge", "rm+", "blum-mansour", "universal-swap", "ogd", "swap-attention"),
        *("adahedge", "universal", "fixed-share", "predictive-rm+", "linear-attention", "uniform"),
    ),
    (
        *("internal-rm", "hedge-anytime", "blum-mansour-rm+", "mmd", "universal-swap-safe", "universal-safe"),
        *(
            "hedged",
            "blum-mansour-log-barrier",
            "regret-matching",
            "stoltz-lugosi",
            "optimistic-hedge",
            "ftl",
        ),
    ),
    (
        *("tree-swap", "squint", "euclidean-ftrl", "oftrl-euclidean", "oftrl-tsallis", "transformer-2"),
        *("adanormalhedge", "linear-attention-trained", "swap-attention-trained", "strongly-adaptive"),
        *("ftpl", "transformer-4"),
    ),
    ("exp3", "thompson", "tsallis-inf", "exp3-ix", "oftrl-log-barrier", "ucb1"),
)
_PLACES = {name: (color, kind) for kind, names in enumerate(_TABLE) for color, name in enumerate(names)}


@dataclass(frozen=True)
class Look:
    """How an agent is drawn.

    Attributes:
        color: of its lines, marks and bands.
        dashes: lengths of dashes and gaps in line widths; empty: solid.
        marker: matplotlib's name of its mark.
        filled: whether the mark is.
    """

    color: str
    dashes: tuple[float, ...]
    marker: str
    filled: bool

    def line(self, **settings: Any) -> dict[str, Any]:
        """Settings of `Axes.plot`."""
        return {
            "color": self.color,
            "linestyle": (0, self.dashes) if self.dashes else "-",
            "marker": self.marker,
            "markerfacecolor": self.color if self.filled else "#ffffff",
            "markersize": 3.2,
            "markeredgewidth": 0.8,
            "linewidth": 1.3,
            **settings,
        }


def look(agent: str) -> Look:
    """The look of an agent, which depends on its spec alone, so that it is the same in every figure.

    Built-in agents have theirs by a table, in which agents that are often compared differ in hue. Specs
    with settings and agents of your own have a color by a hash, and dashes that no built-in agent has.

    Args:
        agent: its spec.
    """
    if agent in _PLACES:
        hue, kind = _PLACES[agent]
        dashes = DASHES[kind]
    else:
        drawn = zlib.crc32(agent.encode())
        hue, kind = drawn % len(COLORS), drawn // len(COLORS) % len(_OTHER_DASHES)
        dashes = _OTHER_DASHES[kind]
    return Look(_mixed(COLORS[hue], *_SHADES[kind]), dashes, MARKERS[(hue + 5 * kind) % 12], kind % 2 == 0)


def _mixed(color: str, other: str, share: float) -> str:
    """A color with a share of another one in it."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + bytes(round((1 - share) * a + share * b) for a, b in pairs).hex()


_SETTINGS: dict[str, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "regret-envs",
    "pdf.fonttype": 42,
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titlelocation": "left",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.7,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "legend.handlelength": 3.2,
    "figure.constrained_layout.use": True,
    "savefig.dpi": 200,
    "savefig.bbox": "tight",
    "savefig.pad_inches": 0.04,
}


@contextmanager
def style(file: str | PathLike[str] | None = None) -> Iterator[None]:
    """Our style of figures while the context lasts: text stays text, and equal figures are equal files.

    Args:
        file: a matplotlib style sheet, or the name of a style, on top of ours.

    Raises:
        OSError: if there is no such style.
    """
    import matplotlib
    import matplotlib.style

    with matplotlib.rc_context(_SETTINGS):
        if file is not None:
            matplotlib.style.use(file)
        yield


def in_style(draw: Callable[P, T]) -> Callable[P, T]:
    """A function that draws in our style where the user's settings are matplotlib's own."""

    @wraps(draw)
    def styled(*args: P.args, **kwargs: P.kwargs) -> T:
        import matplotlib

        current: Any = matplotlib.rcParams
        default: Any = matplotlib.rcParamsDefault
        unset = {key: value for key, value in _SETTINGS.items() if current[key] == default[key]}
        with matplotlib.rc_context(unset):
            return draw(*args, **kwargs)

    return styled


def on_axes(axes: Axes | None, size: tuple[float, float]) -> Axes:
    """The axes, or those of a new figure of that size in inches."""
    if axes is not None:
        return axes
    from matplotlib.figure import Figure

    return Figure(figsize=size).add_subplot()


def figure_of(axes: Axes) -> Figure:
    """The figure that the axes are part of, for `savefig`.

    Raises:
        ValueError: if they were removed from it.
    """
    figure = axes.get_figure(root=True)
    if figure is None:
        raise ValueError("the axes were removed from their figure")
    return figure


def power(value: float, place: float = 0) -> str:
    """The label of a tick on a logarithmic axis: 0.01, 100, 10⁵; plain text, which every reader can copy.

    Args:
        value: the tick's.
        place: its number on the axis, which matplotlib gives.
    """
    if value == 0 or 1e-3 <= abs(value) < 1e5:
        return f"{value:,g}".replace("-", "−")
    exponent = round(np.log10(abs(value)))
    digits = str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"{'−' if value < 0 else ''}10{digits}"


def in_lines(text: str) -> str:
    """Text beside a figure in lines of at most 34 characters, or in the lines that it has."""
    return text if "\n" in text else "\n".join(textwrap.wrap(text, 34, break_on_hyphens=False))


def outside_legend(axes: Axes) -> None:
    """A legend to the right of the axes, of what has a label."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        labels = [in_lines(text) for text in labels]
        axes.legend(handles, labels, loc="upper left", bbox_to_anchor=(1.02, 1.02), borderaxespad=0)
        _make_room(axes, sum(text.count("\n") + 1 for text in labels), 0.5)


def legend_below(axes: Axes) -> None:
    """A legend below the axes, of what has a label; in two columns where all labels are short."""
    handles, labels = axes.get_legend_handles_labels()
    labels = [in_lines(text) for text in labels]
    columns = 2 if max(map(len, labels), default=0) <= 24 else 1
    place = (0.5, -0.16 if axes.axison else -0.02)
    axes.legend(handles, labels, loc="upper center", bbox_to_anchor=place, ncols=columns)
    _make_room(axes, sum(text.count("\n") + 1 for text in labels) // columns, 3.4)


def _make_room(axes: Axes, lines: int, beside: float) -> None:
    """Make the figure as tall as a legend of so many lines and `beside` inches more, if it is not."""
    figure = figure_of(axes)
    if len(figure.axes) == 1:
        figure.set_figheight(max(figure.get_figheight(), 0.15 * lines + beside))


def write_caption(axes: Axes, lines: Sequence[str]) -> None:
    """Small text below the axes, left-aligned, as wide as the figure."""
    width = max(int(figure_of(axes).get_size_inches()[0] * 15), 40)
    text = "\n".join(wrapped for line in lines for wrapped in textwrap.wrap(line, width))
    below: Any = axes.xaxis.label if axes.axison else axes.transAxes
    axes.annotate(
        text,
        xy=(0, 0),
        xycoords=(axes.transAxes, below),
        xytext=(0, -6),
        textcoords="offset points",
        fontsize=7,
        color="#555555",
        va="top",
        annotation_clip=False,
        gid="caption",
    )


def shown_and_others(agents: Sequence[str], most: int) -> tuple[list[str], list[str]]:
    """The agents that have a color, and those that are gray, each in order; users' own ones come first."""
    own = [agent for agent in agents if is_own(agent)]
    first = [*own, *(agent for agent in agents if agent not in own)][:most]
    return [a for a in agents if a in first], [a for a in agents if a not in first]


def gray_note(others: Sequence[str]) -> list[str]:
    """A line of a caption that names the agents drawn in gray; none if there are none."""
    return [f"Gray: {', '.join(others)}."] if others else []
