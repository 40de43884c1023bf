"""Splats bound to a rig: made from its mesh, or given and bound to the nearest surface."""

from typing import Literal

import numpy as np
import torch

from akd.errors import AkdError
from akd.mesh import Mesh
from akd.reconstruct.fitted_splats import PaperSettings, reconstruct_splats
from akd.reconstruct.surface_splats import nearest_surface, surface_splats
from akd.render.figure import figure_splats
from akd.render.film import FilmSettings
from akd.render.raycast import interpolate
from akd.rig import Rig
from akd.splats import SkinnedSplats, Splats

Mode = Literal["fast", "paper"]
FILM_COUNT = 3000
"""Enough for pictures of 64 pixels."""
FILE_COUNT = 20_000
"""Enough for pictures of 256 to 512 pixels."""
MAX_SPLATS = 5_000_000
"""More than any scene of splats has; they take some gigabytes while they are made."""
SHADE = 0.3
"""How much darker splats are that face away from the sky at rest."""


def mesh_splats(
    mesh: Mesh, *, mode: Mode = "paper", count: int = FILE_COUNT, resolution: int = 256, shade: float = SHADE, seed: int = 0
) -> Splats:
    """Splats that look like a mesh, in the mesh's own coordinates, at most about ``count``.

    ``fast`` computes them from the triangles, for pictures of about ``resolution`` pixels; ``paper`` reconstructs them
    from 200 views of that size. ``shade`` paints soft light from above into the colours; 0 leaves the base colours alone.
    """
    if not 1 <= count <= MAX_SPLATS:
        raise AkdError(f"Between 1 and {MAX_SPLATS} splats can be made, not {count}: choose another --count.")
    if mode == "fast":
        return surface_splats(mesh, count, resolution=resolution, shade=shade, seed=seed).splats
    if mode == "paper":
        return reconstruct_splats(mesh, count, shade=shade, seed=seed, settings=PaperSettings(resolution=resolution))
    raise AkdError(f"Splats are made in mode 'fast' or 'paper', not {mode!r}.")


def skinned_splats(
    rig: Rig, *, mode: Mode = "fast", count: int = FILM_COUNT, resolution: int = 64, shade: float = SHADE, seed: int = 0
) -> SkinnedSplats:
    """Splats that look like the rig's mesh (see ``mesh_splats``) and move with it."""
    if mode == "fast":
        made = surface_splats(rig.mesh, count, resolution=resolution, shade=shade, seed=seed)
        return SkinnedSplats(made.splats, _rows_of_one(made.mean @ interpolate(rig.mesh, made.samples, rig.weights)))
    resolution = max(resolution, 256)
    return bind_splats(rig, mesh_splats(rig.mesh, mode=mode, count=count, resolution=resolution, shade=shade, seed=seed))


def film_splats(rig: Rig, settings: FilmSettings, *, mode: Mode = "fast") -> SkinnedSplats:
    """What is filmed of a rig with these settings: splats of its skin, or its figure."""
    if settings.look == "figure":
        return figure_splats(rig.skeleton)
    return skinned_splats(rig, mode=mode, resolution=max(settings.width, settings.height))


def bind_splats(rig: Rig, splats: Splats) -> SkinnedSplats:
    """Given splats, on the rig's stage, with the weights of the nearest point of its surface."""
    nearest = nearest_surface(rig.mesh, splats.means.double().numpy())
    return SkinnedSplats(splats, _rows_of_one(interpolate(rig.mesh, nearest, rig.weights)))


def _rows_of_one(weights: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(weights / weights.sum(1, keepdims=True)).float()
