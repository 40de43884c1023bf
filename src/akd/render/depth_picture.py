"""Depth pictures of triangles: how far away the nearest surface is at every pixel centre. Compiled, one frame at a time."""

import numpy as np
from jaxtyping import Float, Int

from akd.render.compiled import kernel


def depth_picture(
    places: Float[np.ndarray, "vertex 2"], depth: Float[np.ndarray, " vertex"], faces: Int[np.ndarray, "face 3"], width: int,
    height: int,
) -> Float[np.ndarray, "height width"]:  # fmt: skip
    """Depth of the nearest triangle at each pixel centre, infinite where there is none. ``places`` are in pixels."""
    out = np.full((height, width), np.inf, np.float32)
    _fill(places.astype(np.float32), depth.astype(np.float32), faces.astype(np.int32), out)
    return out


@kernel
def _fill(places, depth, faces, out):
    height, width = out.shape
    for face in range(faces.shape[0]):
        a, b, c = faces[face, 0], faces[face, 1], faces[face, 2]
        ax, ay, bx, by, cx, cy = places[a, 0], places[a, 1], places[b, 0], places[b, 1], places[c, 0], places[c, 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0:
            continue
        left = max(int(np.ceil(min(ax, min(bx, cx)) - 0.5)), 0)
        right = min(int(np.floor(max(ax, max(bx, cx)) - 0.5)), width - 1)
        top = max(int(np.ceil(min(ay, min(by, cy)) - 0.5)), 0)
        bottom = min(int(np.floor(max(ay, max(by, cy)) - 0.5)), height - 1)
        for row in range(top, bottom + 1):
            y = row + 0.5
            for column in range(left, right + 1):
                x = column + 0.5
                u = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / area
                v = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / area
                if u >= 0 and v >= 0 and u + v <= 1:
                    z = depth[a] + u * (depth[b] - depth[a]) + v * (depth[c] - depth[a])
                    if z < out[row, column]:
                        out[row, column] = z
