"""What every writer of characters is given: bones, a skinned mesh and clips, as plain arrays with Y up."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from akd.files.gltf.nodes import IDENTITY, Trs, decompose
from akd.mesh import Mesh

UNWEIGHTED = 1e-6
"""Weights below this are left out of files: they move nothing that a screen shows."""


@dataclass(frozen=True, eq=False)
class SceneClip:
    """An animation of all bones."""

    name: str
    times: Float[np.ndarray, " frame"]
    """Seconds, from zero on."""
    world: Float[np.ndarray, "frame bone 4 4"]
    """World matrices of the bones."""
    reduced: bool = False
    """Write as few keys as the eye allows (see ``keys.py``), on smooth curves."""

    @property
    def duration(self) -> float:
        return float(self.times[-1])

    @property
    def fps(self) -> float:
        """Frames per second of evenly spaced times; 30 for a single frame."""
        return (len(self.times) - 1) / self.duration if len(self.times) > 1 else 30.0


@dataclass(frozen=True, eq=False)
class Scene:
    """A character with its clips. Lengths are in units of ``metres``, Y is up."""

    name: str
    bones: tuple[str, ...]
    """Names, unique."""
    parents: Int[np.ndarray, " bone"]
    """−1 for roots; parents come before children."""
    rest: Float[np.ndarray, "bone 4 4"]
    """World matrices of the bones in the pose the mesh was bound in."""
    mesh: Mesh
    """In that same pose, in world coordinates."""
    weights: Float[np.ndarray, "vertex bone"]
    clips: tuple[SceneClip, ...] = ()
    metres: float = 1.0
    """Metres per unit of length."""

    def in_units(self, metres: float) -> "Scene":
        """The same scene with lengths in other units: places change, the bones' own scales stay as they are."""
        factor = self.metres / metres

        def moved(world: np.ndarray) -> np.ndarray:
            out = world.copy()
            out[..., :3, 3] *= factor
            return out

        # A bone's matrix maps its own coordinates, which stay in the old unit, unless it is made to take the new one.
        return replace(
            self, metres=metres, rest=moved(self.rest), mesh=self.mesh.transformed(np.diag([factor, factor, factor, 1.0])),
            clips=tuple(replace(clip, world=moved(clip.world)) for clip in self.clips),
        )  # fmt: skip


def local_parts(
    world: Float[np.ndarray, "frame bone 4 4"], parents: Int[np.ndarray, " bone"], defaults: list[Trs] | None = None
) -> list[Trs]:
    """Translation, rotation and scale of every bone relative to its parent, frame by frame without jumps.

    Each is relative to where its parent comes out when *written* so: what shear a bone loses is not passed on.
    ``defaults`` decide the signs that matrices leave open.
    """
    written, out = np.empty(world.shape), list[Trs]()
    for bone, parent in enumerate(parents):
        above = written[:, parent] if parent >= 0 else np.broadcast_to(np.eye(4), world[:, bone].shape)
        default = IDENTITY if defaults is None else defaults[bone]
        parts = decompose(relative_to(above, world[:, bone], default), default)
        written[:, bone] = above @ parts.matrix()
        out.append(parts)
    return out


def rest_parts(scene: Scene) -> list[Trs]:
    """The same of the rest pose, without the axis of frames."""
    return [Trs(*(part[0] for part in parts)) for parts in local_parts(scene.rest[None], scene.parents)]


def relative_to(above: np.ndarray, world: np.ndarray, default: Trs) -> np.ndarray:
    """Matrices relative to others. Below one scaled to nothing any would do, and the default is kept."""
    size = np.linalg.norm(above[:, :3, :3], axis=(1, 2))
    vanished = (np.abs(np.linalg.det(above[:, :3, :3])) <= 1e-12 * size**3)[:, None, None]
    return np.where(vanished, default.matrix(), np.linalg.solve(np.where(vanished, np.eye(4), above), world))
