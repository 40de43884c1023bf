"""Compiled: alpha blending of ellipses over a band of pixel rows, front to back, its gradients, and whole frames in one call.

Splat by splat: each ellipse visits its own pixels, eight neighbours at a time, and the state of a pixel (transmittance, colour
so far) lies in small planes that stay in the cache. There are no lists of splats per pixel or tile.

A finished pixel has its transmittance stored with a minus sign: it then fails the very test that ended it, so one comparison
serves both, and eight finished neighbours are skipped before any arithmetic.

``draw_frames`` and ``backward_frames`` do several frames per call: every call from Python takes the interpreter lock to begin
and to end, so threads that call for each step of each small frame would wait for one another.
"""

import math

import numpy as np

from akd.render.compiled import kernel, subroutine
from akd.render.kernel_ellipses import (
    BLUE,
    DEPTH,
    ELLIPSE_SIZE,
    GRADIENT_SIZE,
    GREEN,
    HALF_HEIGHT,
    HALF_WIDTH,
    LOG2_E,
    LOG_OPACITY,
    OPACITY,
    RED,
    SLOPE,
    TAPER,
    TIP,
    XX,
    XY,
    YY,
    X,
    Y,
    arrange_ellipses,
    project_splats,
    rank_ellipses,
    splat_gradients,
)
from akd.render.raster_reference import MAX_ALPHA, MIN_ALPHA, MIN_TRANSMITTANCE
from akd.render.simd import (
    WIDTH,
    any_true,
    broadcast,
    cast_like,
    ceil,
    count_from,
    exp2,
    floor,
    horizontal_sum,
    horizontal_sums,
    load,
    minimum,
    negative_abs,
    pointer,
    select,
    sqrt,
    store,
)

LOG2_MIN_ALPHA, LOG2_MAX_ALPHA = math.log2(MIN_ALPHA), math.log2(MAX_ALPHA)


@kernel
def blend(ellipses, top, bottom, color, transmittance, depth):
    """Rows ``top`` to ``bottom`` of one picture under these ellipses: colour over black, transmittance, Σ w z."""
    width, stride, zero = color.shape[1], color.shape[1] + WIDTH, broadcast(color.dtype.type(0.0))
    pixels = _fresh_pixels(bottom - top, 5, width, color)  # transmittance, red, green, blue, depth
    for rank in range(len(ellipses)):
        e = pointer(ellipses, rank * ELLIPSE_SIZE)
        left, right = _columns(e, width)
        middle = e[Y] - cast_like(e[Y], 0.5)
        for column in range(left, right, WIDTH):
            first, last = _rows(e, column, right - left, top, bottom)
            _, constant, linear, square = _exponent(e, column)
            dy = broadcast(color.dtype.type(first) - middle)
            for row in range(first, last):
                here = (row - top) * 5 * stride + column
                t = load(pixels, here)
                if any_true(t > 0.0):
                    exponent = (square * dy + linear) * dy + constant
                    _, weight, _ = _pass_through(pixels, here, t, e, exponent, zero)
                    _add(pixels, here + stride, weight, e[RED])
                    _add(pixels, here + 2 * stride, weight, e[GREEN])
                    _add(pixels, here + 3 * stride, weight, e[BLUE])
                    _add(pixels, here + 4 * stride, weight, e[DEPTH])
                dy = dy + 1.0
    _write_pictures(pixels, top, bottom, stride, color, transmittance, depth)


@kernel
def blend_backward(ellipses, order, top, bottom, color, transmittance, depth, d_color, d_transmittance, d_depth, gradients):
    """Gradients of the ten first columns of each ellipse from these rows, written to row ``order[rank]``.

    The scan is repeated front to back. With q_i the change of the loss per weight w_i, what the splats behind i still
    add to the loss is R_i = R_{i−1} − w_i q_i, starting from the finished pixel's total; and ∂loss/∂α_i = T_i q_i −
    R_i / (1 − α_i). So nothing has to be remembered per splat and pixel, and early ends are the forward pass's own.

    An ellipse belongs to the band in which it begins. Its gradients in further bands overflow: they are returned as row numbers
    and rows for the caller to add, so that bands can run in parallel and need no full set of gradients each.
    """
    width, stride, zero = color.shape[1], color.shape[1] + WIDTH, broadcast(color.dtype.type(0.0))
    pixels = _fresh_pixels(bottom - top, 6, width, color)  # transmittance, R, ∂ red, ∂ green, ∂ blue, ∂ depth
    _fill_gradients(pixels, top, bottom, stride, color, transmittance, depth, d_color, d_transmittance, d_depth)
    overflow_rows, overflow_count = np.empty(_count_overflow(ellipses, top), np.int32), 0
    overflow = np.empty(len(overflow_rows) * GRADIENT_SIZE, color.dtype)
    for rank in range(len(ellipses)):
        e = pointer(ellipses, rank * ELLIPSE_SIZE)
        left, right = _columns(e, width)
        middle, is_seen = e[Y] - cast_like(e[Y], 0.5), False
        s, s_x, s_y, s_xx, s_xy, s_yy = zero, zero, zero, zero, zero, zero
        s_red, s_green, s_blue, s_far = zero, zero, zero, zero
        for column in range(left, right, WIDTH):
            first, last = _rows(e, column, right - left, top, bottom)
            dx, constant, linear, square = _exponent(e, column)
            dy = broadcast(color.dtype.type(first) - middle)
            d_0, d_1, d_2 = zero, zero, zero  # Σ ∂loss/∂σ dyⁿ down these eight columns, in which dx stays the same
            for row in range(first, last):
                here = (row - top) * 6 * stride + column
                t = load(pixels, here)
                if any_true(t > 0.0):
                    is_seen = True
                    exponent = (square * dy + linear) * dy + constant
                    alpha, weight, is_differentiable = _pass_through(pixels, here, t, e, exponent, zero)
                    red, green = load(pixels, here + 2 * stride), load(pixels, here + 3 * stride)
                    blue, far = load(pixels, here + 4 * stride), load(pixels, here + 5 * stride)
                    s_red, s_green = s_red + weight * red, s_green + weight * green
                    s_blue, s_far = s_blue + weight * blue, s_far + weight * far
                    q = red * e[RED] + green * e[GREEN] + blue * e[BLUE] + far * e[DEPTH]
                    behind = load(pixels, here + stride) - weight * q
                    store(pixels, here + stride, behind)
                    d_sigma = select(is_differentiable, alpha * (behind / (1.0 - alpha) - t * q), zero)  # ∂loss/∂σ = −α ∂loss/∂α
                    d_0, d_1, d_2 = d_0 + d_sigma, d_1 + d_sigma * dy, d_2 + d_sigma * (dy * dy)
                dy = dy + 1.0
            s, s_x, s_xx = s + d_0, s_x + d_0 * dx, s_xx + d_0 * (dx * dx)
            s_y, s_xy, s_yy = s_y + d_1, s_xy + d_1 * dx, s_yy + d_2
        if is_seen:
            d_x, d_y = -(s_x * e[XX] + s_y * e[XY]), -(s_x * e[XY] + s_y * e[YY])
            d_opacity = s * (color.dtype.type(-1.0) / e[OPACITY])
            first_eight = horizontal_sums(d_x, d_y, s_xx * 0.5, s_xy, s_yy * 0.5, d_opacity, s_far, s_red)
            if _begins_above(e, top):
                overflow_rows[overflow_count] = order[rank]
                _write(overflow, overflow_count, first_eight, horizontal_sum(s_green), horizontal_sum(s_blue))
                overflow_count += 1
            else:
                _write(gradients, order[rank], first_eight, horizontal_sum(s_green), horizontal_sum(s_blue))
    return overflow_rows[:overflow_count], overflow[: overflow_count * GRADIENT_SIZE]


@subroutine
def _pass_through(pixels, here, t, e, exponent, zero):
    """Eight pixels behind one more splat: their new transmittance is stored; returns α, the splat's weight α T, and
    where α follows the splat: not where it was cut off above or the pixel is finished."""
    alpha, is_free = _alpha(e, exponent, zero)
    weight = t * alpha
    after = t - weight
    is_unfinished = after > MIN_TRANSMITTANCE
    store(pixels, here, select(is_unfinished, after, negative_abs(t)))
    return alpha, select(is_unfinished, weight, zero), is_unfinished & is_free


@subroutine
def _fresh_pixels(rows, planes, width, example):
    """Transmittance 1 and zeros, plane beside plane within each row: a whole plane apart, addresses would often agree in
    their low bits and the processor take one plane's loads for another's stores. Each row ends with eight finished
    pixels, so that a load may run over its end."""
    stride = width + WIDTH
    pixels = np.zeros(rows * planes * stride, example.dtype)
    for start in range(0, len(pixels), planes * stride):
        pixels[start : start + width] = 1.0
        pixels[start + width : start + stride] = -1.0
    return pixels


@subroutine
def _write_pictures(pixels, top, bottom, stride, color, transmittance, depth):
    for row in range(top, bottom):
        left, red, green, blue, far = _planes(pixels, (row - top) * 5 * stride, stride)
        for column in range(color.shape[1]):
            transmittance[row, column], depth[row, column] = abs(left[column]), far[column]
        for column in range(color.shape[1]):
            color[row, column, 0], color[row, column, 1], color[row, column, 2] = red[column], green[column], blue[column]


@subroutine
def _fill_gradients(pixels, top, bottom, stride, color, transmittance, depth, d_color, d_transmittance, d_depth):
    """The loss's gradient at each pixel, and what all its splats and its background together contribute to the loss."""
    for row in range(top, bottom):
        whole, red, green, blue, far = _planes(pixels, (row - top) * 6 * stride + stride, stride)
        for column in range(color.shape[1]):
            far[column] = d_depth[row, column]
            red[column], green[column], blue[column] = d_color[row, column, 0], d_color[row, column, 1], d_color[row, column, 2]
        for column in range(color.shape[1]):
            beside = d_transmittance[row, column] * transmittance[row, column] + far[column] * depth[row, column]
            shade = red[column] * color[row, column, 0] + green[column] * color[row, column, 1]
            whole[column] = beside + shade + blue[column] * color[row, column, 2]


@subroutine
def _planes(pixels, start, stride):
    """Where five neighbouring planes of a row begin. Loops over these, a few planes each, are vectorised by the compiler."""
    first, second, third = pointer(pixels, start), pointer(pixels, start + stride), pointer(pixels, start + 2 * stride)
    return first, second, third, pointer(pixels, start + 3 * stride), pointer(pixels, start + 4 * stride)


@subroutine
def _columns(e, width):
    """First and behind-last column the ellipse can touch; cut off before rounding, as a huge splat would overflow."""
    middle = e[X] - cast_like(e[X], 0.5)
    first, last = max(middle - e[HALF_WIDTH], cast_like(e[X], 0.0)), min(middle + e[HALF_WIDTH], cast_like(e[X], width - 1))
    return int(ceil(first)), int(floor(last)) + 1


@subroutine
def _rows(e, column, across, top, bottom):
    """First and behind-last row the ellipse can touch in eight columns; ``across`` is how many it touches in all.

    It is lowest at its tip, or where these columns come nearest to the tip; highest at the opposite one.
    """
    above, below = -e[HALF_HEIGHT], e[HALF_HEIGHT]
    if across > WIDTH:
        left = cast_like(e[X], column + 0.5) - e[X]
        right = left + cast_like(e[X], WIDTH - 1)
        edge = e[HALF_WIDTH] * e[HALF_WIDTH]
        high, low = min(max(-e[TIP], left), right), min(max(e[TIP], left), right)
        if high != -e[TIP]:
            above = max(e[SLOPE] * high - sqrt(max(e[TAPER] * (edge - high * high), cast_like(e[X], 0.0))), above)
        if low != e[TIP]:
            below = min(e[SLOPE] * low + sqrt(max(e[TAPER] * (edge - low * low), cast_like(e[X], 0.0))), below)
    middle = e[Y] - cast_like(e[X], 0.5)
    first, last = max(middle + above, cast_like(e[X], top)), min(middle + below, cast_like(e[X], bottom - 1))
    return int(ceil(first)), int(floor(last)) + 1


@subroutine
def _begins_above(e, top):
    """Whether a band above this one has rows of the ellipse too."""
    return top > 0 and e[Y] - cast_like(e[X], 0.5) - e[HALF_HEIGHT] <= top - 1


@subroutine
def _count_overflow(ellipses, top):
    """How many ellipses may extend into this band from those above."""
    count = 0
    if top > 0:
        for rank in range(len(ellipses)):
            e = pointer(ellipses, rank * ELLIPSE_SIZE)
            count += _begins_above(e, top) and e[Y] + e[HALF_HEIGHT] >= top
    return count


@subroutine
def _exponent(e, column):
    """Eight columns: dx, and log2 α there as a polynomial of dy, constant term first."""
    dx, scale = count_from(cast_like(e[X], column + 0.5) - e[X]), cast_like(e[X], -LOG2_E)
    half = cast_like(e[X], 0.5) * scale
    return dx, dx * dx * (half * e[XX]) + e[LOG_OPACITY], dx * (scale * e[XY]), broadcast(half * e[YY])


@subroutine
def _alpha(e, exponent, zero):
    """α, and whether it still follows the splat, that is, was not cut off above."""
    alpha = minimum(exp2(exponent), MAX_ALPHA)
    return select((exponent >= LOG2_MIN_ALPHA) & (exponent <= e[LOG_OPACITY]), alpha, zero), exponent <= LOG2_MAX_ALPHA


@subroutine
def _write(rows, number, first_eight, green, blue):
    store(rows, number * GRADIENT_SIZE, first_eight)
    rows[number * GRADIENT_SIZE + GREEN], rows[number * GRADIENT_SIZE + BLUE] = green, blue


@subroutine
def _add(pixels, here, weight, value):
    store(pixels, here, load(pixels, here) + weight * value)


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
def backward_frames(
    first, last, means, covariances, lenses, ellipses, order, visible, found, color, transmittance, depth,
    d_color, d_transmittance, d_depth, d_means, d_covariances, d_opacities, d_colors, d_lenses,
):  # fmt: skip
    """Gradients of what ``draw_frames`` was given."""
    for frame in range(first, last):
        count, d_ellipses = found[frame, 0], np.zeros(visible.shape[1] * GRADIENT_SIZE, means.dtype)
        pictures = color[frame], transmittance[frame], depth[frame], d_color[frame], d_transmittance[frame], d_depth[frame]
        blend_backward(ellipses[frame][:count], order[frame], 0, color.shape[1], *pictures, d_ellipses)
        given = _of(means, frame), _of(covariances, frame), lenses[frame], visible[frame], d_ellipses
        outputs = d_means[frame], d_covariances[frame], d_opacities[frame], d_colors[frame], d_lenses[frame, 0]
        splat_gradients(*given, 0, ellipses.shape[1], 0, count, *outputs)


@subroutine
def _of(rows, frame):
    """A frame's row; where there is but one, all frames share it."""
    return rows[min(frame, len(rows) - 1)]
