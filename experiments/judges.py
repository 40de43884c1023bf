"""The judges measured: how often the recogniser is right, by class, and whom the action checks let pass (docs/judges.md).

``python -m experiments.judges recogniser --part train`` leaves out subjects and families; ``--part test`` measures the shipped
weights on clips that nothing was chosen on. ``python -m experiments.judges checks`` prints both rates of every check and, with
``--values``, what they are made of. ``--cache DIR`` stores clips once they are read.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import torch
import tyro

from akd.assets import load_rig
from akd.character.clips import read_clip
from akd.measure.actions import LIMITS, ActionCheck, check_action
from akd.measure.asked import Asked
from akd.measure.body import Build, build_of
from akd.measure.realism import eye_success
from akd.measure.recognise import NONE, load_models
from akd.training.recogniser.clips import RealClip, read_clips
from akd.training.recogniser.fit import FitSettings, Table, feature_table
from akd.training.recogniser.labels import CLASSES
from akd.training.recogniser.left_out import left_out_probabilities

OLDER = ("amplitude", "duty", "heading", "travel", "skating", "penetration", "jerk", "alternation", "float")
"""Conditions of the older test of walks and runs."""
INDEPENDENT = 3
"""A class with clips of fewer subjects and families than this is marked."""
CHECKED: dict[str, tuple[str, ...]] = {
    **{name: labels for name, labels in CLASSES["two-legged"].items() if name != "dance"},
    "run": ("run", "gallop"),
    "turn": ("turn",),
    "bow": ("bow",),
    "crouch": ("duck", "crouch"),
    "limp": ("limp",),
    "eat": ("eat",),
    "attack": ("attack", "bite", "headbutt"),
    "fly": ("fly",),
    "swim": ("swim",),
}
"""Labels of the data that show what a check looks for."""
CONTAIN: dict[str, tuple[str, ...]] = {
    "walk": ("run", "turn", "carry", "climb_stairs", "trot", "dance", "push", "pull", "basketball", "animal_chicken"),
    "run": ("trot", "walk_backward"),
    "jump": ("flip", "cartwheel", "basketball", "skateboard", "dance", "animal_monkey"),
    "kick": ("martial_arts", "cartwheel", "flip", "handstand", "dance"),
    "punch": ("martial_arts", "basketball", "shoot", "push", "sword"),
    "throw": ("basketball", "bat_swing", "chop_wood", "hammer", "swordplay", "sword", "golf_swing", "punch"),
    "pick up": ("duck", "crouch", "dig", "sweep", "stretch", "yoga", "animal_elephant"),
    "sit down": ("lie_down", "fall", "duck", "crouch", "death"),
    "get up": ("roll", "flip", "cartwheel", "duck", "crouch", "pick_up"),
    "flip": (),
    "fall": ("roll", "yoga", "crawl", "sit_down", "sleep", "flop", "pushup"),
    "wave": ("arm_signals", "stretch", "clap"),
    "idle": (
        "look_around",
        "look",
        "drink",
        "eat",
        "cry",
        "laugh",
        "rest_pose",
        "howl",
        "nod",
        "shoot",
        "carry",
        "sit",
        "sleep",
        "play_instrument",
    ),
    "turn": ("dance", "walk", "golf_swing", "roll", "cartwheel", "flip", "martial_arts", "animal_monkey"),
    "bow": ("pick_up", "stretch", "yoga", "duck"),
    "crouch": ("sit_down", "pick_up", "yoga", "stand_up", "get_up", "lie_down", "dig", "sit", "sneak", "push", "pull", "drive"),
    "limp": ("drunk_walk", "zombie", "old_walk", "sidestep", "climb_stairs"),
    "eat": (),
    "attack": ("kick", "jump"),
    "fly": (),
    "swim": ("walk", "run", "attack", "flop", "dance", "bite"),
}
"""Labels whose motions contain what a check looks for (one crouches to sit down): neither counted as real nor as others."""


@dataclass(frozen=True)
class Options:
    """What is measured, and on what."""

    what: tyro.conf.Positional[Literal["recogniser", "checks", "eye"]]
    motions: Path = Path("../shared/motions")
    part: Literal["train", "test"] = "train"
    cache: Path | None = None
    folds: int | None = None
    """Leave out subjects and families in so many folds; one by one without."""
    values: bool = False
    """Checks: also print the quantities behind them, 10 % and 90 % of real clips and of others."""


def interval(right: int, count: int) -> tuple[float, float]:
    """95 % interval of a share (Wilson)."""
    if not count:
        return 0.0, 1.0
    share, z = right / count, 1.96
    middle, spread = share + z * z / (2 * count), z * np.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle - spread) / (1 + z * z / count), (middle + spread) / (1 + z * z / count)


def recogniser(clips: list[RealClip], options: Options) -> None:
    for build in CLASSES:
        own = [clip for clip in clips if clip.body.build == build]
        if options.part == "train":
            table = feature_table(own, with_cuts=True)
            classes, probabilities = left_out_probabilities(table, build, FitSettings(), folds=options.folds)
        else:
            table = feature_table(own, with_cuts=True)
            model = load_models()[build]
            classes, probabilities = model.classes, model.probabilities(table.values)
        print(f"\n## {build}, part {options.part}, {len(classes) - 1} classes and none of these\n")
        print(*report(table, build, classes, probabilities), sep="\n")


def report(table: Table, build: Build, classes: tuple[str, ...], probabilities: np.ndarray) -> Iterator[str]:
    """Accuracy of all kinds of clips, by class, and what is taken for what."""
    names = np.array(classes)
    known, offered = table.action != NONE, names != NONE
    yield "| clips | number | top-1 | 95 % | top-3 | top-1 with none of these (number) |"
    yield "|---|---|---|---|---|---|"
    kinds = {
        "whole": ~table.is_cut,
        "captures": ~table.is_cut & (table.source == "capture"),
        "artists'": ~table.is_cut & (table.source == "artist"),
        "cut to 2 s": table.is_cut,
    }
    for kind, chosen in kinds.items():
        some = chosen & known & np.isin(table.action, names)
        if not some.any():
            continue
        order = names[offered][np.argsort(-probabilities[some][:, offered], axis=1)]
        right, top3 = order[:, 0] == table.action[some], (order[:, :3] == table.action[some][:, None]).any(1)
        low, high = interval(int(right.sum()), len(right))
        with_none = names[probabilities[chosen].argmax(1)] == table.action[chosen]
        share = f"{right.mean():.3f} | {low:.2f}–{high:.2f} | {top3.mean():.3f}"
        yield f"| {kind} | {len(right)} | {share} | {with_none.mean():.3f} ({chosen.sum()}) |"
    yield ""
    yield "| class | clips (groups) | right | 95 % | taken for |"
    yield "|---|---|---|---|---|"
    whole = ~table.is_cut
    found = names[probabilities.argmax(1)]
    for name in (*CLASSES[build], NONE):
        own = whole & (table.action == name)
        right, groups = int((found[own] == name).sum()), len(set(table.group[own].tolist()))
        others = Counter(found[own & (found != name)].tolist()).most_common(4)
        low, high = interval(right, int(own.sum()))
        mark = " *" if groups < INDEPENDENT else ""
        share = f"{right / own.sum():.2f}" if own.any() else "–"
        taken = ", ".join(f"{n} {k}" for k, n in others)
        yield f"| {name}{mark} | {own.sum()} ({groups}) | {share} | {low:.2f}–{high:.2f} | {taken} |"
    yield f"\n\\* clips of fewer than {INDEPENDENT} subjects or families"


def checks(clips: list[RealClip], options: Options) -> None:
    print("| action | build | real clips that pass | others that pass |\n|---|---|---|---|")
    kinds: dict[str, tuple[Build, ...]] = {
        "people": ("two-legged",),
        "four-legged": ("four-legged",),
        "others": ("many-legged", "winged", "legless"),
    }
    for kind, builds in kinds.items():
        own = [clip for clip in clips if clip.body.build in builds and clip.body.frame_count >= 6 and clip.label != "rest_pose"]
        for action in CHECKED:
            for source in ("capture", "artist"):
                rates(action, kind, [clip for clip in own if clip.source == source], source, options)


def rates(action: str, kind: str, clips: list[RealClip], source: str, options: Options) -> None:
    """A row of the table: how many real clips of an action and how many others pass its check."""
    real, others = list[ActionCheck](), list[ActionCheck]()
    wrong = Counter[str]()
    for clip in clips:
        is_real = is_shown(clip, action)
        if not is_real and (clip.label in CONTAIN[action] or clip.label in CHECKED[action]):
            continue
        check = check_action(clip.body, action)
        if check is None:
            continue
        (real if is_real else others).append(check)
        if not is_real and check.passed:
            wrong[str(clip.label)] += 1
    if not real:
        return
    shares = [f"{sum(c.passed for c in some) / max(len(some), 1):.2f} ({len(some)})" for some in (real, others)]
    often = ", ".join(f"{n} {label}" for label, n in wrong.most_common(4))
    print(f"| {action} | {kind}, {source}s | {shares[0]} | {shares[1]}{': ' if often else ''}{often} |", flush=True)
    if options.values:
        failed = Counter(name for check in real for name in check.failures)
        for name in LIMITS[action]:
            a, b = ([check.values[name] for check in some] for some in (real, others))
            these, those = np.quantile(a, (0.0, 0.05, 0.1, 0.5, 0.9, 0.95, 1)), np.quantile(b or [0], (0.05, 0.1, 0.5, 0.9, 0.95))
            print(f"    {name:12} {LIMITS[action][name]!s:8} real {these.round(2)} fails {failed[name]}  others {those.round(2)}")


def is_shown(clip: RealClip, action: str) -> bool:
    """Is the clip a whole one of this action?"""
    if clip.label not in CHECKED[action]:
        return False
    if action == "fly" and "glide" in clip.name.lower():
        return False  # wings that do not beat
    return clip.source == "capture" or clip.action is not None or action not in ("jump", "sit down", "pick up", "flip", "fall")


def eye(options: Options) -> None:
    """Artists' walks and runs by the older test of success and by the one that an eye agrees with."""
    counts, missed = defaultdict(Counter), defaultdict(Counter)
    seen = set[str]()
    for entry in json.loads((options.motions / "glb" / "index.json").read_text(encoding="utf-8")):
        wanted = {clip: known["action"] for clip, known in entry["clips"].items() if known["action"] in ("walk", "run", "gallop")}
        if entry["part"] != options.part or entry["family"] in seen or not wanted:
            continue
        seen.add(entry["family"])
        rig = load_rig(options.motions / entry["file"])
        for clip, action in wanted.items():
            task = "walk" if action == "walk" else "run"
            if build_of(rig) not in ("two-legged", "four-legged"):
                continue
            motion = read_clip(rig, clip, 30.0).motion
            new = eye_success(rig, motion, Asked(task), from_file=True)
            gates = {check.name for check in new.checks} & set(OLDER)
            old = not (gates & set(new.failures))
            row = (build_of(rig), task)
            counts[row].update(clips=1, older=old, newer=new.passed)
            missed[row].update(name for name in new.failures if name not in OLDER)
            print(
                f"{entry['file']}#{clip}: {'passes' if old else 'fails'}, new {', '.join(new.failures) or 'passes'}", flush=True
            )
    print("| build | task | clips | older test | new test | new conditions that are missed |\n|---|---|---|---|---|---|")
    for (build, task), found in counts.items():
        often = ", ".join(f"{n} {name}" for name, n in missed[build, task].most_common())
        print(f"| {build} | {task} | {found['clips']} | {found['older']} | {found['newer']} | {often} |")


def main(options: Options) -> None:
    torch.set_num_threads(1)
    if options.what == "eye":
        return eye(options)
    clips = list(read_clips(options.motions, options.part, options.cache))
    groups = defaultdict(set)
    for clip in clips:
        groups[clip.source].add(clip.group)
    print(f"{len(clips)} clips of part {options.part}: " + ", ".join(f"{len(g)} groups of {s}s" for s, g in groups.items()))
    recogniser(clips, options) if options.what == "recogniser" else checks(clips, options)


if __name__ == "__main__":
    main(tyro.cli(Options, description=__doc__))
