"""Does a prior know motion? A probe on creatures the prior never saw.

The denoising error of the true clip is compared to that of corrupted clips under the same noise, time and caption. A prior can
only lead a motion to the truth where the truth has the smaller error, so the share of wins, for each kind of corruption and each
time, predicts where distillation will work. A loss does not.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.creatures.build import creature
from akd.creatures.captions import describe
from akd.creatures.gaits import gait_motion, gaits_for
from akd.motion import Motion, close_loop, mirror, repeat, resample
from akd.prior.prior import VideoPrior, denoising_error, guided_denoising_error
from akd.reconstruct.skinned import skinned_splats
from akd.render.film import FilmSettings, film
from akd.rig import Rig
from akd.skeleton import Skeleton
from akd.splats import SkinnedSplats

TIMES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)


@dataclass(frozen=True)
class Case:
    """A true clip and corrupted versions of it."""

    name: str
    """Plan or asset."""
    caption: str
    wrong_caption: str
    true: Float[Tensor, "frame height width 3"]
    corrupted: dict[str, Float[Tensor, "frame height width 3"]]
    """Corrupted clips by kind."""


@dataclass(frozen=True)
class ProbeTable:
    """Shares of wins of the true clip."""

    wins: dict[tuple[str, str, float], float]
    """By case name, kind of corruption, and time."""
    count: dict[tuple[str, str, float], int]
    """How many comparisons each share is from."""

    def mean(self, kind: str, *, name: str | None = None, times: Iterable[float] = TIMES) -> float:
        """Average over times and, if no name is given, over names."""
        values = [v for (case, what, t), v in self.wins.items() if what == kind and t in set(times) and name in (None, case)]
        return float(np.mean(values)) if values else float("nan")

    @property
    def kinds(self) -> list[str]:
        return sorted({kind for _, kind, _ in self.wins})

    @property
    def names(self) -> list[str]:
        return sorted({name for name, _, _ in self.wins})


def _error(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str) -> Float[Tensor, " draw"]:
    return denoising_error(prior, z, noise, t, prior.embed(text))


def _guided_error(prior: VideoPrior, z: Tensor, noise: Tensor, t: Tensor, text: str) -> Float[Tensor, " draw"]:
    return torch.stack([guided_denoising_error(prior, z, noise[k : k + 1], t[k : k + 1], text) for k in range(len(noise))])


ErrorName = Literal["plain", "guided"]
CLIP_ERRORS: dict[ErrorName, Callable[..., Tensor]] = {"plain": _error, "guided": _guided_error}
"""Error of a clip for every draw of noise: the denoising error, or the guided one that distillation compares motions by."""


@torch.no_grad()
def probe(
    prior: VideoPrior, cases: Iterable[Case], *, draws: int = 4, times: tuple[float, ...] = TIMES, seed: int = 0,
    error: ErrorName = "plain",
) -> ProbeTable:  # fmt: skip
    """Shares of wins of the true clips, with so many draws of noise for each case and time."""
    clip_error = CLIP_ERRORS[error]
    won: dict[tuple[str, str, float], list[bool]] = defaultdict(list)
    randomness = torch.Generator().manual_seed(seed)
    for case in cases:
        true, *others = (prior.encode(video[None]) for video in (case.true, *case.corrupted.values()))
        noise = torch.randn((draws, *true.shape[1:]), generator=randomness)
        for time in times:
            t = torch.full((draws,), time)
            best = clip_error(prior, true, noise, t, case.caption)
            errors = {kind: clip_error(prior, z, noise, t, case.caption) for kind, z in zip(case.corrupted, others, strict=True)}
            errors["wrong caption"] = clip_error(prior, true, noise, t, case.wrong_caption)
            for kind, value in errors.items():
                won[case.name, kind, time] += (best < value).tolist()
    shares = {key: float(np.mean(values)) for key, values in won.items()}
    return ProbeTable(shares, {key: len(values) for key, values in won.items()})


def creature_cases(plan: str, seeds: Iterable[int], settings: FilmSettings) -> Iterable[Case]:
    """Cases of the first two gaits, mostly walk and run, of individuals."""
    for seed in seeds:
        rig = creature(plan, seed)
        skinned = skinned_splats(rig)
        gaits = gaits_for(rig)
        for gait, other in zip(gaits[:2], (*gaits[1:2], gaits[0]), strict=False):
            rate = settings.rate(rig.leg_metres)
            options = {"seed": seed, "fps": rate, "frames": settings.frames, "start": (seed * 0.37) % 1}
            motion, other_motion = (gait_motion(rig, name, **options) for name in (gait, other))  # type: ignore[arg-type]
            others = {"other gait": other_motion} if gait != other else {}
            yield case_of(plan, plan, gait, other, rig, skinned, motion, settings, others)


def rig_case(path: Path, clip: str, noun: str, action: str, other: str, settings: FilmSettings) -> Case:
    """The case of a clip in a rig's file, repeated until it fills the film."""
    rig = load_rig(path)
    rate = settings.rate(rig.leg_metres)
    motion = close_loop(resample(read_clip(rig, clip).motion, rate))
    cycles = -(-settings.frames // max(motion.frame_count - 1, 1))
    motion = repeat(motion, cycles)
    motion = replace(motion, pose=motion.pose[: settings.frames], fps=rate)
    return case_of(f"{path.stem} {clip}", noun, action, other, rig, skinned_splats(rig), motion, settings, {})


def case_of(
    name: str, noun: str, action: str, other: str, rig: Rig, skinned: SkinnedSplats, motion: Motion, settings: FilmSettings,
    others: dict[str, Motion],
) -> Case:  # fmt: skip
    """Film the true motion, other motions, and corruptions of the true film."""
    true = film(rig.skeleton, motion, skinned, settings)
    videos = {kind: film(rig.skeleton, other_motion, skinned, settings) for kind, other_motion in others.items()}
    videos["in phase"] = film(rig.skeleton, in_phase(rig.skeleton, motion), skinned, settings)
    videos["frozen"] = true[:1].expand_as(true)
    videos["reversed"] = true.flip(0)
    videos["shuffled"] = true[torch.randperm(len(true), generator=torch.Generator().manual_seed(0))]
    return Case(name, describe(noun, action), describe(noun, other), true, videos)


def in_phase(skeleton: Skeleton, motion: Motion) -> Motion:
    """The motion with every left limb doing what its right partner does."""
    angles = motion.pose.angles.clone()
    mirrored = mirror(skeleton, motion).pose.angles
    moving = [limb for limb in skeleton.limbs if limb.side == "L" and limb.kind in ("leg", "arm", "wing", "fin")]
    left = [joint for limb in moving for joint in limb.joints]
    angles[:, left] = mirrored[:, left]
    return replace(motion, pose=replace(motion.pose, angles=angles))
