"""Compiled: ellipses over a band of pixel rows, front to back, and the gradients of that.

Splat by splat: each ellipse visits its own pixels, eight neighbours at a time, and what a pixel must remember
(transmittance, colour so far) lies in small planes that stay in the cache. There are no lists of splats per pixel or tile.

A pixel that is finished has its transmittance stored with a minus sign: it then fails the very test that ended it, so
one comparison serves both, and eight finished neighbours are skipped before any arithmetic.
"""

import numpy as np

from akd.render.compiled import kernel, part
from akd.render.kernel_ellipses import (
    BLUE,
    DEPTH,
    ELLIPSE_SIZE,
    GRADIENT_SIZE,
    GREEN,
    HALF_WIDTH,
    OPACITY,
    REACH,
    RED,
    SLOPE,
    SPAN,
    TAPER,
    TIP,
    XX,
    XY,
    YY,
    X,
    Y,
)
from akd.render.lanes import (
    WIDTH,
    any_lane,
    ceil,
    choose,
    exp2,
    fill,
    floor,
    like,
    load,
    lower,
    negative,
    pointer,
    ramp,
    sqrt,
    store,
    total,
    totals,
)
from akd.render.raster_reference import FAINTEST, FINISHED, STRONGEST

LOG2_E = 1.4426950408889634


@kernel
def blend(ellipses, top, bottom, color, transmittance, depth):
    """Rows ``top`` to ``bottom`` of one picture: colour over black, transmittance, Σ w z."""
    width, stride, zero = color.shape[1], color.shape[1] + WIDTH, fill(color.dtype.type(0.0))
    upper, under = color.dtype.type(top), color.dtype.type(bottom)
    pixels = _fresh_pixels(bottom - top, 5, width, color)  # transmittance, red, green, blue, depth
    for rank in range(len(ellipses)):
        e = pointer(ellipses, rank * ELLIPSE_SIZE)
        if e[Y] + e[REACH] < upper or e[Y] - e[REACH] > under:
            continue
        left, right = _columns(e, width)
        middle = e[Y] - like(e[Y], 0.5)
        for column in range(left, right, WIDTH):
            first, last = _rows(e, column, right - left, top, bottom)
            _, square, product = _across(e, column)
            for row in range(first, last):
                here = (row - top) * 5 * stride + column
                t = load(pixels, here)
                if any_lane(t > 0.0):
                    dy = color.dtype.type(row) - middle
                    _, weight, _ = _pass_through(pixels, here, t, e, square, product, dy, zero)
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
def blend_back(ellipses, order, top, bottom, color, transmittance, depth, d_color, d_transmittance, d_depth, gradients):
    """Gradients of the ten first columns of each ellipse from these rows, written to row ``order[rank]``.

    The scan is repeated front to back. With q_i the change of the loss per weight w_i, what the splats behind i still
    add to the loss is R_i = R_{i−1} − w_i q_i, starting from the finished pixel's total; and ∂loss/∂α_i = T_i q_i −
    R_i / (1 − α_i). So nothing has to be remembered per splat and pixel, and early ends are the forward pass's own.

    An ellipse belongs to the band in which it begins. What it adds in further bands is returned instead, as row numbers
    and rows, for the caller to add: so bands can be drawn at the same time and need no full set of gradients each.
    """
    width, stride, zero = color.shape[1], color.shape[1] + WIDTH, fill(color.dtype.type(0.0))
    upper, under = color.dtype.type(top), color.dtype.type(bottom)
    pixels = _fresh_pixels(bottom - top, 6, width, color)  # transmittance, R, ∂ red, ∂ green, ∂ blue, ∂ depth
    _fill_gradients(pixels, top, bottom, stride, color, transmittance, depth, d_color, d_transmittance, d_depth)
    hosts, guests = np.empty(_count_guests(ellipses, top), np.int32), 0
    elsewhere = np.empty(len(hosts) * GRADIENT_SIZE, color.dtype)
    for rank in range(len(ellipses)):
        e = pointer(ellipses, rank * ELLIPSE_SIZE)
        if e[Y] + e[REACH] < upper or e[Y] - e[REACH] > under:
            continue
        left, right = _columns(e, width)
        middle, is_seen = e[Y] - like(e[Y], 0.5), False
        s, s_x, s_y, s_xx, s_xy, s_yy = zero, zero, zero, zero, zero, zero
        s_red, s_green, s_blue, s_far = zero, zero, zero, zero
        for column in range(left, right, WIDTH):
            first, last = _rows(e, column, right - left, top, bottom)
            dx, square, product = _across(e, column)
            d_0, d_1, d_2 = zero, zero, zero  # Σ ∂loss/∂σ dyⁿ down these eight columns, in which dx stays the same
            for row in range(first, last):
                here = (row - top) * 6 * stride + column
                t = load(pixels, here)
                if any_lane(t > 0.0):
                    is_seen = True
                    dy = color.dtype.type(row) - middle
                    alpha, weight, follows = _pass_through(pixels, here, t, e, square, product, dy, zero)
                    red, green = load(pixels, here + 2 * stride), load(pixels, here + 3 * stride)
                    blue, far = load(pixels, here + 4 * stride), load(pixels, here + 5 * stride)
                    s_red, s_green = s_red + weight * red, s_green + weight * green
                    s_blue, s_far = s_blue + weight * blue, s_far + weight * far
                    q = red * e[RED] + green * e[GREEN] + blue * e[BLUE] + far * e[DEPTH]
                    behind = load(pixels, here + stride) - weight * q
                    store(pixels, here + stride, behind)
                    d_sigma = choose(follows, alpha * (behind / (1.0 - alpha) - t * q), zero)  # ∂loss/∂σ = −α ∂loss/∂α
                    d_0, d_1, d_2 = d_0 + d_sigma, d_1 + d_sigma * dy, d_2 + d_sigma * (dy * dy)
            s, s_x, s_xx = s + d_0, s_x + d_0 * dx, s_xx + d_0 * (dx * dx)
            s_y, s_xy, s_yy = s_y + d_1, s_xy + d_1 * dx, s_yy + d_2
        if is_seen:
            d_x, d_y = -(s_x * e[XX] + s_y * e[XY]), -(s_x * e[XY] + s_y * e[YY])
            d_opacity = s * (color.dtype.type(-1.0) / e[OPACITY])
            first_eight = totals(d_x, d_y, s_xx * 0.5, s_xy, s_yy * 0.5, d_opacity, s_far, s_red)
            if _begins_above(e, top):
                hosts[guests] = order[rank]
                _write(elsewhere, guests, first_eight, total(s_green), total(s_blue))
                guests += 1
            else:
                _write(gradients, order[rank], first_eight, total(s_green), total(s_blue))
    return hosts[:guests], elsewhere[: guests * GRADIENT_SIZE]


@part
def _pass_through(pixels, here, t, e, square, product, dy, zero):
    """Eight pixels behind one more splat: their new transmittance is stored; returns α, the splat's weight α T, and
    where α follows the splat: not where it was cut off above or the pixel is finished."""
    alpha, is_free = _alpha(e, square, product, dy, zero)
    weight = t * alpha
    after = t - weight
    goes_on = after > FINISHED
    store(pixels, here, choose(goes_on, after, negative(t)))
    return alpha, choose(goes_on, weight, zero), goes_on & is_free


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
def _columns(e, width):
    """First and behind-last column the ellipse can touch; cut off before rounding, as a huge splat would overflow."""
    middle = e[X] - like(e[X], 0.5)
    first, last = max(middle - e[HALF_WIDTH], like(e[X], 0.0)), min(middle + e[HALF_WIDTH], like(e[X], width - 1))
    return int(ceil(first)), int(floor(last)) + 1


@part
def _rows(e, column, across, top, bottom):
    """First and behind-last row the ellipse can touch in eight columns; ``across`` is how many it touches in all.

    It is lowest at its tip, or where these columns come nearest to the tip; highest at the opposite one.
    """
    above, below = -e[REACH], e[REACH]
    if across > WIDTH:
        left = like(e[X], column + 0.5) - e[X]
        right = left + like(e[X], WIDTH - 1)
        high, low = min(max(-e[TIP], left), right), min(max(e[TIP], left), right)
        if high != -e[TIP]:
            above = max(e[SLOPE] * high - sqrt(max(e[SPAN] - e[TAPER] * high * high, like(e[X], 0.0))), above)
        if low != e[TIP]:
            below = min(e[SLOPE] * low + sqrt(max(e[SPAN] - e[TAPER] * low * low, like(e[X], 0.0))), below)
    middle = e[Y] - like(e[X], 0.5)
    first, last = max(middle + above, like(e[X], top)), min(middle + below, like(e[X], bottom - 1))
    return int(ceil(first)), int(floor(last)) + 1


@part
def _begins_above(e, top):
    """Whether a band above this one has rows of the ellipse too."""
    return top > 0 and e[Y] - like(e[X], 0.5) - e[REACH] <= top - 1


@part
def _count_guests(ellipses, top):
    """How many ellipses may come down into this band from those above."""
    count = 0
    if top > 0:
        for rank in range(len(ellipses)):
            e = pointer(ellipses, rank * ELLIPSE_SIZE)
            count += _begins_above(e, top) and e[Y] + e[REACH] >= top
    return count


@part
def _across(e, column):
    """Eight columns as the exponent log2 e^−σ sees them: dx, its term in dx², and what dy is multiplied with."""
    dx, scale = ramp(like(e[X], column + 0.5) - e[X]), like(e[X], -LOG2_E)
    return dx, dx * dx * (like(e[X], 0.5) * scale * e[XX]), dx * (scale * e[XY])


@part
def _alpha(e, square, product, dy, zero):
    """α, and whether it still follows the splat, that is, was not cut off above."""
    exponent = product * dy + (square + like(e[X], -0.5 * LOG2_E) * e[YY] * dy * dy)
    peak = exp2(exponent) * e[OPACITY]
    alpha = lower(peak, STRONGEST)
    return choose((alpha >= FAINTEST) & (exponent <= 0.0), alpha, zero), peak <= STRONGEST


@part
def _write(rows, number, first_eight, green, blue):
    store(rows, number * GRADIENT_SIZE, first_eight)
    rows[number * GRADIENT_SIZE + GREEN], rows[number * GRADIENT_SIZE + BLUE] = green, blue


@part
def _add(pixels, here, weight, value):
    store(pixels, here, load(pixels, here) + weight * value)
