"""Numbers in words: the verdict as a sentence, and label, unit and meaning of every metric."""

from dataclasses import replace
from typing import NamedTuple

from akd.contact.measures import PENETRATION_DEPTH
from akd.measure.evaluation import BROKEN_DEPTH, FLOATING_HEIGHT, Evaluation, movement, verdict


class Metric(NamedTuple):
    """How one field of an ``Evaluation`` is shown."""

    field: str
    label: str
    unit: str
    """"%" shows a share as a percentage; anything else is written behind the number."""
    meaning: str


METRICS: dict[str, tuple[Metric, ...]] = {
    "Feet and ground": (
        Metric("skating_ratio", "skating", "%", "of foot contact; a perfect stride shows a few per cent"),
        Metric("contact_share", "contact", "%", "of all feet and frames; floating feet do not skate"),
        Metric("slide", "slide", "ℓ per frame", "mean step of feet near the ground"),
        Metric("penetration_max", "deepest", "ℓ", "lowest point of the skin under the ground"),
        Metric("penetration_mean", "depth", "ℓ", "mean over frames"),
        Metric("penetration_share", "frames in the ground", "%", "deeper than 0.005 ℓ"),
        Metric("float_height", "float", "ℓ", "mean height of the lowest point of the skin"),
        Metric("air_time", "air time", "%", "of frames with no foot near the ground"),
        Metric("corner_depth", "bones in the ground", "ℓ", "mean depth of the corners of the bones' cuboids"),
        Metric("ground_heights", "ground of each foot", "ℓ", "where stance feet were taken to stand"),
    ),
    "Gait": (
        Metric("gait", "nearest gait", "", "by the order in which feet land"),
        Metric("stride_frequency", "strides", "Hz", "one for all feet"),
        Metric("duty_factor", "duty factor", "%", "of a stride on the ground; walks are above 50 %"),
        Metric("alternation", "alternation", "", "left against right, front to hind; 1 opposite, 0 together"),
        Metric("phases", "touch-down", "", "each leg's share of the stride, front to hind, left first"),
        Metric("amplitudes", "amplitude", "ℓ", "half of each foot's swing"),
        Metric("heading", "heading", "", "1 goes where it faces, −1 backwards"),
        Metric("crossed_limbs", "crossed legs", "%", "of frames"),
        Metric("treadmill_speed", "treadmill", "ℓ/s", "speed a clip in place pretends to have"),
        Metric("froude", "Froude number", "", "v² / g ℓ; people break into a run near 0.5"),
    ),
    "Movement": (
        Metric("motion_amount", "amount", "ℓ/s", "mean path of the joints as seen from the root"),
        Metric("travel", "travel", "ℓ/s", "path of the root over the ground"),
        Metric("frame_count", "frames", "", ""),
        Metric("fps", "rate", "per second", ""),
    ),
    "Smoothness": (
        Metric("jerk", "jerk", "ℓ/s³", "mean over joints"),
        Metric("high_band", "shaking", "%", "of joint-angle power above 8 Hz"),
        Metric("laplacian", "second difference", "", "of root placement and joint angles"),
        Metric("loop_error", "gap between the ends", "ℓ", "of pose and velocity; small where the clip loops"),
        Metric("bone_stretch", "bone stretch", "%", "variation of bone lengths"),
    ),
}
"""Every number of an ``Evaluation``, in the order they are read."""


def metric_text(value: object, unit: str = "") -> str:
    """A value with its unit; what is too small for three decimals is zero, and what was not measured is a dash."""
    if value is None:
        return "–"
    if isinstance(value, tuple):
        return " · ".join(metric_text(item) for item in value) + (f" {unit}" if unit else "")
    if isinstance(value, float) and unit == "%":
        return f"{100 * value:.3g} %" if value >= 5e-4 else "0 %"
    return f"{_number(value) if isinstance(value, float) else value} {unit}".strip()


def verdict_sentence(evaluation: Evaluation, asked: str | None = None) -> str:
    """The verdict and the number that decides it. ``asked``: the action it should show, if it was evaluated without."""
    e = evaluation if asked is None else replace(evaluation, verdict=verdict(vars(evaluation), asked))
    if e.verdict == "broken" and e.penetration_mean > BROKEN_DEPTH:
        return f"Broken: the body is {e.penetration_mean:.2f} ℓ deep in the ground on average."
    if e.verdict == "broken":
        return f"Broken: it shakes, with {_percent(e.high_band)} of the power of its joints above 8 Hz."
    if e.verdict == "tiny":
        return f"Tiny: the joints move only {e.motion_amount:.2f} ℓ/s, which can hardly be seen."
    if e.verdict == "hardly moves":
        return f"Hardly moves: its joints and feet move only {movement(vars(e)):.2f} ℓ/s, less than nearly every walk or jump."
    if e.verdict == "floating" and e.float_height > FLOATING_HEIGHT:
        return f"Floating: the body hovers {e.float_height:.2f} ℓ above the ground on average."
    if e.verdict == "floating":
        return f"Floating: no foot is near the ground for {_percent(e.air_time)} of the time."
    if e.verdict == "sliding":
        return f"Sliding: feet skate in {_percent(e.skating_ratio)} of their contact with the ground."
    return f"Good: {_what_it_does(e)}{_how_it_stands(e)}."


def _what_it_does(e: Evaluation) -> str:
    if not e.gait:
        return f"the joints move {e.motion_amount:.2g} ℓ/s"
    article = "an" if e.gait[0] in "aeiou" else "a"
    return f"{article} {e.gait} at {e.treadmill_speed or e.travel:.2g} ℓ/s"


def _how_it_stands(e: Evaluation) -> str:
    if e.skating_ratio is None:
        return ""
    sinks = (
        f"the body sinks {e.penetration_max:.2f} ℓ at most"
        if e.penetration_max > PENETRATION_DEPTH
        else "nothing sinks into the ground"
    )
    return f"; feet skate in {_percent(e.skating_ratio)} of their contact, and {sinks}"


def _number(value: float) -> str:
    if abs(value) < 5e-4:
        return "0"
    return (f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}").replace("-", "−")


def _percent(share: float | None) -> str:
    """With a space that does not break."""
    return f"{100 * (share or 0.0):.0f}\N{NO-BREAK SPACE}%"
