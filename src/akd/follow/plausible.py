"""What is known of poses before looking: the pose space's best guess near a pose, and how far each joint goes."""

from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float

from akd.follow.body import Body, Coordinates
from akd.posespace.denoiser import Denoiser
from akd.posespace.network import SHIPPED, load_network, noise_level
from akd.posespace.representation import rig_descriptor

NOISE_TIME = 0.25
"""Noise at which poses are denoised: enough to move a broken pose, too little to replace a rare one."""
RANGE = 2.5
"""Beyond so many spreads from the mean a joint is out of its range."""
RANGE_STIFFNESS = 9.0
"""How much stiffer a joint becomes out of its range."""
FREE_SPREAD = 0.5
"""Spread of joints where no pose space is used [rad]."""
MIN_SPREAD = 0.08
"""Joints that hardly move in any training pose may still do so here [rad]."""


@dataclass(frozen=True, eq=False)
class Plausible:
    """A quadratic prior around the pose space's guess; without a pose space, around the first pose."""

    body: Body
    denoiser: Denoiser | None
    spread: Float[np.ndarray, "joint 3"]
    rest: Float[np.ndarray, "joint 3"]
    """What joints fall back to without a pose space [rad]."""

    @classmethod
    def of(cls, body: Body, first: Coordinates, *, pose_space: bool = True) -> "Plausible":
        rest = first[0, 3:].reshape(-1, 3)
        if not pose_space:
            return cls(body, None, np.full((body.joint_count, 3), FREE_SPREAD), rest)
        with torch.no_grad():
            denoiser = Denoiser.of(load_network(SHIPPED), rig_descriptor(body.rig))
        spread = np.maximum(denoiser.spread.double().numpy(), MIN_SPREAD)
        return cls(body, denoiser, spread, rest)

    def guess(self, y: Coordinates) -> tuple[Coordinates, Coordinates]:
        """The most plausible coordinates near given ones, and the stiffness with which they hold (inverse variances).

        Nothing is said about place and turn of the root: their stiffness is zero.
        """
        vectors = y[:, 3:].reshape(len(y), -1, 3)
        stiff = np.repeat((1 / self.spread**2)[None], len(y), 0)
        if self.denoiser is None:
            target = np.repeat(self.rest[None], len(y), 0)
        else:
            shown = vectors.copy()
            shown[:, 0] = 0  # the root's turn is no part of a pose, but for its tilt, which the picture shows
            normalised = self.denoiser.to_normalised(torch.from_numpy(shown).float())
            alpha, _ = noise_level(torch.tensor(NOISE_TIME))
            clean = self.denoiser.denoise(alpha * normalised, NOISE_TIME)
            target = self.denoiser.to_vectors(clean).double().numpy()
            stiff = stiff * np.where(normalised.abs().numpy() > RANGE, RANGE_STIFFNESS, 1.0)
        target[:, 0], stiff[:, 0] = vectors[:, 0], 0
        root = y[:, :3]
        return (
            np.concatenate((root, target.reshape(len(y), -1)), 1),
            np.concatenate((np.zeros_like(root), stiff.reshape(len(y), -1)), 1),
        )
