"""Animations of a glTF file, sampled at any times."""

from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

import numpy as np
from jaxtyping import Float, Int

from akd.errors import AkdError
from akd.files.gltf.document import GltfDocument, accessor
from akd.files.gltf.json_entry import Entry, shortened
from akd.files.gltf.nodes import MAX_COORDINATE, NodeTree, chained, composed, tree_levels, unique_names, unit_quaternions
from akd.rig import Clip

MAX_SECONDS = 3600.0
MAX_KEYS = 2**24
WIDTHS = {"translation": 3, "rotation": 4, "scale": 3}


@dataclass(frozen=True, eq=False)
class Track:
    """A channel of an animation that moves a node."""

    node: int
    path: str
    """translation, rotation or scale."""
    times: Float[np.ndarray, " key"]
    """Increasing key times [s]."""
    output: int
    """Accessor of the values, read when sampled."""
    interpolation: str
    order: Int[np.ndarray, " key"] = field(repr=False)
    """The file's index of each key, should they not be in order there."""


@dataclass(frozen=True, eq=False)
class ClipSampler:
    """World matrices of the bones at any times of any clip: ``FileRig.sample``."""

    document: GltfDocument
    tree: NodeTree
    bones: tuple[int, ...]
    """Nodes to report."""
    tracks: dict[str, tuple[Track, ...]]
    """By clip name."""

    @cached_property
    def _needed(self) -> list[int]:
        """The bones and all nodes above them."""
        found: set[int] = set()
        for bone in self.bones:
            found.update(takewhile(lambda node: node not in found, self.tree.ancestors(bone)))
        return sorted(found)

    def __call__(self, name: str, times: np.ndarray) -> np.ndarray:
        """Frame × bone × 4 × 4; before the first and after the last key the pose holds."""
        if name not in self.tracks:
            known = shortened(", ".join(self.tracks))
            raise AkdError(f"{self.document.path.name} has no clip named {name!r}; it has {len(self.tracks)}: {known}.")
        seconds = np.atleast_1d(np.asarray(times, float))
        needed = self._needed
        place = {node: i for i, node in enumerate(needed)}
        parents = np.array([place.get(int(self.tree.parents[node]), -1) for node in needed], int)
        tracks = [track for track in self.tracks[name] if track.node in place]
        moving = sorted({track.node for track in tracks})
        local = np.broadcast_to(self.tree.local[needed], (len(seconds), len(needed), 4, 4)).copy()
        with np.errstate(all="ignore"):
            local[:, [place[node] for node in moving]] = self._local(moving, tracks, seconds)
            world = chained(local, parents, tree_levels(parents))[:, [place[bone] for bone in self.bones]]
        if not np.all(np.abs(world) < MAX_COORDINATE):
            raise AkdError(f"Clip {name!r} of {self.document.path.name} has values that are not finite; please export it again.")
        return world

    def _local(self, nodes: list[int], tracks: list[Track], seconds: np.ndarray) -> Float[np.ndarray, "frame moving 4 4"]:
        """Local matrices of the nodes that move; what has no track keeps its default."""
        column = {node: i for i, node in enumerate(nodes)}
        defaults = {"translation": self.tree.translation, "rotation": self.tree.rotation, "scale": self.tree.scale}
        parts = {path: np.tile(values[nodes], (len(seconds), 1, 1)) for path, values in defaults.items()}
        for track in tracks:
            stored = _key_values(self.document, track)
            parts[track.path][:, column[track.node]] = sample_track(track, stored, seconds)
        return composed(parts["translation"], unit_quaternions(parts["rotation"]), parts["scale"])


class KeyTimes:
    """Key times by accessor, each read once; many tracks share them."""

    def __init__(self, document: GltfDocument) -> None:
        self._document = document
        self._known: dict[int, tuple[Float[np.ndarray, " key"], Int[np.ndarray, " key"]]] = {}
        self._total = 0

    def __call__(self, index: int) -> tuple[Float[np.ndarray, " key"], Int[np.ndarray, " key"]]:
        """Increasing times [s], and the file's index of each, should they not be in order there."""
        if index not in self._known:
            times = accessor(self._document, index)
            if times.ndim != 1 or not len(times) or not np.all(np.isfinite(times)):
                name = self._document.path.name
                raise AkdError(f"Accessor {index} of {name} holds no usable key times; please export the file again.")
            order = np.argsort(times, kind="stable")
            self._known[index] = times[order].astype(float), order
            self._total += len(order)
            if self._total > MAX_KEYS:
                raise AkdError(f"The clips of {self._document.path.name} have more than {MAX_KEYS} keys; please resample them.")
        return self._known[index]


def read_clips(
    document: GltfDocument, tree: NodeTree, notes: list[str]
) -> tuple[tuple[Clip, ...], dict[str, tuple[Track, ...]]]:
    """The clips and their tracks; key values are left in the file until a clip is sampled."""
    key_times = KeyTimes(document)
    clips, tracks, morphing = [], {}, 0
    entries = list(document.root.items("animations"))
    names = unique_names(entry.text("name", "") or f"clip{index}" for index, entry in enumerate(entries))
    for name, entry in zip(names, entries, strict=True):
        targets = [(channel, channel.child("target")) for channel in entry.items("channels")]
        paths = [target.text("path", "") for _, target in targets]
        moving = tuple(
            _track(entry, channel, target, path, key_times, len(tree.names))
            for (channel, target), path in zip(targets, paths, strict=True)
            if path in WIDTHS and "node" in target
        )
        morphing += "weights" in paths
        duration = max((float(track.times[-1]) for track in moving), default=0.0)
        if duration > MAX_SECONDS:
            notes.append(f"Clip {name!r} lasts {duration:.3g} s, more than {MAX_SECONDS:g} s, and was left out.")
            continue
        clips.append(Clip(name, max(duration, 0.0)))
        tracks[name] = moving
    if morphing:
        notes.append(f"{morphing} clips also move morph targets, which stay at their defaults here.")
    return tuple(clips), tracks


def sample_track(
    track: Track, values: Float[np.ndarray, "key part width"], seconds: Float[np.ndarray, " frame"]
) -> Float[np.ndarray, "frame width"]:
    """The values of a track at the given times."""
    keys = len(track.times)
    after = np.clip(np.searchsorted(track.times, seconds, side="right"), 1, max(keys - 1, 1))
    before, after = after - 1, np.minimum(after, keys - 1)
    span = track.times[after] - track.times[before]
    part = np.clip((seconds - track.times[before]) / np.where(span > 0, span, 1), 0, 1)[:, None]
    if track.interpolation == "STEP":
        return np.where(part < 1, values[before, 0], values[after, 0])
    if track.interpolation == "CUBICSPLINE":
        return _cubic(values[before], values[after], part, span[:, None])
    if track.path == "rotation":
        return _slerp(unit_quaternions(values[before, 0]), unit_quaternions(values[after, 0]), part)
    return values[before, 0] * (1 - part) + values[after, 0] * part


def _key_values(document: GltfDocument, track: Track) -> Float[np.ndarray, "key part width"]:
    """Key values in the order of the times; a key has one part, with CUBICSPLINE three."""
    keys, parts, width = len(track.times), 3 if track.interpolation == "CUBICSPLINE" else 1, WIDTHS[track.path]
    entry = document.root.item("accessors", track.output)
    count, kind = entry.whole("count"), entry.text("type")
    if count != keys * parts or kind != f"VEC{width}":
        raise AkdError(f"A {track.path} track has {keys} keys, but {entry.label} has {count} values of type {shortened(kind)}.")
    return accessor(document, track.output).astype(float).reshape(keys, parts, width)[track.order]


def _cubic(before: np.ndarray, after: np.ndarray, part: np.ndarray, span: np.ndarray) -> np.ndarray:
    """Hermite spline; a key is (tangent coming in, value, tangent going out), tangents per second."""
    square, cube = part**2, part**3
    return (
        (2 * cube - 3 * square + 1) * before[:, 1]
        + span * (cube - 2 * square + part) * before[:, 2]
        + (3 * square - 2 * cube) * after[:, 1]
        + span * (cube - square) * after[:, 0]
    )


def _slerp(first: np.ndarray, second: np.ndarray, part: np.ndarray) -> np.ndarray:
    """Turn at constant speed along the shorter way."""
    cosine = np.sum(first * second, -1, keepdims=True)
    second, cosine = np.where(cosine < 0, -second, second), np.minimum(np.abs(cosine), 1)
    angle = np.arccos(cosine)
    sine = np.sin(angle)
    close = sine < 1e-6  # there the arc is a straight line to double precision
    safe = np.where(close, 1, sine)
    first_part = np.where(close, 1 - part, np.sin((1 - part) * angle) / safe)
    return first_part * first + np.where(close, part, np.sin(part * angle) / safe) * second


def _track(entry: Entry, channel: Entry, target: Entry, path: str, key_times: KeyTimes, nodes: int) -> Track:
    """A channel that moves a node."""
    sampler = entry.item("samplers", channel.whole("sampler"))
    interpolation = sampler.text("interpolation", "LINEAR")
    if interpolation not in ("LINEAR", "STEP", "CUBICSPLINE"):
        sampler.fail("interpolation", "LINEAR, STEP or CUBICSPLINE")
    times, order = key_times(sampler.whole("input"))
    return Track(target.whole("node", below=nodes), path, times, sampler.whole("output"), interpolation, order)
