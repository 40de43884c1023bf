"""A rig: mesh, control skeleton and skin weights on the stage, and the file they came from."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from akd.errors import AkdError
from akd.mesh import Mesh
from akd.skeleton import Limb, Skeleton

GRAVITY = 9.81
"""Of the Earth [m/s²]."""


@dataclass(frozen=True)
class Clip:
    """An animation in a file."""

    name: str
    duration: float
    """Seconds."""


@dataclass(frozen=True, eq=False)
class FileRig:
    """What a file says, in the file's own axes and units, before anyone asks what the bones mean."""

    names: tuple[str, ...]
    """Bone names, unique."""
    parents: Int[np.ndarray, " bone"]
    """Nearest ancestor that is a bone, −1 for the (possibly several) roots; parents come before children."""
    rest: Float[np.ndarray, "bone 4 4"]
    """World matrices of the bones in the pose the mesh was bound in."""
    mesh: Mesh
    """In that same pose, in world coordinates."""
    weights: Float[np.ndarray, "vertex bone"]
    """Rows sum to one; all zero where the file has none (a static mesh, a bare skeleton)."""
    clips: tuple[Clip, ...] = ()
    sample: Callable[[str, np.ndarray], np.ndarray] | None = None
    """(clip name, times [s]) → world matrices of the bones, frame × bone × 4 × 4."""
    metres: float = 1.0
    """Metres per unit of length, as far as the format says."""
    forward: Float[np.ndarray, " 3"] | None = None
    """Facing direction that the format prescribes; a hint, artists often disregard it."""
    humanoid: tuple[tuple[str, str], ...] = ()
    """What the file itself says its bones are: VRM's name (``leftUpperArm``) and the bone's. Then ``forward`` is no mere hint."""
    path: Path | None = None
    document: Any = None
    """The parsed file, for the format's own exporter."""
    notes: tuple[str, ...] = ()
    """What was repaired or left out while reading, one sentence each."""

    @classmethod
    def static(cls, mesh: Mesh, path: Path | None = None, notes: tuple[str, ...] = ()) -> "FileRig":
        """A mesh without bones, as readers of static formats return it."""
        return cls((), np.zeros(0, int), np.zeros((0, 4, 4)), mesh, np.zeros((mesh.vertex_count, 0)), path=path, notes=notes)


@dataclass(frozen=True, eq=False)
class Origin:
    """How a rig hangs together with the file it was read from, so that export can return *that* file."""

    file: FileRig
    T_file_stage: Float[np.ndarray, "4 4"]
    """Similarity from stage to file coordinates."""
    joint_of_bone: Int[np.ndarray, " bone"]
    """The joint each of the file's bones moves with; −1 for bones above the root, which stay where they are."""
    bone_of_joint: Int[np.ndarray, " joint"]
    """The file's bone that each joint is."""


@dataclass(frozen=True, eq=False)
class Rig:
    """A character ready to move, in the stage frame."""

    mesh: Mesh
    skeleton: Skeleton
    weights: Float[np.ndarray, "vertex joint"]
    """Rows sum to one."""
    soles: tuple[Int[np.ndarray, " _"], ...] = ()
    """For each leg in the order of ``skeleton.limbs_of("leg")``, the vertices that touch the ground at rest."""
    leg_metres: float = 1.0
    """How many metres one leg length ℓ is."""
    name: str = "character"
    origin: Origin | None = None
    notes: tuple[str, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.weights.shape != (self.mesh.vertex_count, self.skeleton.joint_count):
            raise AkdError(
                f"Weights have shape {self.weights.shape}, but the mesh has {self.mesh.vertex_count} vertices"
                f" and the skeleton {self.skeleton.joint_count} joints."
            )

    @property
    def legs(self) -> tuple[Limb, ...]:
        """The legs, in the order of ``soles``."""
        return self.skeleton.limbs_of("leg")

    @property
    def gravity(self) -> float:
        """In leg lengths [ℓ/s²]."""
        return GRAVITY / self.leg_metres
