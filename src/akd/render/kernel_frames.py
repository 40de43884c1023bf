"""Compiled: whole frames in one call, from their splats to their pictures and back.

Every call from Python takes the interpreter lock to begin and to end, so threads that call for each step of each small
frame wait for one another. Here a thread is away for several frames.
"""

import numpy as np

from akd.render.compiled import kernel, part
from akd.render.kernel_blend import blend, blend_back
from akd.render.kernel_ellipses import (
    ELLIPSE_SIZE,
    GRADIENT_SIZE,
    arrange_ellipses,
    project_splats,
    rank_ellipses,
    splat_gradients,
)


@kernel
def draw_frames(
    first, last, means, covariances, opacities, colors, lenses, depths, keys,
    ellipses, order, visible, found, color, transmittance, depth,
):  # fmt: skip
    """Frames ``first`` to ``last``, each in one piece; arrays are those of the kernels with a frame axis before."""
    for frame in range(first, last):
        flat, present, sorted_out = np.empty(visible.shape[1] * ELLIPSE_SIZE, means.dtype), visible[frame], ellipses[frame]
        geometry = _of(means, frame), _of(covariances, frame), _of(opacities, frame)
        count = project_splats(*geometry, lenses[frame], 0, len(depths), 0, flat, present)
        found[frame, 0] = count
        rank_ellipses(flat, np.zeros(1, np.int64), found[frame], depths, keys, order[frame])
        arrange_ellipses(flat, present, _of(colors, frame), order[frame], 0, count, sorted_out.reshape(-1))
        blend(sorted_out[:count], 0, color.shape[1], color[frame], transmittance[frame], depth[frame])


@kernel
def carry_frames_back(
    first, last, means, covariances, lenses, ellipses, order, visible, found, color, transmittance, depth,
    d_color, d_transmittance, d_depth, d_means, d_covariances, d_opacities, d_colors, d_lenses,
):  # fmt: skip
    """Gradients of what ``draw_frames`` was given."""
    for frame in range(first, last):
        count, d_ellipses = found[frame, 0], np.zeros(visible.shape[1] * GRADIENT_SIZE, means.dtype)
        pictures = color[frame], transmittance[frame], depth[frame], d_color[frame], d_transmittance[frame], d_depth[frame]
        blend_back(ellipses[frame][:count], order[frame], 0, color.shape[1], *pictures, d_ellipses)
        given = _of(means, frame), _of(covariances, frame), lenses[frame], visible[frame], d_ellipses
        wanted = d_means[frame], d_covariances[frame], d_opacities[frame], d_colors[frame], d_lenses[frame, 0]
        splat_gradients(*given, 0, ellipses.shape[1], 0, count, *wanted)


@part
def _of(rows, frame):
    """A frame's row; where there is but one, all frames share it."""
    return rows[min(frame, len(rows) - 1)]
