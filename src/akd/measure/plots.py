"""Small plots as HTML: a stretched SVG for the lines, ordinary text around it, colours from the page's style sheet.

Lines stretch with the page while letters keep their size, which a plain SVG picture cannot do.
"""

from collections.abc import Mapping
from html import escape

import numpy as np
from jaxtyping import Bool, Float

WIDTH, HEIGHT = 1000, 100
"""Size of a plot's own coordinates; the page stretches them."""
MARGIN = 0.08
"""Empty share above and below the lines."""
LINE_COUNT = 3
"""Line colours the style sheet has."""
Series = Float[np.ndarray, " sample"]
Bounds = tuple[float, float]


def line_panel(
    title: str, lines: Mapping[str, Series], *, unit: str, ends: tuple[str, str], bounds: Bounds | None = None, seek: bool
) -> str:
    """Lines over a common axis whose ``ends`` are labelled. ``seek``: the axis is the clip's time, and shows the moment."""
    low, high = bounds or common_bounds(*lines.values())
    paths = "".join(
        f'<path d="{_path(values, low, high)}" style="stroke: var(--line-{i % LINE_COUNT})"/>'
        for i, values in enumerate(lines.values())
    )
    zero = f'<line x1="0" x2="{WIDTH}" y1="{(y := _down(0.0, low, high)):.4g}" y2="{y:.4g}"/>' if low < 0 < high else ""
    ticks = _tick("top", high, unit) + _tick("bottom", low, unit)
    return (
        f'<div class="panel"><h3>{escape(title)}</h3><div class="plot{" seek" if seek else ""}">{_svg(zero + paths)}{ticks}</div>'
        f"{_span(ends)}{_legend(tuple(lines)) if len(lines) > 1 or title not in lines else ''}</div>"
    )


def contact_chart(labels: tuple[str, ...], contact: Bool[np.ndarray, "frame foot"], ends: tuple[str, str]) -> str:
    """One row per foot over time, dark where it is on the ground."""
    names = "".join(f"<span>{escape(label)}</span>" for label in labels)
    shares = "".join(f"<span>{100 * share:.0f} %</span>" for share in contact.mean(0))
    bars = [_svg(_bars(low)) for low in contact.T]
    rows = "".join(f'<div class="row" data-foot="{escape(x)}">{bar}</div>' for x, bar in zip(labels, bars, strict=True))
    return (
        f'<div class="feet"><div class="labels">{names}</div><div class="rows seek">{rows}</div>'
        f'<div class="shares">{shares}</div>{_span(ends)}</div>'
    )


def common_bounds(*lines: Float[np.ndarray, " _"], least: float = 0.0) -> Bounds:
    """Lowest and highest of the finite values, at least ``least`` apart: small things must not look large."""
    values = np.concatenate([line[np.isfinite(line)] for line in lines] or [np.zeros(0)])
    low, high = (float(values.min()), float(values.max())) if values.size else (0.0, 0.0)
    missing = max(least, 1e-6 * max(abs(low), abs(high), 1.0)) - (high - low)
    return (low - missing / 2, high + missing / 2) if missing > 0 else (low, high)


def _path(values: Series, low: float, high: float) -> str:
    """The pen is lifted where a value is not finite."""
    points, pen = [], "M"
    for x, value in zip(np.linspace(0, WIDTH, len(values)), values, strict=True):
        if np.isfinite(value):
            points.append(f"{pen}{x:.5g},{_down(float(value), low, high):.4g}")
        pen = "L" if np.isfinite(value) else "M"
    return "".join(points)


def _down(value: float, low: float, high: float) -> float:
    """Height on the picture, counted from its top."""
    return HEIGHT * (1 - MARGIN - (1 - 2 * MARGIN) * (value - low) / (high - low))


def _bars(low: Bool[np.ndarray, " frame"]) -> str:
    """A frame is an instant and stands for the time until halfway to its neighbours."""
    changes = np.flatnonzero(np.diff(np.concatenate(([False], low, [False])).astype(int)))
    edges = np.clip((changes - 0.5) / max(len(low) - 1, 0.5), 0, 1) * WIDTH
    return "".join(f'<rect x="{a:.2f}" width="{b - a:.2f}" height="{HEIGHT}"/>' for a, b in edges.reshape(-1, 2))


def _tick(place: str, value: float, unit: str) -> str:
    return f'<span class="tick {place}">{f"{value:.3g}".replace("-", "−")}{unit}</span>'


def _svg(content: str) -> str:
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" aria-hidden="true">{content}</svg>'


def _span(ends: tuple[str, str]) -> str:
    return f'<div class="span"><span>{escape(ends[0])}</span><span>{escape(ends[1])}</span></div>'


def _legend(names: tuple[str, ...]) -> str:
    items = (f'<li><i style="background: var(--line-{i % LINE_COUNT})"></i>{escape(name)}</li>' for i, name in enumerate(names))
    return f'<ul class="legend">{"".join(items)}</ul>'
