"""Normal equations of poses: what wishes in a picture mean for coordinates, and solving for a whole trajectory.

Frames touch through flow, so the matrix of a clip is block tridiagonal over frames, and banded over a spline's control points.
"""

import numpy as np
from jaxtyping import Float
from scipy.linalg import solveh_banded

from akd.follow.body import Body, PosedBody, rows
from akd.follow.measurements import Wishes
from akd.follow.viewing import Seen

SPAN = 5
"""Control points that two neighbouring frames touch at most."""


def picture_rows(body: Body, now: PosedBody, seen: Seen, frame: int, point: np.ndarray) -> Float[np.ndarray, "point 2 column"]:
    """How places in the picture change with the active coordinates."""
    slopes = seen.slopes[point]
    flat = rows(body, now, frame, np.repeat(point, 2), slopes.reshape(-1, 3))
    return flat.reshape(len(point), 2, -1)


def frame_equations(
    body: Body, now: PosedBody, seen: Seen, frame: int, wishes: Wishes
) -> tuple[Float[np.ndarray, "column column"], Float[np.ndarray, " column"]]:
    """Matrix and right side of one frame's wishes."""
    jacobian = picture_rows(body, now, seen, frame, wishes.point)
    weighted = (wishes.information.astype(np.float32) @ jacobian).reshape(-1, jacobian.shape[-1])
    flat = jacobian.reshape(-1, jacobian.shape[-1])
    return (flat.T @ weighted).astype(float), (wishes.pull.astype(np.float32).reshape(-1) @ flat).astype(float)


def spline_equations(
    basis: Float[np.ndarray, "frame control"], diagonal: Float[np.ndarray, "frame column column"],
    beside: Float[np.ndarray, "pair column column"], right: Float[np.ndarray, "frame column"],
) -> tuple[Float[np.ndarray, "control span column column"], Float[np.ndarray, "control column"]]:  # fmt: skip
    """The equations of frames as equations of control points: block (k, l − k) of the symmetric matrix for l ≥ k."""
    frames, controls = basis.shape
    width = diagonal.shape[-1]
    blocks = np.zeros((controls, SPAN, width, width))
    for t in range(frames):
        used = np.flatnonzero(basis[t])
        for k in used:
            for l in used[used >= k]:
                blocks[k, l - k] += basis[t, k] * basis[t, l] * diagonal[t]
        if t + 1 == frames:
            continue
        after = np.flatnonzero(basis[t + 1])
        for k in used:
            for l in after:
                share = basis[t, k] * basis[t + 1, l]
                if l >= k:
                    blocks[k, l - k] += share * beside[t]
                if l <= k:
                    blocks[l, k - l] += share * beside[t].T
    return blocks, basis.T @ right


def solve_banded(
    blocks: Float[np.ndarray, "control span column column"], right: Float[np.ndarray, "control column"]
) -> Float[np.ndarray, "control column"]:
    """Solve for all control points."""
    controls, span, width, _ = blocks.shape
    upper = np.zeros((span * width, controls * width))
    row, column = np.mgrid[:width, :width]
    for offset in range(min(span, controls)):
        for k in range(controls - offset):
            # Entry (i, j), i ≤ j, of the matrix is entry (bandwidth + i − j, j) of the upper band.
            i, j = k * width + row, (k + offset) * width + column
            place = span * width - 1 + i - j
            kept = (i <= j) & (place >= 0)
            upper[place[kept], j[kept]] = blocks[k, offset][kept]
    return solveh_banded(upper, right.reshape(-1), overwrite_ab=True, check_finite=False).reshape(controls, width)
