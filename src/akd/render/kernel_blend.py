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
    width, stride, zero = color.shape[1], color.shape[1] + WIDTH, fill(color.dtype.type(0.0))
    pixels = _fresh_pixels(bottom - top, 5, width, color)  # transmittance, red, green, blue, depth
    for rank in range(len(ellipses)):
        e = ellipses[rank]
        first, last = _rows(e, top, bottom)
        for row in range(first, last):
            dy = color.dtype.type(row + 0.5) - e[Y]
            left, right = _columns(e, dy, width)
            for column in range(left, right, WIDTH):
                here = (row - top) * 5 * stride + column
                t = load(pixels, here)
                if any_lane(t > 0.0):
                    _, _, weight, _ = _pass_through(pixels, here, t, e, column, dy, zero)
                    _add(pixels, here + stride, weight, e[RED])
                    _add(pixels, here + 2 * stride, weight, e[GREEN])
                    _add(pixels, here + 3 * stride, weight, e[BLUE])
                    _add(pixels, here + 4 * stride, weight, e[DEPTH])
    for row in range(top, bottom):
        for column in range(width):
            here = (row - top) * 5 * stride + column
            transmittance[row, column], depth[row, column] = abs(pixels[here]), pixels[here + 4 * stride]
            for channel in range(3):
                color[row, column, channel] = pixels[here + (1 + channel) * stride]


@kernel
def blend_back(ellipses, top, bottom, color, transmittance, depth, d_color, d_transmittance, d_depth, gradients):
    """Gradients of the ten first columns of each ellipse from these rows.

    The scan is repeated front to back. With q_i the change of the loss per weight w_i, what the splats behind i still
    add to the loss is R_i = R_{i−1} − w_i q_i, starting from the finished pixel's total; and ∂loss/∂α_i = T_i q_i −
    R_i / (1 − α_i). So nothing has to be remembered per splat and pixel, and early ends are the forward pass's own.
    """
    width, stride, zero = color.shape[1], color.shape[1] + WIDTH, fill(color.dtype.type(0.0))
    pixels = _fresh_pixels(bottom - top, 6, width, color)  # transmittance, R, ∂ red, ∂ green, ∂ blue, ∂ depth
    _fill_gradients(pixels, top, bottom, stride, color, transmittance, depth, d_color, d_transmittance, d_depth)
    for rank in range(len(ellipses)):
        e = ellipses[rank]
        first, last = _rows(e, top, bottom)
        s, s_x, s_y, s_xx, s_xy, s_yy = zero, zero, zero, zero, zero, zero
        s_red, s_green, s_blue, s_far = zero, zero, zero, zero
        for row in range(first, last):
            dy = color.dtype.type(row + 0.5) - e[Y]
            left, right = _columns(e, dy, width)
            for column in range(left, right, WIDTH):
                here = (row - top) * 6 * stride + column
                t = load(pixels, here)
                if any_lane(t > 0.0):
                    dx, alpha, weight, follows = _pass_through(pixels, here, t, e, column, dy, zero)
                    red, green = load(pixels, here + 2 * stride), load(pixels, here + 3 * stride)
                    blue, far = load(pixels, here + 4 * stride), load(pixels, here + 5 * stride)
                    s_red, s_green = s_red + weight * red, s_green + weight * green
                    s_blue, s_far = s_blue + weight * blue, s_far + weight * far
                    q = red * e[RED] + green * e[GREEN] + blue * e[BLUE] + far * e[DEPTH]
                    behind = load(pixels, here + stride) - weight * q
                    store(pixels, here + stride, behind)
                    d_sigma = choose(follows, alpha * (behind / (1.0 - alpha) - t * q), zero)  # ∂loss/∂σ = −α ∂loss/∂α
                    d_sigma_x, d_sigma_y = d_sigma * dx, d_sigma * dy
                    s, s_x, s_y = s + d_sigma, s_x + d_sigma_x, s_y + d_sigma_y
                    s_xx, s_xy, s_yy = s_xx + d_sigma_x * dx, s_xy + d_sigma_x * dy, s_yy + d_sigma_y * dy
        if first < last:
            x, y = total(s_x), total(s_y)
            g = gradients[rank]
            g[X], g[Y] = -(e[XX] * x + e[XY] * y), -(e[XY] * x + e[YY] * y)
            g[XX], g[XY], g[YY] = total(s_xx * 0.5), total(s_xy), total(s_yy * 0.5)
            g[OPACITY] = -total(s) / e[OPACITY]
            g[RED], g[GREEN], g[BLUE], g[DEPTH] = total(s_red), total(s_green), total(s_blue), total(s_far)


@part
def _pass_through(pixels, here, t, e, column, dy, zero):
    """Eight pixels behind one more splat: their new transmittance is stored; returns dx, α, the splat's weight α T, and
    where α follows the splat: not where it was cut off above or the pixel is finished."""
    dx = ramp(e.dtype.type(column + 0.5) - e[X])
    alpha, is_free = _alpha(e, dx, dy, zero)
    weight = t * alpha
    after = t - weight
    goes_on = after > FINISHED
    store(pixels, here, choose(goes_on, after, negative(t)))
    return dx, alpha, choose(goes_on, weight, zero), goes_on & is_free


@part
def _fresh_pixels(rows, planes, width, like):
    """Transmittance 1 and zeros, plane beside plane within each row: a whole plane apart, addresses would often agree in
    their low bits and the processor take one plane's loads for another's stores. Each row ends with eight finished
    pixels, so that a load may run over its end."""
    pixels = np.zeros(rows * planes * (width + WIDTH), like.dtype)
    for row in range(rows):
        start = row * planes * (width + WIDTH)
        for column in range(width + WIDTH):
            pixels[start + column] = 1.0 if column < width else -1.0
    return pixels


@part
def _fill_gradients(pixels, top, bottom, stride, color, transmittance, depth, d_color, d_transmittance, d_depth):
    """What the loss asks of each pixel, and what all its splats and its background together add to the loss."""
    for row in range(top, bottom):
        for column in range(color.shape[1]):
            here = (row - top) * 6 * stride + column
            whole = d_transmittance[row, column] * transmittance[row, column] + d_depth[row, column] * depth[row, column]
            for channel in range(3):
                pixels[here + (2 + channel) * stride] = d_color[row, column, channel]
                whole += d_color[row, column, channel] * color[row, column, channel]
            pixels[here + stride], pixels[here + 5 * stride] = whole, d_depth[row, column]


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
def _add(pixels, here, weight, value):
    store(pixels, here, load(pixels, here) + weight * value)
