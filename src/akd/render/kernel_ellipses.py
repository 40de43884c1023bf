"""Compiled: the splats of one frame to ellipses in its picture, nearest first, and their gradients back to the splats.

The mathematics is that of ``raster_reference.project``, eight splats at a time and with its derivatives written out: in torch
these many small products would cost more than the blending. Arrays of vectors and matrices come in flattened.
"""

import math

import numpy as np

from akd.render.compiled import kernel, subroutine
from akd.render.raster_reference import BLUR, JACOBIAN_MARGIN, MIN_ALPHA
from akd.render.simd import WIDTH, broadcast, gather, horizontal_sum, load, log, maximum, minimum, scatter, select, sqrt, store

# Columns of an ellipse. The first ten have gradients; the last five tell which pixels it can reach.
X, Y, XX, XY, YY, OPACITY, DEPTH, RED, GREEN, BLUE = range(10)
LOG_OPACITY, SLOPE, TAPER, TIP, HALF_WIDTH, HALF_HEIGHT = range(10, 16)
ELLIPSE_SIZE = 16  # an ellipse of float32 is one cache line
GRADIENT_SIZE = 10
# Entries of a lens: the rows of the pose (3 × 4) first. The first sixteen have gradients.
FX, FY, CX, CY, WIDE, HIGH, NEAR, FAR = range(12, 20)
LENS_SIZE, LENS_GRADIENT_SIZE = 20, 16
RADIX_BITS = 11  # bits sorted in one pass
LOG2_E, LOG_MIN_ALPHA = 1.4426950408889634, math.log(MIN_ALPHA)


@kernel
def project_splats(means, covariances, opacities, lens, first, last, start, flat, visible):
    """The splats ``first`` to ``last`` that can touch the picture: their ellipses, from row ``start`` on in ``flat``, and
    their indices, in ``visible``; returns how many. Colours are left out."""
    candidates, count = _in_front(means, opacities, lens, first, last)
    block, row = np.empty(WIDTH * ELLIPSE_SIZE, means.dtype), start
    for k in range(0, count, WIDTH):
        _project(means, covariances, opacities, candidates, k, lens, block)
        for lane in range(min(WIDTH, count - k)):
            if block[lane * ELLIPSE_SIZE + HALF_HEIGHT] >= 0:
                _copy_ellipse(block, lane, flat, row)
                visible[row] = candidates[k + lane]
                row += 1
    # The backward pass takes whole vectors: lanes behind the end repeat the first splat of their eight.
    for lane in range(WIDTH):
        visible[row + lane] = visible[start + (row - start - 1) // WIDTH * WIDTH] if row > start else 0
    return row - start


@kernel
def rank_ellipses(flat, starts, counts, depths, keys, order):
    """Fill ``order`` with the rows of ``flat`` that hold ellipses, nearest first; returns how many.

    ``keys`` is the memory of ``depths`` seen as unsigned integers: positive floats and their bits sort alike.
    """
    rows, found = np.empty(len(depths), np.int32), 0
    for chunk in range(len(starts)):
        for row in range(starts[chunk], starts[chunk] + counts[chunk]):
            depths[found], rows[found] = flat[row * ELLIPSE_SIZE + DEPTH], row
            found += 1
    ranks = _ranks(keys[:found])
    for rank in range(found):
        order[rank] = rows[ranks[rank]]
    return found


@kernel
def arrange_ellipses(flat, visible, colors, order, first, last, ellipses):
    """Ellipses number ``first`` to ``last`` in their order, with colours."""
    for rank in range(first, last):
        _copy_ellipse(flat, order[rank], ellipses, rank)
        for channel in range(3):
            ellipses[rank * ELLIPSE_SIZE + RED + channel] = colors[3 * visible[order[rank]] + channel]


@kernel
def cut_into_bands(ellipses, order, rows, bands):
    """The ellipses that can reach into each band of so many ``rows``, nearest first, and their entries of ``order``.

    Band follows band, so that each reads its own from one piece of memory; the first array tells where they begin, and
    where the last one ends.
    """
    starts = np.zeros(bands + 1, np.int64)
    for rank in range(len(ellipses)):
        first, last = _bands_reached(ellipses, rank, rows, bands)
        starts[first + 1 : last + 2] += 1
    starts = np.cumsum(starts)
    copies, places, row = np.empty((starts[-1], ELLIPSE_SIZE), ellipses.dtype), np.empty(starts[-1], np.int32), starts.copy()
    for rank in range(len(ellipses)):
        first, last = _bands_reached(ellipses, rank, rows, bands)
        for band in range(first, last + 1):
            _copy_ellipse(ellipses, rank, copies, row[band])
            places[row[band]] = order[rank]
            row[band] += 1
    return starts, copies, places


@kernel
def splat_gradients(
    means, covariances, lens, visible, gradients, first, last, start, count, d_means, d_covariances, d_opacities, d_colors, d_lens
):
    """Gradients of the splats ``first`` to ``last`` and of the lens from those of their ellipses.

    Arguments are those of ``project_splats``; behind the ellipses ``gradients`` has at least eight rows of zeros.
    """
    for array, size in ((d_means, 3), (d_covariances, 9), (d_opacities, 1), (d_colors, 3)):
        array[first * size : last * size] = 0.0
    sums = np.zeros(LENS_GRADIENT_SIZE * WIDTH, means.dtype)
    for k in range(start, start + count, WIDTH):
        _project_backward(means, covariances, visible, k, lens, gradients, d_means, d_covariances, sums)
        scatter(d_opacities, visible, k, 1, 0, _gradient(gradients, k, OPACITY))
        for channel in range(3):
            scatter(d_colors, visible, k, 3, channel, _gradient(gradients, k, RED + channel))
    for i in range(LENS_GRADIENT_SIZE):
        d_lens[i] = horizontal_sum(load(sums, i * WIDTH))


@subroutine
def _bands_reached(ellipses, rank, rows, bands):
    """First and last; cut off before rounding, as a huge splat would overflow."""
    y, reach, zero = ellipses[rank, Y], ellipses[rank, HALF_HEIGHT], ellipses.dtype.type(0.0)
    return int(max(y - reach, zero)) // rows, int(min(y + reach, ellipses.dtype.type(rows * bands - 1))) // rows


@subroutine
def _copy_ellipse(source, row, target, place):
    for half in range(0, ELLIPSE_SIZE, WIDTH):
        store(target, place * ELLIPSE_SIZE + half, load(source, row * ELLIPSE_SIZE + half))


@subroutine
def _in_front(means, opacities, lens, first, last):
    """Splats between the near and far plane that are not too faint; padded to whole vectors with the first splat."""
    chosen = np.zeros(last - first + WIDTH, np.int32)
    count = 0
    for i in range(first, last):
        z = lens[8] * means[3 * i] + lens[9] * means[3 * i + 1] + lens[10] * means[3 * i + 2] + lens[11]
        if z >= lens[NEAR] and z <= lens[FAR] and opacities[i] >= MIN_ALPHA:
            chosen[count] = i
            count += 1
    return chosen, count


@subroutine
def _in_camera(means, index, k, lens):
    """Centres in camera axes."""
    mx, my, mz = gather(means, index, k, 3, 0), gather(means, index, k, 3, 1), gather(means, index, k, 3, 2)
    x = mx * lens[0] + my * lens[1] + mz * lens[2] + lens[3]
    y = mx * lens[4] + my * lens[5] + mz * lens[6] + lens[7]
    z = mx * lens[8] + my * lens[9] + mz * lens[10] + lens[11]
    return x, y, z


@subroutine
def _symmetric(covariances, index, k):
    """The six different entries of the covariances: xx, xy, xz, yy, yz, zz."""
    xy = (gather(covariances, index, k, 9, 1) + gather(covariances, index, k, 9, 3)) * 0.5
    xz = (gather(covariances, index, k, 9, 2) + gather(covariances, index, k, 9, 6)) * 0.5
    yz = (gather(covariances, index, k, 9, 5) + gather(covariances, index, k, 9, 7)) * 0.5
    xx, yy, zz = gather(covariances, index, k, 9, 0), gather(covariances, index, k, 9, 4), gather(covariances, index, k, 9, 8)
    return xx, xy, xz, yy, yz, zz


@subroutine
def _times(s, v):
    """A symmetric matrix times a vector."""
    xx, xy, xz, yy, yz, zz = s
    x, y, z = v
    return xx * x + xy * y + xz * z, xy * x + yy * y + yz * z, xz * x + yz * y + zz * z


@subroutine
def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@subroutine
def _held(slope, focal, middle, size):
    """The slope, or the rim of the widened field of view if the splat is outside it."""
    margin = size * 0.5 * JACOBIAN_MARGIN
    return minimum(maximum(slope, -(middle + margin) / focal), (size - middle + margin) / focal)


@subroutine
def _picture_row(scale, held, lens, row):
    """One row of J R: how the picture coordinate changes with the three stage coordinates."""
    return (
        scale * (lens[4 * row] - held * lens[8]),
        scale * (lens[4 * row + 1] - held * lens[9]),
        scale * (lens[4 * row + 2] - held * lens[10]),
    )


@subroutine
def _project(means, covariances, opacities, index, k, lens, ellipses):
    """Splats k … k + 7 of the index to eight ellipses; REACH is negative for the invisible."""
    x, y, z = _in_camera(means, index, k, lens)
    slope_x, slope_y = x / z, y / z
    u = _picture_row(lens[FX] / z, _held(slope_x, lens[FX], lens[CX], lens[WIDE]), lens, 0)
    v = _picture_row(lens[FY] / z, _held(slope_y, lens[FY], lens[CY], lens[HIGH]), lens, 1)
    s = _symmetric(covariances, index, k)
    su, sv = _times(s, u), _times(s, v)
    xx, xy, yy = _dot(u, su) + BLUR, _dot(u, sv), _dot(v, sv) + BLUR
    determinant = xx * yy - xy * xy
    px, py = slope_x * lens[FX] + lens[CX], slope_y * lens[FY] + lens[CY]
    opacity = gather(opacities, index, k, 1, 0)
    # α ≥ 1/255 where 2σ ≤ cut; a little more, because every pixel is tested again exactly.
    log_opacity = log(opacity)
    cut = (log_opacity - LOG_MIN_ALPHA) * 2.002 + 0.001
    reach_x, reach_y = sqrt(cut * xx), sqrt(cut * yy)
    across = (px + reach_x >= 0.0) & (px - reach_x <= lens[WIDE])
    down = (py + reach_y >= 0.0) & (py - reach_y <= lens[HIGH])
    visible = across & down & (determinant > 0.0)
    reach = select(visible, reach_y, broadcast(lens.dtype.type(-1.0)))
    # dx beside its centre the ellipse covers SLOPE·dx ± h with h² = TAPER·(HALF_WIDTH² − dx²); it reaches lowest at dx = TIP.
    slope, taper, tip = xy / xx, determinant / (xx * xx), cut * xy / reach_y
    conic = yy / determinant, -xy / determinant, xx / determinant
    shape = log_opacity * LOG2_E, slope, taper, tip, reach_x, reach
    columns = px, py, conic[0], conic[1], conic[2], opacity, z, opacity, opacity, opacity
    for column in range(len(columns)):
        scatter(ellipses, None, 0, ELLIPSE_SIZE, column, columns[column])
    for column in range(len(shape)):
        scatter(ellipses, None, 0, ELLIPSE_SIZE, LOG_OPACITY + column, shape[column])


@subroutine
def _project_backward(means, covariances, index, k, lens, gradients, d_means, d_covariances, sums):
    """The derivative of ``_project`` transposed, for eight splats: gradients of centre and covariance, and of the lens."""
    x, y, z = _in_camera(means, index, k, lens)
    slope_x, slope_y, scale_x, scale_y = x / z, y / z, lens[FX] / z, lens[FY] / z
    held_x, held_y = _held(slope_x, lens[FX], lens[CX], lens[WIDE]), _held(slope_y, lens[FY], lens[CY], lens[HIGH])
    u, v = _picture_row(scale_x, held_x, lens, 0), _picture_row(scale_y, held_y, lens, 1)
    s = _symmetric(covariances, index, k)
    su, sv = _times(s, u), _times(s, v)
    xx, xy, yy = _dot(u, su) + BLUR, _dot(u, sv), _dot(v, sv) + BLUR
    g_a, g_b, g_c = _gradient(gradients, k, XX), _gradient(gradients, k, XY), _gradient(gradients, k, YY)
    g_xx, g_xy, g_yy = _inverse_backward(xx, xy, yy, g_a, g_b, g_c)
    _covariance_backward(u, v, g_xx, g_xy, g_yy, index, k, d_covariances)

    # Rows of J R, then J, whose entries are (f/z, −f·held/z) in each direction.
    d_u0, d_u1, d_u2 = _row_backward(g_xx, su, g_xy, sv)
    d_v0, d_v1, d_v2 = _row_backward(g_yy, sv, g_xy, su)
    d_scale_x = d_u0 * (lens[0] - held_x * lens[8]) + d_u1 * (lens[1] - held_x * lens[9]) + d_u2 * (lens[2] - held_x * lens[10])
    d_scale_y = d_v0 * (lens[4] - held_y * lens[8]) + d_v1 * (lens[5] - held_y * lens[9]) + d_v2 * (lens[6] - held_y * lens[10])
    d_held_x = -scale_x * (d_u0 * lens[8] + d_u1 * lens[9] + d_u2 * lens[10])
    d_held_y = -scale_y * (d_v0 * lens[8] + d_v1 * lens[9] + d_v2 * lens[10])

    # A held slope does not follow the splat any more but the rim, which depends on the lens.
    zero = broadcast(lens.dtype.type(0.0))
    free_x, free_y = (slope_x >= held_x) & (slope_x <= held_x), (slope_y >= held_y) & (slope_y <= held_y)
    d_px, d_py = _gradient(gradients, k, X), _gradient(gradients, k, Y)
    d_slope_x, d_slope_y = d_px * lens[FX] + select(free_x, d_held_x, zero), d_py * lens[FY] + select(free_y, d_held_y, zero)
    d_rim_x, d_rim_y = select(free_x, zero, d_held_x) / lens[FX], select(free_y, zero, d_held_y) / lens[FY]

    d_x, d_y = d_slope_x / z, d_slope_y / z
    d_z = _gradient(gradients, k, DEPTH) - d_x * slope_x - d_y * slope_y - (d_scale_x * scale_x + d_scale_y * scale_y) / z
    for i in range(3):
        scatter(d_means, index, k, 3, i, d_x * lens[i] + d_y * lens[4 + i] + d_z * lens[8 + i])
    turn_x = (d_u0 * scale_x, d_u1 * scale_x, d_u2 * scale_x)
    turn_y = (d_v0 * scale_y, d_v1 * scale_y, d_v2 * scale_y)
    for i in range(3):
        m = gather(means, index, k, 3, i)
        _accumulate(sums, i, d_x * m + turn_x[i])
        _accumulate(sums, 4 + i, d_y * m + turn_y[i])
        _accumulate(sums, 8 + i, d_z * m - turn_x[i] * held_x - turn_y[i] * held_y)
    _accumulate(sums, 3, d_x)
    _accumulate(sums, 7, d_y)
    _accumulate(sums, 11, d_z)
    _accumulate(sums, FX, d_px * slope_x + d_scale_x / z - d_rim_x * held_x)
    _accumulate(sums, FY, d_py * slope_y + d_scale_y / z - d_rim_y * held_y)
    _accumulate(sums, CX, d_px - d_rim_x)
    _accumulate(sums, CY, d_py - d_rim_y)


@subroutine
def _gradient(gradients, k, column):
    return gather(gradients, None, k, GRADIENT_SIZE, column)


@subroutine
def _inverse_backward(xx, xy, yy, g_a, g_b, g_c):
    """Gradient of a symmetric 2 × 2 matrix from that of its inverse Q: −Q G Q; the middle one is per entry, not per pair."""
    determinant = xx * yy - xy * xy
    a, b, c, h = yy / determinant, -xy / determinant, xx / determinant, g_b * 0.5
    p, q, r, t = a * g_a + b * h, a * h + b * g_c, b * g_a + c * h, b * h + c * g_c
    return -(p * a + q * b), -(p * b + q * c), -(r * b + t * c)


@subroutine
def _covariance_backward(u, v, g_xx, g_xy, g_yy, index, k, d_covariances):
    """(J R)ᵀ G (J R), all nine entries."""
    for i in range(3):
        along_u, along_v = u[i] * g_xx + v[i] * g_xy, u[i] * g_xy + v[i] * g_yy
        for j in range(3):
            scatter(d_covariances, index, k, 9, 3 * i + j, along_u * u[j] + along_v * v[j])


@subroutine
def _row_backward(g_same, s_same, g_cross, s_cross):
    """Gradient of one row of J R: 2 (G J R Σ)."""
    return (
        (g_same * s_same[0] + g_cross * s_cross[0]) * 2.0,
        (g_same * s_same[1] + g_cross * s_cross[1]) * 2.0,
        (g_same * s_same[2] + g_cross * s_cross[2]) * 2.0,
    )


@subroutine
def _accumulate(sums, entry, vector):
    store(sums, entry * WIDTH, load(sums, entry * WIDTH) + vector)


@subroutine
def _ranks(keys):
    """Positions of the keys from smallest to largest, equal ones in their order: a radix sort."""
    ranks, other = np.empty(len(keys), np.int32), np.empty(len(keys), np.int32)
    for i in range(len(keys)):
        ranks[i] = i
    digits = 1 << RADIX_BITS
    mask = keys.dtype.type(digits - 1)
    for shift in range(0, keys.itemsize * 8, RADIX_BITS):
        starts = np.zeros(digits + 1, np.int64)
        for key in keys:
            starts[((key >> keys.dtype.type(shift)) & mask) + 1] += 1
        for digit in range(digits):
            starts[digit + 1] += starts[digit]
        for rank in ranks:
            digit = (keys[rank] >> keys.dtype.type(shift)) & mask
            other[starts[digit]] = rank
            starts[digit] += 1
        ranks, other = other, ranks
    return ranks
