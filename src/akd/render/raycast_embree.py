"""Ray casting by embree, where it is installed."""

import importlib.util

import numpy as np
from jaxtyping import Bool, Float32, Int32


def embree_is_installed() -> bool:
    return importlib.util.find_spec("embreex") is not None


class EmbreeCaster:
    """Triangles in embree's bounding volume hierarchy."""

    def __init__(self, vertices: Float32[np.ndarray, "vertex 3"], faces: Int32[np.ndarray, "face 3"]) -> None:
        from embreex.mesh_construction import TriangleMesh
        from embreex.rtcore_scene import EmbreeScene

        self._scene = EmbreeScene()
        TriangleMesh(self._scene, vertices, faces)

    def first_hits(
        self, origins: Float32[np.ndarray, "ray 3"], directions: Float32[np.ndarray, "ray 3"]
    ) -> tuple[
        Int32[np.ndarray, " ray"], Float32[np.ndarray, " ray"], Float32[np.ndarray, " ray"], Float32[np.ndarray, " ray"]
    ]:
        """Of every ray the first face (−1 for none), shares u and v of its second and third corner, and the distance."""
        found = self._scene.run(origins, directions, output=1)
        return found["primID"], found["u"], found["v"], found["tfar"]

    def blocked(
        self, origins: Float32[np.ndarray, "ray 3"], directions: Float32[np.ndarray, "ray 3"]
    ) -> Bool[np.ndarray, " ray"]:
        """Whether each ray hits any face."""
        return self._scene.run(origins, directions) >= 0
