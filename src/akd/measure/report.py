"""The report: one page that plays the animation, plots what feet and joints do, and says how good it is.

Everything is inside the file, the 3D view too, so it opens anywhere and needs no network. Plots are HTML: a stretched SVG for the
lines, ordinary text around it, colours from the page's style sheet.
"""

import base64
import io
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from PIL import Image

import akd
from akd.assets import moves_own_file
from akd.contact.measures import in_contact
from akd.contact.traces import Trace, trace
from akd.files.gltf.write_rig import GLTF_FROM_STAGE
from akd.files.writing import write_file
from akd.measure.evaluation import Evaluation
from akd.measure.wording import METRICS, metric_text, verdict_sentence
from akd.motion import Motion
from akd.rig import Rig
from akd.skeleton import Kind, Limb, Skeleton

WIDTH, HEIGHT = 1000, 100
"""Size of a plot's own coordinates; the page stretches them."""
MARGIN = 0.08
"""Empty share above and below the lines."""
LINE_COUNT = 3
"""Line colours the style sheet has."""
Series = Float[np.ndarray, " sample"]
Bounds = tuple[float, float]
Picture = UInt8[np.ndarray, "height width 3"]
KINDS: tuple[Kind, ...] = ("leg", "arm", "wing", "fin", "spine", "neck", "head", "tail")
"""The order in which limbs are shown."""
AXES = ("twist", "swing", "sideways")
"""What the three angles of a joint do."""
STILL_DEGREES = 5.0
"""A limb whose joints turn less than this is only mentioned [degrees]."""
MIN_ANGLE_SPAN, MIN_HEIGHT_SPAN = 20.0, 0.2
"""Plots of joint angles [degrees] and of the root's height [ℓ] span at least this much."""


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


def write_report(
    path: Path, rig: Rig, motion: Motion, glb: Path, *, title: str, evaluation: Evaluation, settings: Mapping[str, str],
    strip: Picture | None = None, curves: Mapping[str, Sequence[float]] | None = None, clip: str | None = None,
    tracking: Sequence[tuple[str, str, str, str]] | str | None = None,
) -> None:  # fmt: skip
    """Write the page. ``glb`` is the animated character and ``clip`` the animation in it to play (the last, if not said).

    ``evaluation`` is of this motion; ``strip`` shows some of its frames; ``curves`` are numbers per iteration; ``tracking``
    compares the motion with its simulation (metric, given, target, simulated), or says why there is none.
    """
    write_file(path, report_page(
        rig, motion, glb.read_bytes(), title=title, evaluation=evaluation, settings=settings, strip=strip,
        curves=curves or {}, clip=clip, file_name=glb.name, tracking=tracking,
    ))  # fmt: skip


def report_page(
    rig: Rig, motion: Motion, glb: bytes, *, title: str, evaluation: Evaluation, settings: Mapping[str, str],
    strip: Picture | None, curves: Mapping[str, Sequence[float]], clip: str | None, file_name: str,
    tracking: Sequence[tuple[str, str, str, str]] | str | None = None,
) -> str:  # fmt: skip
    """The text of ``write_report``."""
    traced = trace(rig, motion)
    sections = (
        _strip(strip), _feet(rig, traced, evaluation), _root(traced), _joints(rig.skeleton, motion),
        _metrics(evaluation), _tracking(tracking), _curves(curves), _settings(settings),
    )  # fmt: skip
    return Template(_part("report.html")).substitute(
        title=escape(title), style=_part("report.css"), verdict=evaluation.verdict, sentence=escape(verdict_sentence(evaluation)),
        facts=escape(f"{rig.name} · {motion.duration:.2f} s · {motion.frame_count} frames at {motion.fps:.3g} per second"),
        sections="\n\n".join(filter(None, sections)), leg_metres=f"{rig.leg_metres:.3g}", version=akd.__version__,
        file_name=escape(file_name), scene=_scene(rig, evaluation, clip), glb=base64.b64encode(glb).decode(),
        three_license=_part("three.LICENSE"), three=_part("three.min.js"), viewer=_part("viewer.js"),
    )  # fmt: skip


def foot_contact(traced: Trace, evaluation: Evaluation) -> Bool[np.ndarray, "frame foot"]:
    """Which feet are on the ground, each measured from its own ground where the file's clip has one."""
    return in_contact(traced.feet - np.array(evaluation.ground_heights or 0.0)[..., None] * np.array([0.0, 1.0, 0.0]))


def limb_title(limb: Limb, limbs: tuple[Limb, ...]) -> str:
    """A readable name: left hind leg, right leg 3, tail."""
    count = sum(other.kind == limb.kind and other.side == limb.side for other in limbs)
    side = {"L": "left ", "R": "right ", "C": ""}[limb.side]
    if count == 2 and limb.kind == "leg":
        return f"{side}{('front', 'hind')[limb.order]} {limb.kind}"
    return f"{side}{limb.kind}" + (f" {limb.order + 1}" if count > 1 else "")


def most_moving(limb: Limb, degrees: Float[np.ndarray, "frame joint 3"], names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """The one angle that changes most of each of the limb's most-moving joints, by its name."""
    spread = np.ptp(degrees, axis=0)
    joints = sorted((j for j in limb.joints if j != 0), key=lambda j: -spread[j].max())[:LINE_COUNT]
    axes = {joint: int(spread[joint].argmax()) for joint in sorted(joints)}
    moving = {joint: axis for joint, axis in axes.items() if spread[joint, axis] > STILL_DEGREES}
    return {f"{names[joint]}, {AXES[axis]}": degrees[:, joint, axis] for joint, axis in moving.items()}


def _part(name: str) -> str:
    return (files("akd.measure") / "page" / name).read_text(encoding="utf-8")


def _section(title: str, hint: str, content: str) -> str:
    return f'<section class="card"><h2>{escape(title)}</h2><p class="hint">{escape(hint)}</p>{content}</section>'


def _scene(rig: Rig, evaluation: Evaluation, clip: str | None) -> str:
    """Settings of the 3D view as JSON; ``<`` is escaped, so that no name can end the script it stands in."""
    inverse = np.linalg.inv(_glb_from_stage(rig))
    scene = {"clip": clip, "stage_from_glb": inverse.ravel().tolist(), "treadmill": evaluation.treadmill_speed or 0.0}
    return json.dumps(scene).replace("<", "\\u003c")


def _glb_from_stage(rig: Rig) -> Float[np.ndarray, "4 4"]:
    """A character that came as glTF keeps its own place in its file; others are written in metres and face +Z."""
    if rig.origin is not None and moves_own_file(rig):
        return rig.origin.T_file_stage
    place = np.eye(4)
    place[:3, :3] = rig.leg_metres * GLTF_FROM_STAGE
    return place


def _strip(strip: Picture | None) -> str:
    if strip is None:
        return ""
    buffer = io.BytesIO()
    Image.fromarray(strip).save(buffer, "JPEG", quality=92, subsampling=0)
    picture = base64.b64encode(buffer.getvalue()).decode()
    image = f'<div class="strip"><img alt="Frames of the motion, in order" src="data:image/jpeg;base64,{picture}"></div>'
    return _section("Film strip", "Frames from the first to the last.", image)


def _time_ends(traced: Trace) -> tuple[str, str]:
    return "0 s", f"{(len(traced.joints) - 1) / traced.fps:.2f} s"


def _feet(rig: Rig, traced: Trace, evaluation: Evaluation) -> str:
    if not rig.legs:
        return ""
    labels = tuple(limb_title(leg, rig.skeleton.limbs) for leg in rig.legs)
    chart = contact_chart(labels, foot_contact(traced, evaluation), _time_ends(traced))
    return _section("Feet on the ground", "Filled where a foot touches the ground, and the share of time it does.", chart)


def _root(traced: Trace) -> str:
    root = traced.joints[:, 0]
    speed = np.linalg.norm(np.gradient(root[:, [0, 2]], axis=0), axis=-1) * traced.fps if len(root) > 1 else np.zeros(1)
    height = root[:, 1]
    shown = (
        ("speed over the ground [ℓ/s]", speed, common_bounds(speed, np.zeros(1))),
        ("height [ℓ]", height, common_bounds(height, least=MIN_HEIGHT_SPAN)),
    )
    panels = [line_panel(name, {name: line}, unit="", ends=_time_ends(traced), bounds=b, seek=True) for name, line, b in shown]
    return _section("Root", "Where the body goes as a whole.", _panels(panels))


def _joints(skeleton: Skeleton, motion: Motion) -> str:
    degrees = torch.rad2deg(motion.pose.angles.detach().double()).cpu().numpy()
    ends = "0 s", f"{motion.duration:.2f} s"
    panels, still = [], []
    for kind in KINDS:
        limbs = {limb_title(limb, skeleton.limbs): limb for limb in skeleton.limbs_of(kind)}
        lines = {title: most_moving(limb, degrees, skeleton.names) for title, limb in limbs.items()}
        # Left and right share a scale, so that a limp shows.
        bounds = common_bounds(*(line for chosen in lines.values() for line in chosen.values()), least=MIN_ANGLE_SPAN)
        panels += [line_panel(t, chosen, unit="°", ends=ends, bounds=bounds, seek=True) for t, chosen in lines.items() if chosen]
        still += [title for title, chosen in lines.items() if not chosen]
    resting = f" Hardly moving: {', '.join(still)}." if still else ""
    hint = f"The joints of each limb that move most, away from the rest pose.{resting}"
    return _section("Joint angles", hint, _panels(panels)) if panels or still else ""


def _metrics(evaluation: Evaluation) -> str:
    tables = "".join(
        f"<table><caption>{escape(group)}</caption>{''.join(_metric_row(evaluation, *metric) for metric in metrics)}</table>"
        for group, metrics in METRICS.items()
    )
    notes = "".join(f"<li>{escape(note)}</li>" for note in evaluation.notes)
    content = f'<div class="tables">{tables}</div>' + (f'<ul class="notes">{notes}</ul>' if notes else "")
    return _section("Measured", "Lengths in leg lengths ℓ. Read numbers in pairs: a frozen clip is perfectly smooth.", content)


def _tracking(rows: Sequence[tuple[str, str, str, str]] | str | None) -> str:
    """What physics made of the motion."""
    if rows is None:
        return ""
    if isinstance(rows, str):
        return _section("Tracked in physics", rows, "")
    head = "".join(f"<th>{title}</th>" for title in ("", "given", "target", "simulated"))
    body = "".join("<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    table = f'<div class="tables"><table><tr>{head}</tr>{body}</table></div>'
    return _section("Tracked in physics", "The motion as it was, prepared for physics, and simulated; files in tracked/.", table)


def _metric_row(evaluation: Evaluation, name: str, label: str, unit: str, meaning: str) -> str:
    value = metric_text(getattr(evaluation, name), unit)
    return f"<tr><th>{escape(label)}<small>{escape(meaning)}</small></th><td>{escape(value)}</td></tr>"


def _curves(curves: Mapping[str, Sequence[float]]) -> str:
    panels = [
        line_panel(name, {name: np.asarray(values, float)}, unit="", ends=("1", str(len(values))), seek=False)
        for name, values in curves.items() if len(values)
    ]  # fmt: skip
    return _section("How it was found", "Per iteration.", _panels(panels)) if panels else ""


def _settings(settings: Mapping[str, str]) -> str:
    rows = "".join(f"<tr><th>{escape(name)}</th><td>{escape(value)}</td></tr>" for name, value in settings.items())
    return _section("Settings", "What is needed to make it again.", f'<table class="settings">{rows}</table>') if rows else ""


def _panels(panels: list[str]) -> str:
    return f'<div class="panels">{"".join(panels)}</div>'
