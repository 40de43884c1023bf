"""Clips as FBX has them: a stack with one layer, and for each bone curves of its translation, Euler angles and scale."""

import warnings
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.files.fbx_binary import Element, Long, add_properties
from akd.files.fbx_document import TICKS, FbxDocument, ticks
from akd.files.gltf.nodes import Trs
from akd.files.keys import Curve, Keys, allowed_error, fewest_keys, reaches, skin_corners
from akd.files.scene import Scene, SceneClip

LINEAR = 0x4
"""A key from which the curve goes straight to the next."""
CUBIC, USER_SLOPE = 0x8, 0x400
"""A key from which it goes on smoothly, with the slope that is written."""
DEFAULT_WEIGHTS = np.array([3333 | 3333 << 16], "<u4")
"""How far a slope is followed: a third of the way, as two fractions of 9999."""
SAME = 1e-6
"""Relative; values that differ by less from those at rest are not written. Rotations always are."""
NAMES = {"T": "Lcl Translation", "R": "Lcl Rotation", "S": "Lcl Scaling"}
ORDERS = ("xyz", "xzy", "yzx", "yxz", "zxy", "zyx")
"""Orders of the three rotations, all about the parent's axes, by the format's own numbers; the first is its default."""
FAR_FROM_LOCK = 60.0
"""Degrees of the second rotation; up to here the default order is taken. At 90 the two others cannot be told apart."""


class FbxBone(NamedTuple):
    """A bone as the file has it."""

    node: int
    """Identifier of its node."""
    rest: Trs
    order: int
    """Of its rotations, an index into ``ORDERS``."""


def rotation_order(rest: Float[np.ndarray, " 4"], rotations: list[np.ndarray]) -> int:
    """The order of rotations that stays farthest from the lock in all clips of a bone, each frame × 4."""
    turns = [Rotation.from_quat(rest).inv() * Rotation.from_quat(each) for each in rotations]
    second = [max((float(np.abs(degrees(turn, order)[:, "xyz".index(ORDERS[order][1])]).max()) for turn in turns), default=0.0)
              for order in range(len(ORDERS))]  # fmt: skip
    return 0 if second[0] <= FAR_FROM_LOCK else int(np.argmin(second))


def append_clip(
    document: FbxDocument, clip: SceneClip, bones: list[FbxBone], moving: list[Trs], scene: Scene, frame: Float[np.ndarray, "4 4"]
) -> None:
    """An animation of bones, which are at rest where no curve says otherwise and else go through ``moving``.

    ``frame`` leads from the world to the node above all bones.
    """
    stack, stack_id = document.add("AnimationStack", clip.name, "AnimStack")
    ends = (("Start", Long(0)), ("Stop", Long(ticks(clip.duration))))
    add_properties(stack, *((f"{span}{end}", "KTime", time) for span in ("Local", "Reference") for end, time in ends))
    _, layer = document.add("AnimationLayer", clip.name, "AnimLayer")
    document.connect(layer, stack_id)
    tracks = [track for bone, parts in enumerate(moving) for track in _tracks(bone, bones[bone], parts)]
    keys = _reduced(tracks, clip, bones, scene, frame) if clip.reduced else None
    for index, track in enumerate(tracks):
        _append_curves(document, layer, bones[track.bone].node, track, clip.times, None if keys is None else keys[index])


class _Track(NamedTuple):
    """The three curves of one property of a bone."""

    bone: int
    letter: str
    """T, R or S."""
    values: Float[np.ndarray, "frame 3"]


def _tracks(bone: int, own: FbxBone, parts: Trs) -> Iterator[_Track]:
    """What has to be said about a bone: always its rotation, and what else leaves the rest."""
    if not _is_still(parts.translation, own.rest.translation):
        yield _Track(bone, "T", parts.translation)
    yield _Track(bone, "R", euler_angles(own.rest.rotation, parts.rotation, own.order))
    if not _is_still(parts.scale, own.rest.scale):
        yield _Track(bone, "S", parts.scale)


def _reduced(tracks: list[_Track], clip: SceneClip, bones: list[FbxBone], scene: Scene, frame: np.ndarray) -> list[Keys]:
    """Fewer keys for all of them."""
    corners, above = skin_corners(scene), np.linalg.inv(frame)
    reach, scale = reaches(scene, corners), float(np.cbrt(abs(np.linalg.det(above[:3, :3]))))
    levers = {"T": np.full(len(reach), scale), "R": np.radians(reach), "S": reach}

    def positions(values: list[np.ndarray]) -> list[np.ndarray]:
        said = {(track.bone, track.letter): value for track, value in zip(tracks, values, strict=True)}
        world = np.empty(clip.world.shape)
        for bone, parent in enumerate(scene.parents):
            local = _matrices(bones[bone], {letter: said.get((bone, letter)) for letter in "TRS"}, len(clip.times))
            world[:, bone] = (world[:, parent] if parent >= 0 else above) @ local
        return [np.einsum("fij,cj->fci", world[:, bone, :3], each) for bone, each in enumerate(corners)]

    curves = [Curve(track.bone, track.values, float(levers[track.letter][track.bone])) for track in tracks]
    return fewest_keys(curves, clip.times, positions, allowed_error(scene))


def _matrices(bone: FbxBone, said: Mapping[str, np.ndarray | None], count: int) -> Float[np.ndarray, "frame 4 4"]:
    """Local matrices of a bone from the values of its curves T, R and S, where it has them."""
    turn = Rotation.from_quat(np.tile(bone.rest.rotation, (count, 1)))
    moved, angles, scaled = said["T"], said["R"], said["S"]
    if angles is not None:
        turn = turn * from_degrees(angles, bone.order)
    translation = np.tile(bone.rest.translation, (count, 1)) if moved is None else moved
    scale = np.tile(bone.rest.scale, (count, 1)) if scaled is None else scaled
    return Trs(translation, turn.as_quat(), scale).matrix()


def euler_angles(
    rest: Float[np.ndarray, " 4"], rotations: Float[np.ndarray, "frame 4"], order: int = 0
) -> Float[np.ndarray, "frame 3"]:
    """Degrees about X, Y and Z by which a bone is turned away from its rest, each frame's triple the one nearest to that of
    the frame before."""
    first = degrees(Rotation.from_quat(rest).inv() * Rotation.from_quat(rotations), order)
    flip = np.where([letter == ORDERS[order][1] for letter in "xyz"], -1, 1)
    other = first * flip + 180.0  # the second triple of the same rotation
    out, before = np.empty_like(first), np.zeros(3)
    for frame, pair in enumerate(np.stack((first, other), 1)):
        near = pair + 360.0 * np.round((before - pair) / 360.0)
        out[frame] = before = near[np.abs(near - before).sum(1).argmin()]
    return out


def degrees(turns: Rotation, order: int = 0) -> Float[np.ndarray, "*frame 3"]:
    """Angles about X, Y and Z that make these rotations in an order; in a lock one of the many triples."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        angles = turns.as_euler(ORDERS[order], degrees=True)
    return angles[..., [ORDERS[order].index(letter) for letter in "xyz"]]


def from_degrees(angles: Float[np.ndarray, "frame 3"], order: int) -> Rotation:
    """The inverse of ``degrees``."""
    return Rotation.from_euler(ORDERS[order], angles[..., ["xyz".index(letter) for letter in ORDERS[order]]], degrees=True)


def _is_still(values: Float[np.ndarray, "frame 3"], usual: Float[np.ndarray, " 3"] | None) -> bool:
    return usual is not None and bool(np.abs(values - usual).max() <= SAME * np.abs(usual).max())


def _append_curves(
    document: FbxDocument, layer: int, node: int, track: _Track, times: Float[np.ndarray, " frame"], keys: Keys | None
) -> None:
    """The three curves of one property, through all frames or through some keys."""
    values = track.values
    group, group_id = document.add("AnimationCurveNode", track.letter, "AnimCurveNode")
    add_properties(group, *((f"d|{axis}", "Number", float(values[0, k])) for k, axis in enumerate("XYZ")))
    document.connect(group_id, layer)
    document.connect(group_id, node, NAMES[track.letter])
    for k, axis in enumerate("XYZ"):
        curve, curve_id = document.add("AnimationCurve", "", "AnimCurve")
        curve("Default", float(values[0, k]))
        curve("KeyVer", 4009)
        if keys is None:
            _append_straight(curve, times, values[:, k])
        else:
            _append_smooth(curve, times[keys.frames], keys.values[:, k], keys.slopes[:, k])
        document.connect(curve_id, group_id, f"d|{axis}")


def _append_straight(curve: Element, times: np.ndarray, values: np.ndarray) -> None:
    curve("KeyTime", np.round(times * TICKS).astype("<i8"))
    curve("KeyValueFloat", values.astype("<f4"))
    curve("KeyAttrFlags", np.array([LINEAR], "<i4"))
    curve("KeyAttrDataFloat", np.zeros(4, "<f4"))
    curve("KeyAttrRefCount", np.array([len(times)], "<i4"))


def _append_smooth(curve: Element, times: np.ndarray, values: np.ndarray, slopes: np.ndarray) -> None:
    """Keys with slopes of their own: that to the right, and that with which the next key is reached."""
    curve("KeyTime", np.round(times * TICKS).astype("<i8"))
    curve("KeyValueFloat", values.astype("<f4"))
    curve("KeyAttrFlags", np.full(len(times), CUBIC | USER_SLOPE, "<i4"))
    data = np.zeros((len(times), 4), "<f4")
    data[:, 0], data[:, 1] = slopes, np.append(slopes[1:], 0.0)
    data[:, 2] = DEFAULT_WEIGHTS.view("<f4")
    curve("KeyAttrDataFloat", data)
    curve("KeyAttrRefCount", np.ones(len(times), "<i4"))
