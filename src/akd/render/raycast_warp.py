"""Ray casting by Warp on the CPU, for machines without embree: the same hits, several times slower."""

# mypy: ignore-errors

import numpy as np
import warp as wp

from akd.warp_start import start_warp

start_warp()
wp.set_module_options({"enable_backward": False})
FARTHEST = wp.constant(1.0e30)
"""Hits farther away than this are not found [lengths of the direction]."""


class WarpCaster:
    """Triangles in Warp's bounding volume hierarchy."""

    def __init__(self, vertices, faces):
        points, indices = wp.array(vertices, dtype=wp.vec3, device="cpu"), wp.array(faces.ravel(), dtype=wp.int32, device="cpu")
        self._mesh = wp.Mesh(points, indices)

    def first_hits(self, origins, directions):
        """Of every ray the first face (−1 for none), shares u and v of its second and third corner, and the distance."""
        count = len(origins)
        face, shares, distance = np.empty(count, np.int32), np.empty((count, 2), np.float32), np.empty(count, np.float32)
        outputs = [wp.array(face, copy=False, device="cpu"), wp.array(shares, dtype=wp.vec2, copy=False, device="cpu")]
        outputs.append(wp.array(distance, copy=False, device="cpu"))
        self._launch(_find_first, origins, directions, outputs)
        return face, shares[:, 0], shares[:, 1], distance

    def blocked(self, origins, directions):
        """Whether each ray hits any face."""
        hit = np.empty(len(origins), bool)
        self._launch(_find_any, origins, directions, [wp.array(hit, dtype=wp.bool, copy=False, device="cpu")])
        return hit

    def _launch(self, kernel, origins, directions, outputs):
        rays = [wp.array(values, dtype=wp.vec3, device="cpu") for values in (origins, directions)]
        wp.launch(kernel, len(origins), inputs=[self._mesh.id, *rays], outputs=outputs, device="cpu")


@wp.kernel
def _find_first(
    mesh: wp.uint64, origins: wp.array(dtype=wp.vec3), directions: wp.array(dtype=wp.vec3),
    face: wp.array(dtype=wp.int32), shares: wp.array(dtype=wp.vec2), distance: wp.array(dtype=wp.float32),
):  # fmt: skip
    ray = wp.tid()
    hit = wp.mesh_query_ray(mesh, origins[ray], directions[ray], FARTHEST)
    face[ray] = -1
    if hit.result:
        face[ray] = hit.face
        # Warp gives the shares of the first and second corner.
        shares[ray] = wp.vec2(hit.v, 1.0 - hit.u - hit.v)
        distance[ray] = hit.t


@wp.kernel
def _find_any(
    mesh: wp.uint64, origins: wp.array(dtype=wp.vec3), directions: wp.array(dtype=wp.vec3), blocked: wp.array(dtype=wp.bool)
):
    ray = wp.tid()
    blocked[ray] = wp.mesh_query_ray_anyhit(mesh, origins[ray], directions[ray], FARTHEST)
