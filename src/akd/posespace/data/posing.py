"""A rig and its poses as turns on the stage, which do not depend on who is whose parent."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.posespace.sketch import Sketch

Stage = Float[np.ndarray, "pose joint 3 3"]


@dataclass(frozen=True, eq=False)
class Posing:
    """A rig and its poses."""

    sketch: Sketch
    turns: Stage


def posing_of(sketch: Sketch, bends: Float[np.ndarray, "pose joint 3"]) -> Posing:
    """Turns on the stage from bends."""
    frames = sketch.frames
    local = Rotation.from_rotvec(bends.reshape(-1, 3)).as_matrix().reshape(*bends.shape, 3)
    turns = frames @ local @ np.swapaxes(frames, -1, -2)
    for joint in range(1, sketch.joint_count):
        turns[:, joint] = turns[:, sketch.parents[joint]] @ turns[:, joint]
    return Posing(sketch, turns)


def bends_of(posing: Posing) -> Float[np.ndarray, "pose joint 3"]:
    """Bends from turns on the stage."""
    sketch, turns = posing.sketch, posing.turns
    above = turns[:, np.maximum(sketch.parents, 0)]
    local = np.where((sketch.parents < 0)[:, None, None], turns, np.swapaxes(above, -1, -2) @ turns)
    inside = np.swapaxes(sketch.frames, -1, -2) @ local @ sketch.frames
    return Rotation.from_matrix(inside.reshape(-1, 3, 3)).as_rotvec().reshape(*turns.shape[:2], 3)


def selected(sketch: Sketch, kept: np.ndarray) -> Sketch:
    """Some joints of a sketch, in their old order; a partner that is gone leaves a joint to itself."""
    new = np.full(sketch.joint_count, -1)
    new[kept] = np.arange(len(kept))
    mirror = new[sketch.mirror[kept]]
    parents = np.where(sketch.parents[kept] < 0, -1, new[np.maximum(sketch.parents[kept], 0)])
    names = ("positions", "tails", "kind", "order", "radius", "half")
    parts = {name: getattr(sketch, name)[kept] for name in names}
    return Sketch(parents=parents, mirror=np.where(mirror < 0, np.arange(len(kept)), mirror), **parts)


def pointed(sketch: Sketch) -> Sketch:
    """Bones that point to the middle of their children, as those of files do; the last ones stay as they are."""
    tails = sketch.tails.copy()
    for joint in np.unique(sketch.parents[1:]):
        tails[joint] = sketch.positions[sketch.parents == joint].mean(0)
    return replace(sketch, tails=tails)


def scaled(sketch: Sketch, factor: float) -> Sketch:
    """The same body in another size."""
    names = ("positions", "tails", "radius", "half")
    return replace(sketch, **{name: factor * getattr(sketch, name) for name in names})
