"""How well motions are tracked in simulation: ``python -m bench.track``, ``python -m bench.track --only wolf dog``.

One line per clip, before → after. Before is the clip as given (measured as ``akd evaluate`` does: on the treadmill and the
ground its feet imply; for jerk, the mended target), after is the simulated motion against y = 0 and its own travel. Artists'
clips need the folder of assets; our own gaits are spoilt on purpose. ``--ablation FILE.png`` compares ways of clipping
gradients instead.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
import tyro

from akd.anatomy.clips import read_clip
from akd.assets import load_rig
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.motion import Motion
from akd.physics.body import Body, body_from_rig
from akd.physics.search import Search
from akd.physics.settings import Clip
from akd.physics.target import Target, prepare
from akd.physics.track import TrackResult, track
from akd.physics.track_settings import RECIPES, TrackSettings
from akd.pose import Pose
from akd.rig import Rig

ASSETS = Path(__file__).resolve().parents[2] / "shared" / "assets"
ARTISTS = (
    ("q_wolf/Wolf.glb", "AnimalArmature|Walk"), ("q_spider/Spider.glb", "SpiderArmature|Spider_Walk"),
    ("cesium_man/CesiumMan.glb", "clip0"), ("q_trex/Trex.glb", "Armature|TRex_Walk"),
    ("q_knight/KnightCharacter.glb", "HumanArmature|Walking"), ("q_horse/Horse.glb", "AnimalArmature|Walk"),
    ("fox_khronos/Fox.glb", "Walk"), ("q_wolf/Wolf.glb", "AnimalArmature|Gallop"), ("q_horse/Horse.glb", "AnimalArmature|Gallop"),
    ("q_trex/Trex.glb", "Armature|TRex_Run"), ("fox_khronos/Fox.glb", "Run"),
    ("q_knight/KnightCharacter.glb", "HumanArmature|Run"),
)  # fmt: skip
SPOILT = (("dog", "walk"), ("human", "walk"), ("spider", "walk"), ("ostrich", "walk"), ("horse", "trot"))
WHOLE = TrackSettings(window_iterations=0, follow_iterations=0, polish=1.0, crutch=False)
"""Gradients of the whole clip from the start, as in the paper."""
RATES = (0.005, 0.02)
"""Learning rates that each way of clipping may choose from."""
COLUMNS = ("penetration_max", "float_height", "skating_ratio", "slide", "jerk")
AIMS = "error ≤ .05, penetration ≤ .01, float ≤ .02 (walks), skating ≤ .05, jerk ≤ 1.5× the mended target's, impulse ≤ .1, ≤ 60 s"
HEADER = f"{'clip':26s} frames  error  turn° " + "  ".join(f"{name:>16s}" for name in COLUMNS) + "  impulse  cpu s  misses"


@dataclass(frozen=True)
class Study:
    """What to track."""

    recipe: str = "default"
    only: tuple[str, ...] = ()
    """Words; a clip is taken if its name contains one of them."""
    ablation: Path | None = None
    """Compare ways of clipping gradients on three bodies, and draw a figure here."""
    iterations: int = 40
    """Steps of each run of the ablation."""


def spoil(motion: Motion, how: str) -> Motion:
    """A gait with one fault: lifted or sunk by 0.05 ℓ, or travelling a third too fast for its feet."""
    position = motion.pose.root_position.clone()
    if how == "sliding":
        position[:, 0] += 0.3 * (position[:, 0] - position[0, 0])
    else:
        position[:, 1] += {"lifted": 0.05, "sunk": -0.05}[how]
    return replace(motion, pose=Pose(position, motion.pose.root_rotation, motion.pose.angles))


def cases(only: tuple[str, ...]) -> Iterator[tuple[str, Rig, Motion, bool]]:
    """Name, rig, motion, and whether it comes from a file, of all whose name has one of these words, or of all."""

    def wanted(name: str) -> bool:
        return not only or any(word.lower() in name.lower() for word in only)

    for file, clip in ARTISTS if ASSETS.is_dir() else ():
        name = f"{Path(file).stem} {clip.split('|')[-1]}"
        if wanted(name):
            rig = load_rig(ASSETS / file)
            yield name, rig, read_clip(rig, clip).motion, True
    for plan, gait in SPOILT:
        for how in ("lifted", "sunk", "sliding"):
            if wanted(f"{plan} {gait} {how}"):
                rig = creature(plan, 0)
                yield f"{plan} {gait} {how}", rig, spoil(gait_motion(rig, gait), how), False


def misses(result: TrackResult, seconds: float) -> list[str]:
    """The aims that a result does not reach."""
    after = result.metrics
    walks = (result.target_metrics.duty_factor or 0) > 0.5
    wrong = {
        "error": result.tracking_error > 0.05, "penetration": after.penetration_max > 0.01,
        "float": walks and after.float_height > 0.02, "skating": (after.skating_ratio or 0) > 0.05,
        "jerk": (after.jerk or 0) > 1.5 * (result.target_metrics.jerk or 0), "impulse": result.upright_impulse > 0.1,
        "time": seconds > 60 * max(1, result.motion.frame_count / 49),
    }  # fmt: skip
    return [name for name, is_wrong in wrong.items() if is_wrong]


def line(name: str, result: TrackResult, seconds: float) -> str:
    pairs = []
    for column in COLUMNS:
        before, after = (getattr(m, column) for m in (result.source_metrics, result.metrics))
        if column == "jerk":
            before = result.target_metrics.jerk
        pairs.append(" → ".join(f"{value:.3g}" if value is not None else "–" for value in (before, after)))
    missed = ", ".join(misses(result, seconds)) or "–"
    head = f"{name:26s} {result.motion.frame_count:6d}  {result.tracking_error:.3f}  {np.degrees(result.turn_error):5.1f}  "
    return head + "  ".join(f"{p:>16s}" for p in pairs) + f"  {result.upright_impulse:7.3f}  {seconds:5.0f}  {missed}"


def table(study: Study) -> None:
    print(HEADER, flush=True)
    good = total = 0
    for name, rig, motion, from_file in cases(study.only):
        begun = time.process_time()
        result = track(rig, motion, RECIPES[study.recipe], from_file=from_file)
        seconds = time.process_time() - begun
        good, total = good + (not misses(result, seconds)), total + 1
        print(line(name, result, seconds), flush=True)
    print(f"{good} of {total} clips reach all aims: {AIMS}.")


def ablation(study: Study, path: Path) -> None:
    """The loss over iterations on whole clips, without clipping, with one clip for all, and with one per chunk."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4))
    for axis, plan in zip(axes, ("dog", "human", "ostrich"), strict=True):
        rig = creature(plan, 0)
        body, target = body_from_rig(rig), prepare(rig, gait_motion(rig, "walk"))
        for mode in ("none", "global", "chunk"):
            tries = [_losses(rig, body, target, mode, rate, study.iterations) for rate in RATES]
            best = min(tries, key=lambda losses: losses[-1])
            axis.plot(best, label=f"{mode} ({best[-1]:.2f})")
            print(f"{plan} {mode}: best loss {best[-1]:.3f}", flush=True)
        axis.set(title=f"{plan}, walk", xlabel="iteration", ylabel="best loss so far", yscale="log")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _losses(rig: Rig, body: Body, target: Target, mode: Clip, rate: float, iterations: int) -> np.ndarray:
    """The best loss so far after every iteration; it stays where it is once gradients are not finite."""
    settings = replace(WHOLE, rate=rate, physics=replace(WHOLE.physics, clip_mode=mode))
    search = Search(body, rig, target, settings)
    search.windows(search.frame_count, iterations, iter(()))
    losses = np.minimum.accumulate(search.losses[:iterations])
    return np.pad(losses, (0, iterations - len(losses)), mode="edge")


def main(study: Study) -> None:
    torch.set_num_threads(1)
    ablation(study, study.ablation) if study.ablation else table(study)


if __name__ == "__main__":
    main(tyro.cli(Study))
