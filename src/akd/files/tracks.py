"""A clip as a transform per bone and frame, relative to the bone's parent, and the poses between its frames."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from akd.rotations import matrix_to_quaternion, quaternion_to_matrix, slerp


@dataclass(frozen=True, eq=False)
class Tracks:
    """Evenly spaced frames. Rotations turn at constant speed in between, the rest moves on straight lines."""

    parents: Int[np.ndarray, " bone"]
    rotations: Float[Tensor, "frame bone 4"]
    translations: Float[Tensor, "frame bone 3"]
    stretches: Float[Tensor, "frame bone 3 3"] | None
    """What is left of each matrix when the rotation is taken off: scale and shear; None where there is none."""
    frame_time: float
    """Seconds from frame to frame."""

    @classmethod
    def from_world(
        cls, parents: Int[np.ndarray, " bone"], world: Float[np.ndarray, "frame bone 4 4"], frame_time: float
    ) -> "Tracks":
        """From the world matrices of every frame."""
        local = world.copy()
        child = np.flatnonzero(parents >= 0)
        local[:, child] = np.linalg.pinv(world[:, parents[child]]) @ world[:, child]
        matrices = torch.as_tensor(local)
        # The nearest rotation U Vᵀ; where the matrix mirrors, the mirroring goes into the stretch.
        left, _, right = torch.linalg.svd(matrices[..., :3, :3])
        left[..., 2] *= torch.linalg.det(left @ right)[..., None].sign()
        turn = left @ right
        return cls(parents, matrix_to_quaternion(turn), matrices[..., :3, 3], turn.mT @ matrices[..., :3, :3], frame_time)

    @property
    def frame_count(self) -> int:
        return len(self.rotations)

    @property
    def duration(self) -> float:
        """Seconds from the first frame to the last."""
        return (self.frame_count - 1) * self.frame_time

    def sample(self, times: np.ndarray) -> Float[np.ndarray, "time bone 4 4"]:
        """World matrices at any times [s]; before the first frame and after the last the pose holds."""
        last = self.frame_count - 1
        place = torch.as_tensor(np.clip(np.asarray(times, float).reshape(-1) / self.frame_time, 0, last))
        before = place.floor().long().clamp(max=max(last - 1, 0))
        after, u = (before + 1).clamp(max=last), (place - before)[:, None, None]
        linear = quaternion_to_matrix(slerp(self.rotations[before], self.rotations[after], u))
        if self.stretches is not None:
            linear = linear @ torch.lerp(self.stretches[before], self.stretches[after], u[..., None])
        world = np.zeros((len(place), len(self.parents), 4, 4))
        world[..., 3, 3] = 1
        world[..., :3, :3] = linear.numpy()
        world[..., :3, 3] = torch.lerp(self.translations[before], self.translations[after], u).numpy()
        for bone, parent in enumerate(self.parents):
            if parent >= 0:
                world[:, bone] = world[:, parent] @ world[:, bone]
        return world
