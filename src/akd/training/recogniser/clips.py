"""Real clips as body motions: captures and artists' clips of the motion data, each with its class, read once and cached."""

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from akd.assets import load_rig
from akd.character.build import build_rig
from akd.character.clips import read_clip
from akd.errors import AkdError
from akd.files.cmu_npz import read_cmu_npz
from akd.measure.body import BodyMotion, body_motion
from akd.measure.recognise import NONE
from akd.rig import Rig
from akd.training.recogniser.labels import class_of

FPS = 30.0
PER_FAMILY = 2
"""Characters of one family have the same clips: of the training part so many of each family are enough."""
CUT_SECONDS = 2.0
"""Long clips are also shown cut to this length, as the prior's films are."""
CUTS = 2
REPEATING = ("walk", "run", "dance", "idle", NONE)
"""Classes that any cut of a clip shows; a cut of another holds its liveliest part."""
STEADY = ("leg_lengths", "arm_lengths", "wing_lengths", "rest_pelvis", "rest_chest", "rest_head", "travel")
"""Fields of a body motion that are not over frames."""
Part = Literal["train", "test"]


@dataclass(frozen=True, eq=False)
class RealClip:
    """One clip of the motion data."""

    name: str
    source: Literal["capture", "artist"]
    group: str
    """Subject of a capture, family of a character: what is left out as a whole."""
    label: str | None
    """As the data says."""
    action: str | None
    """Class of the recogniser; None: it is left out there."""
    body: BodyMotion


def read_clips(motions: Path, part: Part, cache: Path | None = None) -> Iterator[RealClip]:
    """All clips of a part, left-out classes included. ``cache``: a folder in which what was read is stored."""
    yield from _captures(motions, part, cache)
    yield from _artists(motions, part, cache)


def _captures(motions: Path, part: Part, cache: Path | None) -> Iterator[RealClip]:
    for entry in _index(motions / "cmu"):
        if entry["part"] != part:
            continue
        name = f"cmu_{entry['label']}_{entry['clip']}"
        body = _cached(cache, name, lambda entry=entry: _captured(motions / entry["file"], entry["clip"]))
        yield RealClip(name, "capture", entry["source"].split("_")[0], entry["label"], class_of(body.build, entry["label"]), body)


def _captured(path: Path, clip: int) -> BodyMotion:
    file = read_cmu_npz(path, clip)
    rig = build_rig(file, forward=np.array([0.0, 0.0, 1.0]))
    return body_motion(rig, read_clip(rig, file.clips[0].name, FPS).motion)


def _artists(motions: Path, part: Part, cache: Path | None) -> Iterator[RealClip]:
    seen = Counter[str]()
    for entry in _index(motions / "glb"):
        seen[entry["family"]] += 1
        if entry["part"] != part or (part == "train" and seen[entry["family"]] > PER_FAMILY):
            continue
        path, rigs = motions / entry["file"], list[Rig]()

        def read(clip: str, path: Path = path, rigs: list[Rig] = rigs) -> BodyMotion:
            if not rigs:
                rigs.append(load_rig(path))
            return body_motion(rigs[0], read_clip(rigs[0], clip, FPS).motion)

        for clip, known in entry["clips"].items():
            if known["action"] in ("rest_pose", None):
                continue
            name = f"glb_{path.stem}_{clip}".replace("/", "-").replace("|", "-")
            body = _cached(cache, name, lambda clip=clip, read=read: read(clip))
            action = class_of(body.build, known["action"], clip=clip, beside=tuple(entry["clips"]))
            yield RealClip(name, "artist", entry["family"], known["action"], action, body)


def _index(folder: Path) -> list[dict]:
    path = folder / "index.json"
    if not path.is_file():
        raise AkdError(f"There is no {path}: give the folder of the motion data, which holds cmu/ and glb/.")
    return json.loads(path.read_text(encoding="utf-8"))


def _cached(cache: Path | None, name: str, read) -> BodyMotion:
    if cache is None:
        return read()
    path = cache / f"{name}.npz"
    if path.is_file():
        return load_body(path)
    body = read()
    cache.mkdir(parents=True, exist_ok=True)
    np.savez(path, **vars(body))
    return body


def load_body(path: Path) -> BodyMotion:
    """A body motion that was stored with ``np.savez``."""
    with np.load(path) as stored:
        values = {field.name: stored[field.name] for field in fields(BodyMotion)}
    return BodyMotion(**{name: value if value.ndim else value.item() for name, value in values.items()})


def cut(body: BodyMotion, start: int, stop: int) -> BodyMotion:
    """Some frames of a body motion."""
    moving = {name for name, value in vars(body).items() if isinstance(value, np.ndarray)} - set(STEADY)
    frames: dict[str, Any] = {name: getattr(body, name)[start:stop] for name in moving}
    return replace(body, **frames)


def cuts(body: BodyMotion, action: str, rng: np.random.Generator) -> list[BodyMotion]:
    """A long clip cut to two seconds: anywhere if the action repeats itself, about its liveliest part otherwise."""
    length = round(CUT_SECONDS * body.fps) + 1
    spare = body.frame_count - length
    if spare < length // 5:
        return []
    if action in REPEATING:
        starts = rng.integers(0, spare + 1, size=CUTS)
    else:
        ends = np.concatenate((body.seen(body.feet), body.seen(body.hands), body.seen(body.head)[:, None]), 1)
        lively = body.speed(ends).mean(1) + 2 * np.abs(body.velocity(body.pelvis)[:, 1])
        best = int(np.convolve(lively, np.ones(length), "valid").argmax())
        starts = np.clip(best + np.append(0, rng.integers(-8, 9, size=CUTS - 1)), 0, spare)
    return [cut(body, int(start), int(start) + length) for start in starts]
