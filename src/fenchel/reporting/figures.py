"""Pictures of a report: drawn by matplotlib without a window, embedded as SVG."""

from __future__ import annotations

import base64
from collections.abc import Callable
from io import BytesIO
from typing import Any

from fenchel.markup import Markup, element

#: of an inch, at full size
_PIXELS = 100


def needs_matplotlib() -> None:
    """Raise a clear error if the pictures can't be drawn."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError as error:
        raise ImportError("a report needs matplotlib for its pictures: pip install 'fenchel[plot]'") from error


def picture(draw: Callable[[Any], Any], alt: str, size: tuple[float, float] = (4.6, 3.3), caption: str = "") -> Markup:
    """A figure that ``draw`` draws on the Axes that it is given."""
    import matplotlib as mpl
    from matplotlib import style
    from matplotlib.figure import Figure

    # whatever style the user has set, and the same file for the same picture
    settings: Any = {"svg.hashsalt": "fenchel", "svg.fonttype": "path", "font.size": 10}
    with style.context("default"), mpl.rc_context(settings):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure.subplots())
        stream = BytesIO()
        figure.savefig(stream, format="svg", transparent=True, metadata={"Date": None})
    source = f"data:image/svg+xml;base64,{base64.b64encode(stream.getvalue()).decode('ascii')}"
    below = [element("figcaption", caption)] if caption else []
    # letters have the same size in all pictures
    width = f"width: {round(_PIXELS * size[0])}px"
    return element("figure", element("img", src=source, alt=alt, style=width), *below)


def side_by_side(*figures: Markup) -> Markup:
    """Figures beside each other where there is room, else below each other."""
    return element("div", *figures, class_="figures")
