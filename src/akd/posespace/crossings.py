"""Does the skin pass through itself? Edges of the skinned mesh against its triangles: for evaluation only, and independent
of the validators that samples are repaired with."""

import numpy as np
import torch
from jaxtyping import Bool, Float

from akd.posespace.bends import bends_pose
from akd.posespace.capsules import FAR
from akd.posespace.denoiser import Poses
from akd.posespace.sketch import sketch_of
from akd.render.raycast import RayScene
from akd.rig import Rig
from akd.skeleton import forward_kinematics
from akd.skinning import skin_points

PASSES = 4
"""An edge may go through so many triangles of its own neighbourhood before one that counts."""
BEYOND = 1e-4
"""How far behind a triangle the search goes on [edges]."""


def crossing_edges(rig: Rig, bends: Poses) -> Float[np.ndarray, " pose"]:
    """Share of the mesh's edges that pass through skin three or more bones away, and do not at rest."""
    skin = _Skin(rig)
    rest = skin.crossed(rig.mesh.vertices)
    root = torch.as_tensor(rig.skeleton.positions[0], dtype=bends.dtype)
    posed = forward_kinematics(rig.skeleton, bends_pose(bends, root))
    weights, points = (torch.as_tensor(part, dtype=bends.dtype) for part in (rig.weights, rig.mesh.vertices))
    shapes = skin_points(rig.skeleton, posed, weights, points).double().numpy()
    return np.array([(skin.crossed(shape) & ~rest).mean() for shape in shapes])


class _Skin:
    """Edges and triangles of a mesh, and which bone each belongs to."""

    def __init__(self, rig: Rig) -> None:
        self.faces = rig.mesh.faces
        pairs = np.sort(np.concatenate((self.faces[:, :2], self.faces[:, 1:], self.faces[:, ::2])), 1)
        self.edges = np.unique(pairs, axis=0)
        face_bone, edge_bone = (rig.weights[parts].sum(1).argmax(-1) for parts in (self.faces, self.edges))
        self.face_bone, self.edge_bone, self.hops = face_bone, edge_bone, sketch_of(rig).hops

    def crossed(self, vertices: Float[np.ndarray, "vertex 3"]) -> Bool[np.ndarray, " edge"]:
        """Which edges go through a triangle far from them in the skeleton."""
        scene = RayScene(vertices, self.faces)
        start, way = vertices[self.edges[:, 0]], vertices[self.edges[:, 1]] - vertices[self.edges[:, 0]]
        crossed, at = np.zeros(len(start), bool), np.full(len(start), BEYOND)
        going = np.arange(len(start))
        for _ in range(PASSES):
            hits = scene.first_hits(start[going] + at[going, None] * way[going], way[going])
            edge = going[hits.ray]
            at[edge] += hits.distance + BEYOND
            inside = at[edge] < 1
            far = self.hops[self.edge_bone[edge], self.face_bone[hits.points.face]] >= FAR
            crossed[edge[inside & far]] = True
            going = edge[inside & ~far]
            if not len(going):
                break
        return crossed
