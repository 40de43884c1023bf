"""Retargeting measured: captures of people on two-legged rigs, artists' clips between four-legged rigs.

``python -m experiments.retarget --motions DIR --assets DIR`` prints a row for every clip on every rig, and a summary by action.
``--part test`` measures on held-out captures; ``--sheets DIR`` writes contact sheets, the source above its targets. Both judges
say what they see in the clip and in what became of it: the recogniser names an action, and the check of the clip's own action
is passed or not.
"""

import json
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import tyro

from akd.assets import load_rig
from akd.measure.judge import judge
from akd.motion import Motion
from akd.retarget.measures import ContactMeasures, RetargetMeasures, contact_measures, measure_retarget, there_and_back
from akd.retarget.retarget import RetargetResult, retarget
from akd.retarget.source import SourceClip, load_clip
from akd.rig import Rig
from experiments.retarget_pictures import contact_sheet

ACTIONS = ("walk", "run", "jump", "kick", "wave", "dance")
PEOPLE = (
    "assets/q_woman/Smooth_Female_Casual.glb", "assets/cesium_man/CesiumMan.glb", "assets/q_knight/KnightCharacter.glb",
    "assets/robot_expressive/RobotExpressive.glb", "motions/glb/q_ual1_human.glb", "motions/glb/q_man2017.glb",
)  # fmt: skip
ANIMALS = {
    "assets/q_horse/Horse.glb": ("Walk", "Gallop", "Jump_toIdle", "Attack_Kick", "Eating"),
    "assets/q_wolf/Wolf.glb": ("Walk", "Gallop", "Jump_ToIdle", "Attack", "Eating"),
    "assets/fox_khronos/Fox.glb": ("Walk", "Run"),
    "motions/glb/m2m_fox.glb": ("Walk", "Run", "Jump", "Bite"),
}
LIMITS = {"skating": 0.05, "penetration": 0.01, "duty_difference": 0.05, "phase_difference": 0.05}
CHECKED_AS = {"gallop": "run"}
"""Actions whose check has another name."""
COLUMNS = (
    "direction_error", "end_point_error", "contact_agreement", "duty_difference", "phase_difference", "amount", "skating",
    "penetration", "back", "load",
)  # fmt: skip


@dataclass(frozen=True)
class Options:
    """What is measured."""

    shared: Path = Path("../shared")
    """The folder that holds assets/ and motions/."""
    part: Literal["train", "test"] = "train"
    """Captures to take; where a part has none of an action, the other is taken and marked."""
    clips: int = 2
    """Captures of each action."""
    kind: Literal["all", "people", "animals"] = "all"
    on: tuple[str, ...] = ()
    """Only rigs whose name contains one of these; all without."""
    sheets: Path | None = None
    """Where contact sheets are written."""


@dataclass(frozen=True)
class Row:
    """One clip on one rig."""

    action: str
    clip: str
    target: str
    numbers: RetargetMeasures
    at_frames: ContactMeasures
    """Contacts compared at the frames of the clip alone, too."""
    back: float
    """There-and-back error [ℓ]."""
    load: float
    """Seconds of processor time per second of the clip."""
    recognised: bool | None
    """Does the recogniser name the same action before and after?"""
    checked: bool | None
    """Does the check of the clip's action say the same before and after?"""

    @property
    def same_action(self) -> bool | None:
        """Do both judges, or the one that has a say, name the same action before and after?"""
        said = [verdict for verdict in (self.recognised, self.checked) if verdict is not None]
        return all(said) if said else None

    def value(self, column: str) -> float | None:
        return getattr(self, column) if column in ("back", "load") else asdict(self.numbers)[column]


def captures(options: Options) -> Iterator[tuple[str, str]]:
    """Action and clip."""
    index = json.loads((options.shared / "motions/cmu/index.json").read_text())
    for action in ACTIONS:
        known = [entry for entry in index if entry["label"] == action]
        chosen = [entry for entry in known if entry["part"] == options.part]
        marked = action if chosen else f"{action}*"
        for entry in (chosen or known)[: options.clips]:
            yield marked, f"{options.shared / 'motions' / entry['file']}#{entry['clip']}"


def animal_clips(options: Options) -> Iterator[tuple[str, str]]:
    words = {"run": "gallop", "jump_toidle": "jump", "attack_kick": "attack", "bite": "attack", "eating": "eat"}
    for file, names in ANIMALS.items():
        for name in names:
            yield words.get(name.lower(), name.lower()), f"{options.shared / file}#{name}"


def targets(files: Iterable[str], options: Options) -> list[Rig]:
    rigs = [load_rig(options.shared / file) for file in files]
    return [rig for rig in rigs if not options.on or any(word in rig.name for word in options.on)]


def measured(action: str, source: SourceClip, target: Rig) -> tuple[Row, RetargetResult]:
    began = time.process_time()
    result = retarget(source.motion, source.rig, target)
    load = (time.process_time() - began) / max(source.motion.duration, 1e-9)
    numbers = measure_retarget(result, source.rig, target)
    clip = f"{source.rig.name}#{source.name}" if source.rig.mesh.vertex_count else source.name
    judged = same_action(CHECKED_AS.get(action.strip("*"), action), (source.rig, source.motion), (target, result.motion))
    at_frames = contact_measures(result, source.rig, target, between_frames=False)
    return Row(action, clip, target.name, numbers, at_frames, there_and_back(result, source.rig, target), load, *judged), result


def same_action(action: str, before: tuple[Rig, Motion], after: tuple[Rig, Motion]) -> tuple[bool | None, bool | None]:
    """Does the recogniser name the same action, and does the check of this action say the same?"""
    one, other = judge(*before), judge(*after)
    named = [None if said.looks_like is None else said.looks_like.action for said in (one, other)]
    checks = [said.checks.get(action) for said in (one, other)]
    return (
        None if None in named else named[0] == named[1],
        None if checks[0] is None or checks[1] is None else checks[0].passed == checks[1].passed,
    )


def study(clips: Iterator[tuple[str, str]], rigs: list[Rig], options: Options) -> list[Row]:
    """A row for every clip on every rig but its own."""
    rows = list[Row]()
    for action, text in clips:
        source = load_clip(text)
        pictures = []
        for target in rigs:
            if target.name == source.rig.name:
                continue
            row, result = measured(action, source, target)
            rows.append(row)
            print(line(row), flush=True)
            pictures = pictures or [(source.rig, result.source)]
            pictures.append((target, result.motion))
        if options.sheets:
            name = f"{action.strip('*')}-{source.rig.name}-{source.name}.png"
            contact_sheet(pictures, options.sheets / name, turn=55.0 if len(source.rig.legs) == 2 else 80.0)
    return rows


def text_of(value: float | None) -> str:
    return "     –" if value is None else f"{value:6.3f}" if value < 10 else f"{value:6.1f}"


def line(row: Row) -> str:
    numbers = " ".join(text_of(row.value(c)) for c in COLUMNS)
    said = " ".join({None: "–", True: "same", False: "other"}[said] for said in (row.recognised, row.checked))
    return f"{row.action:8} {row.clip[:20]:20} {row.target[:20]:20}{numbers}  {said}"


def summary(rows: list[Row]) -> Iterator[str]:
    """For each action the median of every number, and the share of rows within all limits."""
    yield f"{'action':8} {'rows':>4} " + " ".join(c[:9].rjust(9) for c in COLUMNS) + "  within limits  at frames  same action"
    for action in [*dict.fromkeys(row.action for row in rows), "all"]:
        some = [row for row in rows if action in (row.action, "all")]
        medians = [[v for row in some if (v := row.value(c)) is not None] for c in COLUMNS]
        within, at_frames = (np.mean([is_within(row, at) for row in some]) for at in (False, True))
        numbers = " ".join(f"{np.median(m):9.3f}" if m else "        –" for m in medians)
        said = [row.same_action for row in some if row.same_action is not None]
        yield f"{action:8} {len(some):4} {numbers}  {within:13.2f} {at_frames:10.2f} {share_text(said):>12}"
    worst = [[v for row in rows if (v := row.value(c)) is not None] for c in COLUMNS]
    yield f"{'worst':8} {'':4} " + " ".join(f"{(min(w) if c == 'contact_agreement' else max(w)):9.3f}" if w else "        –"
                                           for c, w in zip(COLUMNS, worst, strict=True))  # fmt: skip


def share_text(said: list[bool]) -> str:
    return f"{np.mean(said):.2f}" if said else "–"


def is_within(row: Row, at_frames: bool = False) -> bool:
    """Does a row keep all limits, contacts compared between the frames or at the frames alone?"""
    values = {name: row.value(name) for name in LIMITS}
    if at_frames:
        values |= {name: value for name, value in row.at_frames._asdict().items() if name in LIMITS}
    amount = row.numbers.amount
    return all(v is None or v <= LIMITS[name] for name, v in values.items()) and (amount is None or abs(amount - 1) <= 0.15)


def main(options: Options) -> None:
    rows = list[Row]()
    print(f"{'action':8} {'clip':20} {'target':20}" + " ".join(c[:6] for c in COLUMNS) + "  recognised checked")
    if options.kind != "animals":
        rows += study(captures(options), targets(PEOPLE, options), options)
    if options.kind != "people":
        rows += study(animal_clips(options), targets(ANIMALS, options), options)
    print(*summary(rows), sep="\n")


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
