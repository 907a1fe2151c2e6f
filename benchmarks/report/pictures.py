"""Figures as elements of a page."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Collection
from io import BytesIO
from typing import TYPE_CHECKING

from markupsafe import Markup

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG, _LINK = "http://www.w3.org/2000/svg", "{http://www.w3.org/1999/xlink}href"
ET.register_namespace("", _SVG)
ET.register_namespace("xlink", "http://www.w3.org/1999/xlink")
_COORDINATES = ("d", "x", "y", "width", "height", "points")


def inline_svg(figure: Figure, name: str, title: str, text: str, *, off: Collection[str] = ()) -> Markup:
    """A figure as an SVG element with a title and a description.

    Groups that the figure calls "agent SPEC" or "band SPEC" (by `gid`) get the class `curve` or `band` and
    the spec as `data-agent`, so that the page can hide and show them. Coordinates keep one decimal.

    Args:
        figure: the figure.
        name: stands in front of the ids, which must be unique in the page.
        title: its name for those who do not see it.
        text: what it shows, likewise.
        off: agents whose curves are hidden at first, by the class `off`.
    """
    import matplotlib

    out = BytesIO()
    # Every point of a curve stays, since the page marks them.
    with matplotlib.rc_context({"path.simplify": False, "savefig.bbox": "standard"}):
        figure.savefig(out, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    root = ET.fromstring(out.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{_SVG}}}metadata":
                parent.remove(child)
    linked = {part for element in root.iter() for value in element.attrib.values() for part in _links(value)}
    for element in root.iter():
        _tidy(element, name, linked, off)
    width = float(root.attrib.pop("width").removesuffix("pt"))
    root.attrib.pop("height")
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{name}-t {name}-d",
        "style": f"width:{width * 4 / 3:.0f}px",
    }
    for place, (tag, content) in enumerate((("title", title), ("desc", text))):
        element = ET.Element(f"{{{_SVG}}}{tag}", {"id": f"{name}-{tag[0]}"})
        element.text = content
        root.insert(place, element)
    return Markup(ET.tostring(root, encoding="unicode"))


def _links(value: str) -> list[str]:
    """The ids that an attribute refers to: "#id" or "url(#id)"."""
    if value.startswith("#"):
        return [value[1:]]
    return [part.partition(")")[0] for part in value.split("url(#")[1:]]


def _tidy(element: ET.Element, name: str, linked: set[str], off: Collection[str]) -> None:
    """Unique ids, agents as data, short numbers, and no blanks between elements."""
    element.tail = None
    if not element.tag.endswith(("text", "tspan", "style", "title", "desc")):
        element.text = None
    given = element.attrib.pop("id", "")
    kind, _, agent = given.partition(" ")
    if kind in ("agent", "band") and agent:
        shown = "curve" if kind == "agent" else "band"
        element.attrib |= {"class": f"{shown} off" if agent in off else shown, "data-agent": agent}
    elif given in linked:
        element.set("id", f"{name}-{given}")
    for key, value in element.attrib.items():
        if key == _LINK and value.startswith("#"):
            element.set(key, f"#{name}-{value[1:]}")
        elif "url(#" in value:
            element.set(key, value.replace("url(#", f"url(#{name}-"))
        elif key in _COORDINATES:
            element.set(key, " ".join(map(_short, value.split())))
        elif key == "style":
            element.set(key, ";".join(map(_plain, value.split("; "))))


def _short(number: str) -> str:
    """A number with one decimal; other words of a path as they are."""
    try:
        return f"{float(number):.1f}".removesuffix(".0")
    except ValueError:
        return number


def _plain(declaration: str) -> str:
    """A style without the list of fonts: the page has one."""
    key, colon, value = declaration.partition(": ")
    if key == "font-family":
        return "font-family:sans-serif"
    if key == "font":
        return f"font:{value.partition(chr(39))[0]}sans-serif"
    return f"{key}:{value}" if colon else declaration
