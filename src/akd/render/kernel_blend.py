"""Compiled: ellipses over a band of pixel rows, front to back, and the gradients of that.

Splat by splat: each ellipse visits its own pixels, eight neighbours at a time, and what a pixel must remember
(transmittance, colour so far) lies in small planes that stay in the cache. There are no lists of splats per pixel or tile.

A pixel that is finished has its transmittance stored with a minus sign: it then fails the very test that ended it, so
one comparison serves both, and eight finished neighbours are skipped before any arithmetic.
"""

import numpy as np

from akd.render.compiled import kernel, part
from akd.render.kernel_ellipses import BLUE, DEPTH, GREEN, HALF_WIDTH, OPACITY, REACH, RED, SHEAR, SPAN, TAPER, XX, XY, YY, X, Y
from akd.render.lanes import WIDTH, any_lane, ceil, choose, exp2, fill, floor, load, lower, negative, ramp, sqrt, store, total
from akd.render.raster_reference import FAINTEST, FINISHED, STRONGEST

LOG2_E = 1.4426950408889634
NARROW = (WIDTH - 1) / 2  # half the width of an ellipse that lies within eight columns wherever it stands


@kernel
def blend(ellipses, top, bottom, color, transmittance, depth):
    """Rows ``top`` to ``bottom`` of one picture: colour over black, transmittance, Σ w z."""
    width = color.shape[1]
    stride = width + WIDTH
    zero = fill(color.dtype.type(0.0))
    left_over = _fresh_pixels(bottom - top, width, color)
    planes = np.zeros((4, len(left_over)), color.dtype)
    red, green, blue, far = planes[0], planes[1], planes[2], planes[3]
    for rank in range(len(ellipses)):
        e = ellipses[rank]
        first, last = _rows(e, top, bottom)
        for row in range(first, last):
            dy = color.dtype.type(row + 0.5) - e[Y]
            left, right = _columns(e, dy, width)
            for column in range(left, right, WIDTH):
                here = (row - top) * stride + column
                t = load(left_over, here)
                if any_lane(t > 0.0):
                    dx = ramp(color.dtype.type(column + 0.5) - e[X])
                    alpha, _ = _alpha(e, dx, dy, zero)
                    weight = t * alpha
                    after = t - weight
                    goes_on = after > FINISHED
                    store(left_over, here, choose(goes_on, after, negative(t)))
                    weight = choose(goes_on, weight, zero)
                    _add(red, here, weight, e[RED])
                    _add(green, here, weight, e[GREEN])
                    _add(blue, here, weight, e[BLUE])
                    _add(far, here, weight, e[DEPTH])
    for row in range(top, bottom):
        for column in range(width):
            here = (row - top) * stride + column
            color[row, column, 0], color[row, column, 1], color[row, column, 2] = red[here], green[here], blue[here]
            transmittance[row, column], depth[row, column] = abs(left_over[here]), far[here]


@kernel
def blend_back(ellipses, top, bottom, color, transmittance, depth, d_color, d_transmittance, d_depth, gradients):
    """Gradients of the ten first columns of each ellipse from these rows.

    The scan is repeated front to back. With q_i the change of the loss per weight w_i, what the splats behind i still
    add to the loss is R_i = R_{i−1} − w_i q_i, starting from the finished pixel's total; and ∂loss/∂α_i = T_i q_i −
    R_i / (1 − α_i). So nothing has to be remembered per splat and pixel, and early ends are the forward pass's own.
    """
    width = color.shape[1]
    stride = width + WIDTH
    zero = fill(color.dtype.type(0.0))
    left_over = _fresh_pixels(bottom - top, width, color)
    planes = np.zeros((5, len(left_over)), color.dtype)
    rest, d_red, d_green, d_blue, d_far = planes[0], planes[1], planes[2], planes[3], planes[4]
    for row in range(top, bottom):
        for column in range(width):
            here = (row - top) * stride + column
            d_red[here], d_green[here] = d_color[row, column, 0], d_color[row, column, 1]
            d_blue[here], d_far[here] = d_color[row, column, 2], d_depth[row, column]
            rest[here] = (
                d_red[here] * color[row, column, 0] + d_green[here] * color[row, column, 1]
                + d_blue[here] * color[row, column, 2] + d_far[here] * depth[row, column]
                + d_transmittance[row, column] * transmittance[row, column]
            )  # fmt: skip
    for rank in range(len(ellipses)):
        e = ellipses[rank]
        first, last = _rows(e, top, bottom)
        s, s_x, s_y, s_xx, s_xy, s_yy = zero, zero, zero, zero, zero, zero
        s_red, s_green, s_blue, s_far = zero, zero, zero, zero
        for row in range(first, last):
            dy = color.dtype.type(row + 0.5) - e[Y]
            left, right = _columns(e, dy, width)
            for column in range(left, right, WIDTH):
                here = (row - top) * stride + column
                t = load(left_over, here)
                if any_lane(t > 0.0):
                    dx = ramp(color.dtype.type(column + 0.5) - e[X])
                    alpha, is_free = _alpha(e, dx, dy, zero)
                    weight = t * alpha
                    after = t - weight
                    goes_on = after > FINISHED
                    store(left_over, here, choose(goes_on, after, negative(t)))
                    weight = choose(goes_on, weight, zero)
                    g_red, g_green, g_blue, g_far = load(d_red, here), load(d_green, here), load(d_blue, here), load(d_far, here)
                    s_red, s_green = s_red + weight * g_red, s_green + weight * g_green
                    s_blue, s_far = s_blue + weight * g_blue, s_far + weight * g_far
                    q = g_red * e[RED] + g_green * e[GREEN] + g_blue * e[BLUE] + g_far * e[DEPTH]
                    behind = load(rest, here) - weight * q
                    store(rest, here, behind)
                    # ∂loss/∂σ = −α ∂loss/∂α, and nothing where α was cut off above or the pixel was finished.
                    d_sigma = alpha * (behind / (1.0 - alpha) - t * q)
                    d_sigma = choose(goes_on & is_free, d_sigma, zero)
                    s, s_x, s_y = s + d_sigma, s_x + d_sigma * dx, s_y + d_sigma * dy
                    s_xx, s_xy, s_yy = s_xx + d_sigma * dx * dx, s_xy + d_sigma * dx * dy, s_yy + d_sigma * (dy * dy)
        if first < last:
            x, y = total(s_x), total(s_y)
            g = gradients[rank]
            g[X], g[Y] = -(e[XX] * x + e[XY] * y), -(e[XY] * x + e[YY] * y)
            g[XX], g[XY], g[YY] = total(s_xx * 0.5), total(s_xy), total(s_yy * 0.5)
            g[OPACITY] = -total(s) / e[OPACITY]
            g[RED], g[GREEN], g[BLUE], g[DEPTH] = total(s_red), total(s_green), total(s_blue), total(s_far)


@part
def _fresh_pixels(rows, width, like):
    """Transmittance of untouched rows; each ends with eight finished pixels, so that a load may run over its end."""
    pixels = np.empty(rows * (width + WIDTH), like.dtype)
    for i in range(len(pixels)):
        pixels[i] = 1.0 if i % (width + WIDTH) < width else -1.0
    return pixels


@part
def _rows(e, top, bottom):
    """First and behind-last row the ellipse can touch; cut off before rounding, as a huge splat would overflow."""
    middle = e[Y] - e.dtype.type(0.5)
    first, last = max(middle - e[REACH], e.dtype.type(top)), min(middle + e[REACH], e.dtype.type(bottom - 1))
    return int(ceil(first)), int(floor(last)) + 1


@part
def _columns(e, dy, width):
    """First and behind-last column the ellipse can touch in a row."""
    nothing, middle = e.dtype.type(0.0), e[X] - e.dtype.type(0.5)
    if e[HALF_WIDTH] > NARROW:
        half = sqrt(max(e[SPAN] - e[TAPER] * dy * dy, nothing))
        middle += e[SHEAR] * dy
    else:  # one load of eight covers every row anyway
        half = e[HALF_WIDTH]
    first, last = max(middle - half, nothing), min(middle + half, e.dtype.type(width - 1))
    return int(ceil(first)), int(floor(last)) + 1


@part
def _alpha(e, dx, dy, zero):
    """α, and whether it still follows the splat, that is, was not cut off above."""
    scale = e.dtype.type(-LOG2_E)
    half = e.dtype.type(0.5) * scale
    exponent = dx * (dx * (half * e[XX]) + scale * e[XY] * dy) + half * e[YY] * dy * dy
    peak = exp2(exponent) * e[OPACITY]
    alpha = lower(peak, STRONGEST)
    return choose((alpha >= FAINTEST) & (exponent <= 0.0), alpha, zero), peak <= STRONGEST


@part
def _add(plane, here, weight, value):
    store(plane, here, load(plane, here) + weight * value)
