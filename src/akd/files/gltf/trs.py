"""Translation, rotation and scale: what a glTF animation can change, and the matrices they make."""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

from akd.files.gltf.nodes import composed, unit_quaternions


class Trs(NamedTuple):
    """The map x ↦ rotation (scale ⊙ x) + translation, with any leading batch axes."""

    translation: Float[np.ndarray, "*batch 3"]
    rotation: Float[np.ndarray, "*batch 4"]
    """Quaternion xyzw, the order of files."""
    scale: Float[np.ndarray, "*batch 3"]

    def matrix(self) -> Float[np.ndarray, "*batch 4 4"]:
        return composed(self.translation, unit_quaternions(self.rotation), self.scale)


IDENTITY = Trs(np.zeros(3), np.array([0.0, 0, 0, 1]), np.ones(3))


def decompose(matrices: Float[np.ndarray, "frame 4 4"], default: Trs = IDENTITY) -> Trs:
    """The nearest translations, rotations and scales, frame after frame without jumps. Shear is lost.

    The signs of the scale are not determined by a matrix: they follow ``default``, and one axis flips where the
    matrix mirrors and the default does not. Where a part is scaled to nothing, which is how artists hide it, its
    rotation is not determined either and stays as it was.
    """
    linear = matrices[:, :3, :3]
    signs = np.tile(np.where(default.scale < 0, -1.0, 1.0), (len(linear), 1))
    signs[np.linalg.det(linear) * signs.prod(1) < 0, 0] *= -1
    left, sizes, right = np.linalg.svd(linear * signs[:, None, :])
    left[:, :, 2] *= np.sign(np.linalg.det(left @ right))[:, None]  # two sizes may vanish, then svd may mirror
    turns = left @ right
    determined = sizes[:, 1] > 1e-9 * max(sizes.max(), 1e-9)
    latest = np.maximum.accumulate(np.where(determined, np.arange(len(linear)), -1))
    rotations = np.where(latest[:, None] >= 0, Rotation.from_matrix(turns).as_quat()[latest], default.rotation)
    turns = Rotation.from_quat(rotations).as_matrix()
    return Trs(matrices[:, :3, 3].copy(), _continuous(rotations, default.rotation), np.einsum("fij,fij->fj", turns, linear))


def _continuous(rotations: Float[np.ndarray, "frame 4"], first: Float[np.ndarray, " 4"]) -> Float[np.ndarray, "frame 4"]:
    """The same rotations, each with the sign that is nearest to the one before, so that interpolation goes the short way."""
    before = np.concatenate((first[None], rotations[:-1]))
    flips = np.where((rotations * before).sum(1) < 0, -1.0, 1.0)
    return rotations * np.cumprod(flips)[:, None]
