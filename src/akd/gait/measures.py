"""Measures of gait: stride period, touch-down phase, duty factor and amplitude of each foot, and the name of the gait.

``fore_aft`` is frame × foot: how far each foot is in front of the root along the body's heading (root x, z and yaw
removed; pitch and roll left, since strides are made on the ground). ``feet`` is as in ``contact.measures``. Legs are ordered as
in ``Skeleton.limbs_of("leg")``: front to hind, left before right; LF, RF, LH, RH for a quadruped.

Readings of the definition:

- All feet share one stride period: that which explains most of their motion together. A clip whose ends meet is taken
  to hold a whole number of strides (often exactly one), read off its Fourier series; of any other clip straight trend
  and sinusoid are fitted together, because removing the trend first would bend a clip of few strides.
- Touch-down is the moment from which a foot is below the contact height and no longer swings forward, interpolated
  between frames: drawn feet skim the ground long before they land. Of the contacts within a stride the longest
  counts. Where some foot has none inside the clip, *every* foot's phase is that of its foremost point.
- Forward is the direction of travel: for a clip that walks backwards, ``fore_aft`` is to be given with its sign turned.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from akd.contact.measures import CONTACT_HEIGHT, Feet, in_contact
from akd.rig import GRAVITY

MIN_AMPLITUDE = 0.1
"""Feet that swing less than this do not walk [ℓ]."""
MIN_TRAVEL_SPEED = 0.05
"""A root that travels no faster than this has no heading [ℓ/s]."""
QUADRUPED_PHASES = {
    "walk": (0.0, 0.5, 0.75, 0.25),
    "trot": (0.0, 0.5, 0.5, 0.0),
    "pace": (0.0, 0.5, 0.0, 0.5),
    "bound": (0.0, 0.0, 0.5, 0.5),
    "gallop": (0.0, 0.1, 0.5, 0.6),
}
"""Touch-down phases of LF, RF, LH, RH."""
MAX_PHASE_DISTANCE = 0.11
"""Beyond this mean phase distance [strides] no template fits; walk and trot are 0.125 apart."""
CYCLE_GRID = 20
"""Numbers of cycles per clip among which a stride is searched for, per cycle."""
LIKELY_CYCLES = 16
"""Of these the most likely by Fourier transform are compared exactly."""
BASIS_ROWS = 1_000_000
"""Frames × numbers of cycles that are fitted at a time: about 100 MB."""
ForeAft = Float[np.ndarray, "frame foot"]


@dataclass(frozen=True, eq=False)
class StrideMeasures:
    """What the feet of one clip do, each in the order of the rig's legs."""

    period: float
    """Seconds from one touch-down to the next of the same foot."""
    phase: Float[np.ndarray, " foot"]
    """Time of touch-down / period, in [0, 1)."""
    amplitude: Float[np.ndarray, " foot"]
    """Half of the fore–aft peak-to-peak [ℓ]."""
    duty: Float[np.ndarray, " foot"]
    """Share of frames in contact."""
    landed: bool
    """True if phases are touch-downs, False if they are foremost points."""

    @property
    def frequency(self) -> float:
        """Strides per second [Hz]."""
        return 1 / self.period


def measure_stride(fore_aft: ForeAft, feet: Feet, fps: float) -> StrideMeasures | None:
    """Period, phases, amplitudes and duty of a clip; None where no period can be seen (still feet, under five frames)."""
    period = stride_period(fore_aft, fps)
    if period is None:
        return None
    closed = is_closed(fore_aft)
    foremost, amplitude = _foremost_and_amplitude(fore_aft, fps, period, closed)
    landings = [touch_down(h, x, fps, period, closed) for h, x in zip(feet[..., 1].T, fore_aft.T, strict=True)]
    landed = all(phase is not None for phase in landings)
    phase = np.array(landings, float) if landed else foremost
    return StrideMeasures(period, phase % 1.0, amplitude, duty_factor(feet, closed), landed)


def is_closed(fore_aft: ForeAft) -> bool:
    """Do the ends of the clip meet in place and roughly in velocity, so that its last frame is the first of the next cycle?

    Velocities at the ends of quick strides are known only roughly; they tell a whole number of strides from a half.
    """
    if len(fore_aft) < 5:
        return False
    slope = np.gradient(fore_aft, axis=0, edge_order=2)
    reach, fastest = np.ptp(fore_aft, axis=0), np.abs(slope).max(0)
    meets = np.linalg.norm(fore_aft[-1] - fore_aft[0]) <= 0.1 * np.linalg.norm(reach)
    return bool(meets and np.linalg.norm(slope[-1] - slope[0]) <= 0.7 * np.linalg.norm(fastest))


def stride_period(fore_aft: ForeAft, fps: float) -> float | None:
    """Seconds per stride from the dominant frequency of all feet; None if the feet are still or the clip under five frames."""
    if len(fore_aft) < 5 or np.ptp(fore_aft, axis=0).max(initial=0) < 1e-6:
        return None
    seconds = (len(fore_aft) - 1) / fps
    if is_closed(fore_aft):
        spectrum = np.abs(np.fft.rfft(fore_aft[:-1], axis=0)) ** 2
        return seconds / int(1 + spectrum[1:].sum(1).argmax())
    # Less than ¾ of a stride cannot be told from a trend; fewer than three frames per stride not from noise.
    coarse = np.arange(0.75, max((len(fore_aft) - 1) / 3, 1), 1 / CYCLE_GRID)
    likely = np.sort(np.argsort(-_explained_on_grid(fore_aft, 3 * CYCLE_GRID // 4, len(coarse)), kind="stable")[:LIKELY_CYCLES])
    best = coarse[likely][_explained(fore_aft, coarse[likely]).argmax()]
    fine = best + np.linspace(-1 / CYCLE_GRID, 1 / CYCLE_GRID, 21)
    return float(seconds / fine[_explained(fore_aft, fine).argmax()])


def touch_down(
    height: Float[np.ndarray, " frame"], fore_aft: Float[np.ndarray, " frame"], fps: float, period: float, closed: bool
) -> float | None:
    """Time of landing / period, in [0, 1), the circular mean over strides; None if the foot does not land inside the clip."""
    hover, forward = height - CONTACT_HEIGHT, _speed(fore_aft, closed)
    if closed:
        hover, forward = hover[:-1], forward[:-1]
    down = (hover < 0) & (forward <= 0)
    before = np.roll(down, 1)
    before[0] = down[-1] if closed else True
    starts = np.flatnonzero(down & ~before)
    if not starts.size:
        return None
    lengths = _run_lengths(down, starts, closed)
    times = np.maximum(_zero_crossings(hover, starts), _zero_crossings(forward, starts)) / fps
    # A contact counts if none longer begins within half a stride.
    longest = _longest_near(times, lengths, period / 2, len(down) / fps if closed else None)
    return circular_mean(times[lengths >= longest] / period)


def duty_factor(feet: Feet, closed: bool) -> Float[np.ndarray, " foot"]:
    """Share of frames in contact, foot by foot; the last frame of a closed clip is the first again and does not count."""
    return in_contact(feet[:-1] if closed else feet).mean(0)


def alternation(phase: Float[np.ndarray, " 2"], amplitude: Float[np.ndarray, " 2"]) -> float:
    """½(1 − cos Δφ) of a left and a right foot: 1 in antiphase, 0 in phase, 0 also if either swings less than 0.1 ℓ."""
    if amplitude.min() < MIN_AMPLITUDE:
        return 0.0
    return float(0.5 * (1 - np.cos(2 * np.pi * (phase[0] - phase[1]))))


def froude(speed: float, leg_metres: float) -> float:
    """v² / (g ℓ) of a speed in ℓ/s: animals of all sizes go from walk to run near 0.5."""
    return speed**2 * leg_metres / GRAVITY


def heading(root: Float[np.ndarray, "frame 3"], turn: Float[np.ndarray, " frame"], fps: float) -> float | None:
    """Cosine between root velocity and body forward, frames weighted by their speed; None if the root stays in place.

    ``turn`` is the root's yaw; the forward of a step is that of its middle.
    """
    step = np.diff(root[:, [0, 2]], axis=0)
    length = np.linalg.norm(step, axis=1).sum()
    if np.linalg.norm(step.sum(0)) * fps <= MIN_TRAVEL_SPEED * len(step):
        return None
    middle = (turn[1:] + turn[:-1]) / 2
    forward = np.stack((np.cos(middle), -np.sin(middle)), 1)
    return float((step * forward).sum() / length)


def crossed_share(left: Float[np.ndarray, "frame pair 3"], right: Float[np.ndarray, "frame pair 3"]) -> float:
    """Share of frames in which some left foot is to the right of its partner; points in the heading frame, +Z right."""
    return float(np.mean((left[..., 2] > right[..., 2]).any(1)))


def circular_mean(phase: Float[np.ndarray, " n"]) -> float:
    """Mean of phases on the circle, in [0, 1)."""
    return float(np.angle(np.exp(2j * np.pi * phase).sum()) / (2 * np.pi) % 1.0)


def _foremost_and_amplitude(fore_aft: ForeAft, fps: float, period: float, closed: bool) -> tuple[np.ndarray, np.ndarray]:
    """Phase of the foremost point and amplitude, foot by foot."""
    if closed:
        # The ends meet: there is no trend to remove, and one fitted to few strides would be an artefact.
        turn = np.exp(2j * np.pi * np.arange(len(fore_aft) - 1) / (fps * period))
        return np.angle(turn @ fore_aft[:-1]) / (2 * np.pi), np.ptp(fore_aft, axis=0) / 2
    basis = _basis(len(fore_aft), np.array([(len(fore_aft) - 1) / (fps * period)]))[0]
    _, slope, cosine, sine = np.linalg.lstsq(basis, fore_aft, rcond=None)[0]
    return np.arctan2(sine, cosine) / (2 * np.pi), np.ptp(fore_aft - basis[:, 1:2] * slope, axis=0) / 2


def _explained(fore_aft: ForeAft, cycles: np.ndarray) -> np.ndarray:
    """Power of the feet's motion that a trend and a sinusoid explain, for each of these numbers of cycles."""
    flat, chunk = fore_aft - fore_aft.mean(0), max(1, BASIS_ROWS // len(fore_aft))
    power = []
    for start in range(0, len(cycles), chunk):
        orthonormal, _ = np.linalg.qr(_basis(len(fore_aft), cycles[start : start + chunk]))
        power.append(np.square(orthonormal.transpose(0, 2, 1) @ flat).sum((1, 2)))
    return np.concatenate(power)


def _explained_on_grid(fore_aft: ForeAft, first: int, count: int) -> np.ndarray:
    """``_explained`` to about ten digits, for ``count`` numbers of cycles from ``first`` on, in steps of 1 / CYCLE_GRID.

    On this grid all inner products with cosines and sines are one Fourier transform of the zero-padded curve, so that time and
    memory grow with the frames and not with their square.
    """
    frames = len(fore_aft)
    chosen, padded = slice(first, first + count), CYCLE_GRID * (frames - 1)
    time = np.linspace(-0.5, 0.5, frames)
    steady = [np.full(frames, frames**-0.5), time / np.linalg.norm(time)]
    rest = fore_aft - sum(np.outer(mode, mode @ fore_aft) for mode in steady)
    # Gram matrix of cosine and sine (sums of double angles), less what constant and trend explain of them.
    double = np.exp(-4j * np.pi * np.arange(first, first + count) / padded)
    double = (1 - double**frames) / (1 - double)
    cc, ss, cs = (frames + double.real) / 2, (frames - double.real) / 2, -double.imag / 2
    for mode in steady:
        part = np.fft.rfft(mode, padded)[chosen]
        cc, ss, cs = cc - part.real**2, ss - part.imag**2, cs + part.real * part.imag
    power = np.zeros(count)
    for curve in rest.T:
        part = np.fft.rfft(curve, padded)[chosen]
        power += (ss * part.real**2 + 2 * cs * part.real * part.imag + cc * part.imag**2) / (cc * ss - cs**2)
    return power


def _basis(frame_count: int, cycles: np.ndarray) -> np.ndarray:
    """Constant, trend, cosine and sine over the frames, for each number of cycles per clip."""
    time = np.broadcast_to(np.linspace(0, 1, frame_count), (len(cycles), frame_count))
    angle = 2 * np.pi * cycles[:, None] * time
    return np.stack((np.ones_like(time), time, np.cos(angle), np.sin(angle)), -1)


def _speed(fore_aft: np.ndarray, closed: bool) -> np.ndarray:
    """Central differences [ℓ per frame], around the seam of a closed clip."""
    if closed:
        wrapped = np.concatenate((fore_aft[-2:-1], fore_aft, fore_aft[1:2]))
        return (wrapped[2:] - wrapped[:-2]) / 2
    return np.gradient(fore_aft)


def _zero_crossings(curve: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """The moment between the frame before each start and the start [frames] at which a curve passes zero, or has already."""
    before, now = curve[starts - 1], curve[starts]
    return np.where(before > 0, starts - now / np.where(before > 0, now - before, -1.0), starts - 1)


def _run_lengths(low: np.ndarray, starts: np.ndarray, closed: bool) -> np.ndarray:
    """Frames for which each contact lasts, around the seam of a closed clip."""
    ends = np.flatnonzero(~low)
    ends = np.concatenate((ends, ends + len(low) if closed else [len(low)]))
    return ends[np.searchsorted(ends, starts)] - starts if len(ends) else np.full(len(starts), len(low))


def _longest_near(times: np.ndarray, lengths: np.ndarray, reach: float, cycle: float | None) -> np.ndarray:
    """The greatest of the lengths of all contacts that begin less than ``reach`` from each, around a ``cycle`` if there is one.

    Times ascend. Windows of neighbours are found by bisection, their maxima from a table over all powers of two.
    """
    count = len(times)
    offsets = (0.0,) if cycle is None else (-cycle, 0.0, cycle)
    unrolled = np.concatenate([times + offset for offset in offsets])

    def near(index: np.ndarray) -> np.ndarray:
        apart = np.abs(times - times[index % count])
        return (index >= 0) & (index < len(unrolled)) & ((apart if cycle is None else np.minimum(apart, cycle - apart)) < reach)

    own = np.arange(count) + count * (len(offsets) // 2)
    first = np.searchsorted(unrolled, times - reach, side="right")
    last = np.searchsorted(unrolled, times + reach, side="left") - 1
    # Bisection rounds otherwise than the distance itself: the ends of the windows may be one contact off.
    first = np.minimum(np.where(near(first), first - near(first - 1), first + 1), own)
    last = np.maximum(np.where(near(last), last + near(last + 1), last - 1), own)
    table = [np.tile(lengths, len(offsets))]
    while 2 << (len(table) - 1) <= len(unrolled):
        half = 1 << (len(table) - 1)
        table.append(np.maximum(table[-1][:-half], table[-1][half:]))
    level = np.log2(last - first + 1).astype(int)
    maxima = np.empty(count, lengths.dtype)
    for power in np.unique(level).tolist():
        here = level == power
        maxima[here] = np.maximum(table[power][first[here]], table[power][last[here] - (1 << power) + 1])
    return maxima


def gait_name(stride: StrideMeasures, sides: str) -> str | None:
    """The nearest gait; None if no name fits, if some foot hardly swings, or if legs do not come in pairs.

    ``sides`` has one letter per leg, L or R, and must alternate "LRLR…" for there to be pairs.
    """
    count = len(sides)
    if count == 0 or sides != "LR" * (count // 2) or np.median(stride.amplitude) < MIN_AMPLITUDE:
        return None
    if count == 2:
        return _biped_gait(stride)
    if count == 4:
        return _nearest_quadruped(stride.phase)
    checker = np.array([0.5 * ((leg // 2 + leg) % 2) for leg in range(count)])
    if count in (6, 8) and phase_distance(stride.phase, checker) < MAX_PHASE_DISTANCE:
        return "tripod" if count == 6 else "alternating tetrapod"
    return "wave" if _is_wave(stride.phase) else None


def phase_distance(phase: Float[np.ndarray, " leg"], template: Float[np.ndarray, " leg"]) -> float:
    """Mean circular distance to a template after removing the common phase, between 0 and ½."""
    apart = phase - template
    apart = apart - circular_mean(apart)
    return float(np.abs((apart + 0.5) % 1.0 - 0.5).mean())


def _biped_gait(stride: StrideMeasures) -> str:
    if alternation(stride.phase, stride.amplitude) < 0.5:
        return "hop"
    return "walk" if stride.duty.mean() > 0.5 else "run"


def _nearest_quadruped(phase: np.ndarray) -> str | None:
    distance = {name: phase_distance(phase, np.array(template)) for name, template in QUADRUPED_PHASES.items()}
    # A gallop may lead with either side in front and behind; the other templates are their own mirror images.
    leads = ([1, 0, 2, 3], [0, 1, 3, 2], [1, 0, 3, 2])
    distance["gallop"] = min(
        distance["gallop"], *(phase_distance(phase[lead], np.array(QUADRUPED_PHASES["gallop"])) for lead in leads)
    )
    nearest = min(distance, key=lambda name: distance[name])
    return nearest if distance[nearest] < MAX_PHASE_DISTANCE else None


def _is_wave(phase: np.ndarray) -> bool:
    """Does each leg land with the same phase offset to the one before it, on both sides, and is there an offset at all?"""
    offsets = np.diff(phase.reshape(-1, 2), axis=0).ravel()
    offset = circular_mean(offsets)
    spread = np.abs((offsets - offset + 0.5) % 1.0 - 0.5)
    return bool(spread.mean() < MAX_PHASE_DISTANCE and abs((offset + 0.5) % 1.0 - 0.5) > 0.04)
