"""Splats bound to a rig: made from its mesh, or given and only bound."""

from typing import Literal

import numpy as np
import torch

from akd.errors import AkdError
from akd.reconstruct.fast import surface_splats
from akd.reconstruct.paper import reconstruct_splats
from akd.reconstruct.sampling import nearest_surface
from akd.render.surface import interpolate
from akd.rig import Rig
from akd.splats import SkinnedSplats, Splats

Mode = Literal["fast", "paper"]

FILM_COUNT = 3000
"""Enough for pictures of 64 pixels."""
SHADE = 0.3
"""How much darker splats are that face away from the sky at rest."""


def skinned_splats(
    rig: Rig, *, mode: Mode = "fast", count: int = FILM_COUNT, resolution: int = 64, shade: float = SHADE, seed: int = 0
) -> SkinnedSplats:
    """Splats that look like the rig's mesh and move with it, at most about ``count``.

    ``fast`` computes them from the triangles, for pictures of about ``resolution`` pixels; ``paper`` reconstructs them
    from 200 views. ``shade`` paints soft light from above into their colours; 0 leaves the base colours alone.
    """
    if mode == "fast":
        made = surface_splats(rig.mesh, count, resolution=resolution, shade=shade, seed=seed)
        weights = made.mean @ interpolate(rig.mesh, made.samples, rig.weights)
        return SkinnedSplats(made.splats, _rows_of_one(weights))
    if mode == "paper":
        return bind_splats(rig, reconstruct_splats(rig.mesh, count, shade=shade, seed=seed))
    raise AkdError(f"Splats are made in mode 'fast' or 'paper', not {mode!r}.")


def bind_splats(rig: Rig, splats: Splats) -> SkinnedSplats:
    """Given splats, on the rig's stage, with the weights of the nearest point of its surface."""
    nearest = nearest_surface(rig.mesh, splats.means.double().numpy())
    return SkinnedSplats(splats, _rows_of_one(interpolate(rig.mesh, nearest, rig.weights)))


def _rows_of_one(weights: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(weights / weights.sum(1, keepdims=True)).float()
