"""The baseline of ``rasterize``: lists of splats per tile and a loop over them in each pixel; makes no figure of its own.

Same interface as ``akd.render.kernel_blend``, so that it can be used in its place; plain compiled loops.
"""

import math

import numpy as np
from numba import njit

from akd.render.kernel_ellipses import DEPTH, GRADIENT_SIZE, HALF_HEIGHT, HALF_WIDTH, OPACITY, RED, XX, XY, YY, X, Y
from akd.render.raster_reference import MAX_ALPHA, MIN_ALPHA, MIN_TRANSMITTANCE

TILE = 8  # faster here than the usual 16


@njit(nogil=True, fastmath=True, error_model="numpy")
def blend(ellipses, top, bottom, color, transmittance, depth):
    """Rows ``top`` to ``bottom``: colour over black, transmittance, Σ w z."""
    starts, lists = _tiles(ellipses, top, bottom, color.shape[1])
    across = (color.shape[1] + TILE - 1) // TILE
    for row in range(top, bottom):
        for column in range(color.shape[1]):
            tile = (row - top) // TILE * across + column // TILE
            through, red, green, blue, far = np.float32(1), np.float32(0), np.float32(0), np.float32(0), np.float32(0)
            for k in range(starts[tile], starts[tile + 1]):
                e = ellipses[lists[k]]
                alpha, _ = _alpha(e, np.float32(column + 0.5) - e[X], np.float32(row + 0.5) - e[Y])
                if alpha == 0:
                    continue
                if through * (1 - alpha) <= MIN_TRANSMITTANCE:
                    break
                weight = through * alpha
                red, green, blue = red + weight * e[RED], green + weight * e[RED + 1], blue + weight * e[RED + 2]
                far += weight * e[DEPTH]
                through -= weight
            color[row, column, 0], color[row, column, 1], color[row, column, 2] = red, green, blue
            transmittance[row, column], depth[row, column] = through, far


@njit(nogil=True, fastmath=True, error_model="numpy")
def blend_backward(ellipses, order, top, bottom, color, transmittance, depth, d_color, d_transmittance, d_depth, gradients):
    """Gradients of the ten first columns of each ellipse from these rows."""
    starts, lists = _tiles(ellipses, top, bottom, color.shape[1])
    across, rows = (color.shape[1] + TILE - 1) // TILE, gradients.reshape(-1, GRADIENT_SIZE)
    for row in range(top, bottom):
        for column in range(color.shape[1]):
            tile = (row - top) // TILE * across + column // TILE
            through, rest = np.float32(1), d_depth[row, column] * depth[row, column]
            rest += d_transmittance[row, column] * transmittance[row, column]
            for channel in range(3):
                rest += d_color[row, column, channel] * color[row, column, channel]
            for k in range(starts[tile], starts[tile + 1]):
                e, g = ellipses[lists[k]], rows[order[lists[k]]]
                dx, dy = np.float32(column + 0.5) - e[X], np.float32(row + 0.5) - e[Y]
                alpha, free = _alpha(e, dx, dy)
                if alpha == 0:
                    continue
                if through * (1 - alpha) <= MIN_TRANSMITTANCE:
                    break
                weight = through * alpha
                q = d_depth[row, column] * e[DEPTH]
                g[DEPTH] += weight * d_depth[row, column]
                for channel in range(3):
                    q += d_color[row, column, channel] * e[RED + channel]
                    g[RED + channel] += weight * d_color[row, column, channel]
                rest -= weight * q
                if free:
                    d_sigma = alpha * (rest / (1 - alpha) - through * q)
                    g[X] -= d_sigma * (e[XX] * dx + e[XY] * dy)
                    g[Y] -= d_sigma * (e[XY] * dx + e[YY] * dy)
                    g[XX] += d_sigma * dx * dx / 2
                    g[XY] += d_sigma * dx * dy
                    g[YY] += d_sigma * dy * dy / 2
                    g[OPACITY] -= d_sigma / e[OPACITY]
                through -= weight
    return order[:0], gradients[:0]  # bands follow one another here, so all of them may add to the same rows


@njit(nogil=True, fastmath=True, error_model="numpy")
def _alpha(e, dx, dy):
    exponent = -(e[XX] * dx * dx + e[YY] * dy * dy) / 2 - e[XY] * dx * dy
    peak = e[OPACITY] * math.exp(exponent)
    alpha = min(peak, np.float32(MAX_ALPHA))
    return (alpha if alpha >= MIN_ALPHA and exponent <= 0 else np.float32(0)), peak <= MAX_ALPHA


@njit(nogil=True)
def _tiles(ellipses, top, bottom, width):
    """For each tile the ellipses whose bounding box meets it, in depth order."""
    across, down = (width + TILE - 1) // TILE, (bottom - top + TILE - 1) // TILE
    starts = np.zeros(across * down + 1, np.int64)
    lists = np.empty(0, np.int64)
    for counting in (True, False):
        cursor = starts.copy()
        for i in range(len(ellipses)):
            x, y, half, reach = ellipses[i, X], ellipses[i, Y] - top, ellipses[i, HALF_WIDTH], ellipses[i, HALF_HEIGHT]
            for v in range(max(0, int((y - reach) / TILE)), min(down, int((y + reach) / TILE) + 1)):
                for u in range(max(0, int((x - half) / TILE)), min(across, int((x + half) / TILE) + 1)):
                    if counting:
                        starts[v * across + u + 1] += 1
                    else:
                        lists[cursor[v * across + u]] = i
                        cursor[v * across + u] += 1
        if counting:
            starts = np.cumsum(starts)
            lists = np.empty(starts[-1], np.int64)
    return starts, lists
