"""Pictures of play: policies on the 2-simplex or as stacked bars, beside the running regret.

matplotlib is imported when the first picture is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from regret_envs.arrays import FloatArray
from regret_envs.envs.rounds import SeatRecord
from regret_envs.names import lookup

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RENDER_MODES = ("human", "rgb_array", "ansi")


class Renderer:
    """Watches the first run of an environment and draws it.

    Args:
        mode: "human" draws in a window, by itself in every round; "rgb_array" returns the picture as
            (height, width, 3) uint8; "ansi" returns a line about the last round.
        names: what to call the seats.

    Raises:
        UnknownNameError: for another mode; lists the near ones.
    """

    def __init__(self, mode: str, names: Sequence[str]) -> None:
        lookup("render_mode", mode, dict.fromkeys(RENDER_MODES))
        self.mode = mode
        self._names = names
        self._figure: Figure | None = None
        self._horizon = 0

    def reset(self, seats: Sequence[SeatRecord], horizon: int) -> None:
        """Forget the previous episode."""
        self._horizon = horizon
        # One array per seat, one row per round.
        self._policies: list[FloatArray] = [np.empty((0, seat.policies.shape[1])) for seat in seats]
        self._losses = [np.empty_like(p) for p in self._policies]
        self._incurred = [np.empty(0) for _ in seats]
        if self.mode == "human":
            self.render()

    def watch(self, seats: Sequence[SeatRecord]) -> None:
        """Take in a round."""
        for n, seat in enumerate(seats):
            self._policies[n] = np.vstack([self._policies[n], seat.policies[:1]])
            self._losses[n] = np.vstack([self._losses[n], seat.losses[:1]])
            self._incurred[n] = np.append(self._incurred[n], -seat.rewards[0])
        if self.mode == "human":
            self.render()

    def render(self) -> npt.NDArray[np.uint8] | str | None:
        """Draw or describe the play so far, as `mode` says.

        Raises:
            ImportError: if a picture is asked for and matplotlib is not installed.
        """
        if self.mode == "ansi":
            return self._line()
        try:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure
        except ImportError as error:
            raise ImportError(
                f'render_mode={self.mode!r} needs matplotlib: pip install "regret-envs[plot]"'
            ) from error
        if self.mode == "human":
            self._show()
            return None
        if self._figure is None:
            self._figure = Figure(dpi=80)
        canvas: Any = FigureCanvasAgg(self._figure)
        self._draw(self._figure)
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._figure is not None and self.mode == "human":
            from matplotlib import pyplot

            pyplot.close(self._figure)
        self._figure = None

    def _show(self) -> None:
        from matplotlib import pyplot

        if self._figure is None:
            self._figure = pyplot.figure()
        self._draw(self._figure)
        self._figure.show()  # without a display matplotlib warns that it shows nothing
        self._figure.canvas.draw_idle()
        self._figure.canvas.flush_events()

    def _regrets(self) -> list[FloatArray]:
        """The running external regret Σ incurred − min_a Σ ℓ(a) of every seat, after each round."""
        pairs = zip(self._incurred, self._losses, strict=True)
        return [incurred.cumsum() - losses.cumsum(0).min(1) for incurred, losses in pairs]

    def _line(self) -> str:
        t = len(self._incurred[0])
        parts = [f"round {t}/{self._horizon}"]
        if t:
            for n, (name, regret) in enumerate(zip(self._names, self._regrets(), strict=True)):
                policy = " ".join(f"{p:.2f}" for p in self._policies[n][-1])
                parts.append(f"{name} [{policy}] loss {self._incurred[n][-1]:+.3f} regret {regret[-1]:+.3f}")
        return " | ".join(parts)

    def _draw(self, figure: Figure) -> None:
        panels = len(self._names) + 1
        columns = min(panels, 4)
        rows = -(-panels // columns)
        figure.clear()
        figure.set_size_inches(3.2 * columns, 3.2 * rows)
        figure.set_layout_engine("constrained")
        for n, (name, policies) in enumerate(zip(self._names, self._policies, strict=True)):
            axes = figure.add_subplot(rows, columns, n + 1)
            axes.set_title(name, pad=14)
            if policies.shape[1] == 3:
                _draw_simplex(axes, policies)
            else:
                axes.set_xlim(0, self._horizon)
                _draw_bars(axes, policies)
        axes = figure.add_subplot(rows, columns, panels)
        axes.set_title("regret", pad=14)
        axes.set_xlabel("round")
        axes.axhline(0, color="0.8", linewidth=0.8)
        for name, regret in zip(self._names, self._regrets(), strict=True):
            axes.plot(np.arange(1, len(regret) + 1), regret, label=name)
        axes.set_xlim(0, self._horizon)
        axes.legend(fontsize="small")


_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def _draw_simplex(axes: Axes, policies: FloatArray) -> None:
    """The path of the policies in the triangle whose corners are the actions; later is darker."""
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.fill(*_CORNERS.T, facecolor="none", edgecolor="0.4")
    for action, (x, y) in enumerate(_CORNERS):
        offset: dict[str, Any] = {"xytext": (0, -11 if y == 0 else 5), "textcoords": "offset points"}
        axes.annotate(str(action), (x, y), ha="center", **offset)
    if len(policies):
        x, y = (policies @ _CORNERS).T
        axes.plot(x, y, color="0.75", linewidth=0.8)
        axes.scatter(x, y, c=np.arange(len(x)), cmap="viridis_r", s=10)
        axes.scatter(x[-1], y[-1], color="crimson", s=45, zorder=3)


_MAX_BARS = 80


def _draw_bars(axes: Axes, policies: FloatArray) -> None:
    """Stacked bars of the actions' probabilities, averaged over consecutive rounds if there are many."""
    axes.set_ylim(0, 1)
    axes.set_xlabel("round")
    if not len(policies):
        return
    edges = np.unique(np.linspace(0, len(policies), min(len(policies), _MAX_BARS) + 1).astype(int))
    widths = np.diff(edges)
    means = np.add.reduceat(policies, edges[:-1], axis=0) / widths[:, None]
    bottom = np.zeros(len(means))
    for action, heights in enumerate(means.T):
        axes.bar(edges[:-1], heights, widths, bottom, align="edge", label=str(action))
        bottom += heights
    if means.shape[1] <= 10:
        axes.legend(title="action", fontsize="x-small", loc="lower right")
