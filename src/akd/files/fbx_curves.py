"""Clips as FBX has them: a stack with one layer, and for each bone curves of its translation, Euler angles and scale."""

import warnings

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.files.fbx_binary import Long, add_properties
from akd.files.fbx_document import TICKS, FbxDocument, ticks
from akd.files.gltf.nodes import Trs
from akd.files.scene import SceneClip

LINEAR = 0x4
"""A key from which the curve goes straight to the next."""
SAME = 1e-6
"""Relative; values that differ by less from those at rest are not written. Rotations always are."""
NAMES = {"T": "Lcl Translation", "R": "Lcl Rotation", "S": "Lcl Scaling"}
EULER_ORDER = "xyz"
"""First about X, then Y, then Z, all of the parent's axes: the format's default."""


def append_clip(document: FbxDocument, clip: SceneClip, nodes: list[int], rest: list[Trs], moving: list[Trs]) -> None:
    """An animation of the bones ``nodes``, whose translations, rotations and scales go from ``rest`` through ``moving``."""
    stack, stack_id = document.add("AnimationStack", clip.name, "AnimStack")
    ends = (("Start", Long(0)), ("Stop", Long(ticks(clip.duration))))
    add_properties(stack, *((f"{span}{end}", "KTime", time) for span in ("Local", "Reference") for end, time in ends))
    _, layer = document.add("AnimationLayer", clip.name, "AnimLayer")
    document.connect(layer, stack_id)
    times = np.round(clip.times * TICKS).astype("<i8")
    for node, still, parts in zip(nodes, rest, moving, strict=True):
        values = {"T": parts.translation, "R": euler_angles(still.rotation, parts.rotation), "S": parts.scale}
        usual = {"T": still.translation, "R": None, "S": still.scale}
        for letter, curve in values.items():
            if not _is_still(curve, usual[letter]):
                _append_curves(document, layer, node, letter, times, curve)


def euler_angles(
    rest: Float[np.ndarray, " 4"], rotations: Float[np.ndarray, "frame 4"]
) -> Float[np.ndarray, "frame 3"]:
    """Degrees by which a bone is turned away from its rest, each frame's triple the one nearest to that of the frame before."""
    first = degrees(Rotation.from_quat(rest).inv() * Rotation.from_quat(rotations))
    other = first * (1, -1, 1) + 180.0  # the second triple of the same rotation
    out, before = np.empty_like(first), np.zeros(3)
    for frame, pair in enumerate(np.stack((first, other), 1)):
        near = pair + 360.0 * np.round((before - pair) / 360.0)
        out[frame] = before = near[np.abs(near - before).sum(1).argmin()]
    return out


def degrees(turns: Rotation) -> Float[np.ndarray, "*frame 3"]:
    """Euler angles in the format's order; in a lock one of the many triples."""
    with warnings.catch_warnings(action="ignore", category=UserWarning):
        return turns.as_euler(EULER_ORDER, degrees=True)


def _is_still(values: Float[np.ndarray, "frame 3"], usual: Float[np.ndarray, " 3"] | None) -> bool:
    return usual is not None and bool(np.abs(values - usual).max() <= SAME * np.abs(usual).max())


def _append_curves(
    document: FbxDocument, layer: int, node: int, letter: str, times: np.ndarray, values: Float[np.ndarray, "frame 3"]
) -> None:
    """The three curves of one property of a bone."""
    group, group_id = document.add("AnimationCurveNode", letter, "AnimCurveNode")
    add_properties(group, *((f"d|{axis}", "Number", float(values[0, k])) for k, axis in enumerate("XYZ")))
    document.connect(group_id, layer)
    document.connect(group_id, node, NAMES[letter])
    for k, axis in enumerate("XYZ"):
        curve, curve_id = document.add("AnimationCurve", "", "AnimCurve")
        curve("Default", float(values[0, k]))
        curve("KeyVer", 4009)
        curve("KeyTime", times)
        curve("KeyValueFloat", values[:, k].astype("<f4"))
        curve("KeyAttrFlags", np.array([LINEAR], "<i4"))
        curve("KeyAttrDataFloat", np.zeros(4, "<f4"))
        curve("KeyAttrRefCount", np.array([len(times)], "<i4"))
        document.connect(curve_id, group_id, f"d|{axis}")
