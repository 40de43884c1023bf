"""How well motions are tracked in simulation: the table and pictures of tracking of docs/physics.md.

    python -m experiments.track --rows rows.jsonl --strips strips    all clips; --only wolf dog for some of them
    python -m experiments.track --ablation docs/physics/clipping.png no gradient clipping, one clip, one per chunk

One line of a Markdown table per clip, before → after. Before is the clip as given (measured as ``akd evaluate`` does: on the
treadmill and the ground its feet imply; for jerk, the prepared target), after is the simulated motion against y = 0 and its
own travel. Artists' clips need the folder of assets; our own gaits are spoilt on purpose. Rows of other code are not counted.
"""

import hashlib
import json
import time
from collections.abc import Container, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
import tyro

from akd import physics
from akd.assets import load_rig
from akd.character.articulation import Articulation, articulation_of
from akd.character.clips import read_clip
from akd.contact.prepare import Target, prepare
from akd.creatures.build import creature
from akd.creatures.gaits import gait_motion
from akd.files.video import write_picture
from akd.motion import Motion
from akd.physics.search import Search
from akd.physics.settings import ClipMode
from akd.physics.track import TrackResult, track
from akd.physics.track_settings import RECIPES, Tolerances, TrackSettings, exceeded
from akd.pipeline.track import sheet
from akd.rig import Rig
from akd.skeleton import Pose

ASSETS = Path(__file__).resolve().parents[2] / "shared" / "assets"
ARTISTS = (
    ("q_wolf/Wolf.glb", "AnimalArmature|Walk"), ("q_spider/Spider.glb", "SpiderArmature|Spider_Walk"),
    ("cesium_man/CesiumMan.glb", "clip0"), ("q_trex/Trex.glb", "Armature|TRex_Walk"),
    ("q_knight/KnightCharacter.glb", "HumanArmature|Walking"), ("q_horse/Horse.glb", "AnimalArmature|Walk"),
    ("fox_khronos/Fox.glb", "Walk"), ("q_wolf/Wolf.glb", "AnimalArmature|Gallop"), ("q_horse/Horse.glb", "AnimalArmature|Gallop"),
    ("q_trex/Trex.glb", "Armature|TRex_Run"), ("fox_khronos/Fox.glb", "Run"),
    ("q_knight/KnightCharacter.glb", "HumanArmature|Run"),
)  # fmt: skip
SPOILT_GAITS = (("dog", "walk"), ("human", "walk"), ("spider", "walk"), ("ostrich", "walk"), ("horse", "trot"))
WHOLE = TrackSettings(window_iterations=0, follow_iterations=0, whole_rate_share=1.0, assist=False)
"""Gradients of the whole clip from the start, as in the paper."""
RATES = (0.005, 0.02)
"""Learning rates that each way of clipping may choose from."""
TOLERANCES_TEXT = (
    "error ≤ .05, penetration ≤ .01, float ≤ .02 (walks), skating ≤ .05, "
    "jerk ≤ 1.5× the prepared target's, impulse ≤ .1, ≤ 60 s"
)
SECONDS = 60.0
"""Of processor time for 49 frames."""
COLUMNS = ("clip", "error ℓ", "penetration", "float", "skating", "slide ℓ/frame", "jerk", "impulse", "s", "misses")


@dataclass(frozen=True)
class Study:
    """What to track."""

    recipe: str = "default"
    only: tuple[str, ...] = ()
    """Words; a clip is taken if its name contains one of them."""
    rows: Path | None = None
    """Where the rows of this study are kept, as JSON lines."""
    strips: Path | None = None
    """A folder for pictures of every target above its simulation."""
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


Case = tuple[str, Rig, Motion, bool]


def cases(only: tuple[str, ...] = (), known: Container[str] = ()) -> Iterator[Case]:
    """Name, rig, motion, and whether it comes from a file, of all whose name has one of these words and is not known yet."""

    def wanted(name: str) -> bool:
        return name not in known and (not only or any(word.lower() in name.lower() for word in only))

    for file, clip in ARTISTS if ASSETS.is_dir() else ():
        name = f"{Path(file).stem} {clip.split('|')[-1]}"
        if wanted(name):
            rig = load_rig(ASSETS / file)
            yield name, rig, read_clip(rig, clip).motion, True
    for plan, gait in SPOILT_GAITS:
        for how in ("lifted", "sunk", "sliding"):
            if wanted(f"{plan} {gait} {how}"):
                rig = creature(plan, 0)
                yield f"{plan} {gait} {how}", rig, spoil(gait_motion(rig, gait), how), False


Pair = tuple[float | None, float | None]


@dataclass(frozen=True)
class Row:
    """What was measured of one clip; pairs are before and after."""

    clip: str
    code: str
    """Whose result this is: see ``fingerprint``."""
    error: float
    penetration: Pair
    floating: Pair
    skating: Pair
    slide: Pair
    jerk: Pair
    impulse: float
    seconds: float
    misses: tuple[str, ...]

    @classmethod
    def of(cls, clip: str, code: str, result: TrackResult, seconds: float) -> "Row":
        given, target, after = result.source_metrics, result.target_metrics, result.metrics
        return cls(
            clip, code, result.tracking_error, (given.penetration_max, after.penetration_max),
            (given.float_height, after.float_height), (given.skating_ratio, after.skating_ratio), (given.slide, after.slide),
            (target.jerk, after.jerk), result.upright_impulse, seconds, misses(result, seconds),
        )  # fmt: skip

    def __str__(self) -> str:
        pairs = (self.penetration, self.floating, self.skating, self.slide, self.jerk)
        cells = [f"{_short(before)} → {_short(after)}" for before, after in pairs]
        missed = ", ".join(self.misses) or "–"
        return f"| {' | '.join((self.clip, _short(self.error), *cells, _short(self.impulse), f'{self.seconds:.0f}', missed))} |"


def _short(value: float | None) -> str:
    """Three decimals without the zero before the point; whole numbers from ten on."""
    if value is None:
        return "–"
    return f"{value:.0f}" if value >= 10 else f"{value:.3f}".rstrip("0").rstrip(".").removeprefix("0") or "0"


def misses(result: TrackResult, seconds: float) -> tuple[str, ...]:
    """The tolerances that a result does not reach."""
    ratios = Tolerances().ratios(result.tracking_error, result.upright_impulse, result.target_metrics, result.metrics)
    return exceeded(ratios | {"time": seconds / (SECONDS * max(1, result.motion.frame_count / 49))})


def fingerprint(recipe: str) -> str:
    """Of the code of physics, and the recipe: rows are comparable where it is the same."""
    files = sorted(Path(physics.__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(file.read_bytes() for file in files) + recipe.encode()).hexdigest()[:12]


def read_rows(file: Path | None, code: str) -> dict[str, Row]:
    """Rows of this code by the names of their clips."""
    text = file.read_text() if file is not None and file.exists() else ""
    rows = [Row(**json.loads(each)) for each in text.splitlines()]
    return {row.clip: row for row in rows if row.code == code}


def table(study: Study) -> None:
    code = fingerprint(study.recipe)
    rows = read_rows(study.rows, code)
    for name, rig, motion, from_file in cases(study.only, rows):
        begun = time.process_time()
        result = track(rig, motion, RECIPES[study.recipe], from_file=from_file)
        rows[name] = Row.of(name, code, result, time.process_time() - begun)
        print(rows[name], flush=True)
        if study.rows is not None:
            with study.rows.open("a") as file:
                file.write(json.dumps(asdict(rows[name])) + "\n")
        if study.strips is not None:
            study.strips.mkdir(parents=True, exist_ok=True)
            write_picture(study.strips / f"{name.replace(' ', '-')}.png", sheet(rig, result))
    print("\n".join((f"| {' | '.join(COLUMNS)} |", "|---" * len(COLUMNS) + "|", *map(str, rows.values()))))
    met = sum(not row.misses for row in rows.values())
    print(f"{met} of {len(rows)} clips meet all tolerances: {TOLERANCES_TEXT}. Code {code}.")


def ablation(study: Study, path: Path) -> None:
    """The loss over iterations on whole clips, without clipping, with one clip for all, and with one per chunk."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(12, 3.4))
    for axis, plan in zip(axes, ("dog", "human", "ostrich"), strict=True):
        rig = creature(plan, 0)
        body, target = articulation_of(rig), prepare(rig, gait_motion(rig, "walk"))
        for mode in ("none", "global", "chunk"):
            tries = [_losses(rig, body, target, mode, rate, study.iterations) for rate in RATES]
            best = min(tries, key=lambda losses: losses[-1])
            axis.plot(best, label=f"{mode} ({best[-1]:.2f})")
            print(f"{plan} {mode}: best loss {best[-1]:.3f}", flush=True)
        axis.set(title=f"{plan}, walk", xlabel="iteration", ylabel="best loss so far", yscale="log")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)


def _losses(rig: Rig, body: Articulation, target: Target, mode: ClipMode, rate: float, iterations: int) -> np.ndarray:
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
