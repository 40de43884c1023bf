"""The inside of a mesh as voxels, and its curve skeleton.

Branches are found as in TEASAR (Sato et al. 2000): the farthest voxel that no branch covers yet is a tip; a shortest path that
prefers the medial axis leads from it to the branches found so far; voxels around the path count as covered.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import ndimage
from scipy.sparse import coo_matrix, csr_matrix
from scipy.sparse.csgraph import dijkstra
from scipy.spatial import cKDTree

from akd.errors import AkdError
from akd.rigging.surface import Surface

RESOLUTION = 96
"""Voxels along the longest side of the mesh."""
COVERED_DEPTHS = 1.5
"""A path covers the voxels around it up to this many times its own distance from the surface."""
MIN_BRANCH = 0.07
"""What sticks out by less than this share of the size is a bump, not a limb."""
BLOCK_VOXELS = 4
"""Voxels along a side of the blocks that are classified at once."""
UNSURE_WINDING = 0.25
"""Winding numbers nearer to one half than this may be on either side of it elsewhere in their block."""
NEIGHBOURS = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) > (0, 0, 0)]


@dataclass(frozen=True, eq=False)
class Volume:
    """Solid voxels of one connected body."""

    cells: Int[np.ndarray, "cell 3"]
    centers: Float[np.ndarray, "cell 3"]
    depth: Float[np.ndarray, " cell"]
    """Distance from the surface."""
    step: float
    """Side of a voxel."""

    @cached_property
    def tree(self) -> cKDTree:
        return cKDTree(self.centers)

    @cached_property
    def size(self) -> float:
        """Longest side of the box around it."""
        return float(np.ptp(self.centers, axis=0).max()) + self.step

    @cached_property
    def floor(self) -> float:
        return float(self.centers[:, 1].min()) - self.step / 2

    @cached_property
    def height(self) -> float:
        return float(np.ptp(self.centers[:, 1])) + self.step

    def contains(self, points: Float[np.ndarray, "point 3"], slack: float = 0.6) -> Bool[np.ndarray, " point"]:
        """Which points are inside, or nearly: up to ``slack`` voxels from the middle of a solid one."""
        distance, _ = self.tree.query(points, distance_upper_bound=slack * self.step)
        return np.isfinite(distance)

    def moved(self, matrix: Float[np.ndarray, "4 4"]) -> "Volume":
        """The same voxels in another frame; the matrix must be rigid."""
        return replace(self, centers=self.centers @ matrix[:3, :3].T + matrix[:3, 3])


@dataclass(frozen=True, eq=False)
class Branch:
    """A path from the middle of the body to a tip."""

    points: Float[np.ndarray, "place 3"]
    depth: Float[np.ndarray, " place"]
    reach: float = np.inf
    """How far it sticks out of what it branches off from."""

    def moved(self, matrix: Float[np.ndarray, "4 4"]) -> "Branch":
        return replace(self, points=self.points @ matrix[:3, :3].T + matrix[:3, 3])


@dataclass(frozen=True, eq=False)
class ShortestPaths:
    """Shortest paths along the medial axis, from the deepest voxel to all others."""

    volume: Volume
    start: int
    predecessors: Int[np.ndarray, " cell"]
    """The voxel before each on its path; negative for the start."""
    distances: Float[np.ndarray, " cell"]
    """Geodesic distance from the start."""

    def cells(self, tip: int) -> Int[np.ndarray, " place"]:
        """The voxels on the path to a tip."""
        path = [tip]
        while self.predecessors[path[-1]] >= 0:
            path.append(int(self.predecessors[path[-1]]))
        return np.array(path[::-1])

    def branch(self, tip: int) -> Branch:
        path = self.cells(tip)
        return Branch(self.volume.centers[path], self.volume.depth[path])


def solid_volume(surface: Surface, resolution: int = RESOLUTION) -> Volume:
    """Voxels inside the mesh by its winding number, which is robust to open or crossing components."""
    import igl

    step = surface.size / resolution
    low = surface.points.min(0) - 1.5 * step
    shape = np.ceil((surface.points.max(0) + 1.5 * step - low) / step).astype(int)
    surface_voxels = np.zeros(shape, bool)
    surface_voxels[tuple(np.clip(((_surface_samples(surface, step) - low) / step).astype(int), 0, shape - 1).T)] = True
    inside = _inside(
        lambda cells: igl.fast_winding_number(surface.points, surface.faces, low + step * (cells + 0.5)), surface_voxels
    )
    solid = _largest_component(inside)
    if solid.sum() < 0.97 * max(inside.sum(), 1) or not solid.any():  # thin or open: the skin holds what the inside does not
        solid = _largest_component(ndimage.binary_fill_holes(inside | surface_voxels))
    if solid.sum() < 50:
        raise AkdError("The mesh encloses no space, so no skeleton can be found in it; give one with --skeleton.")
    depth = ndimage.distance_transform_edt(np.pad(solid, 1))[1:-1, 1:-1, 1:-1]
    cells = np.argwhere(solid)
    return Volume(cells, low + step * (cells + 0.5), step * depth[solid], step)


def shortest_paths(volume: Volume) -> ShortestPaths:
    """Shortest paths from the deepest voxel."""
    graph, lengths = _voxel_graphs(volume)
    start = int(np.argmax(volume.depth))
    _, predecessors = dijkstra(graph, indices=start, return_predecessors=True)
    return ShortestPaths(volume, start, predecessors, dijkstra(lengths, indices=start))


def skeleton_branches(paths: ShortestPaths, shortest: float = MIN_BRANCH) -> list[Branch]:
    """The branches of the curve skeleton, the farthest tip first."""
    volume = paths.volume
    covered = ~np.isfinite(paths.distances)
    _cover(covered, volume, np.array([paths.start]))
    in_tree = np.zeros(len(paths.distances), bool)
    in_tree[paths.start] = True
    branches = []
    while not covered.all():
        tip = int(np.argmax(np.where(covered, -1, paths.distances)))
        path = paths.cells(tip)
        new = path[~in_tree[path]]
        junction = path[max(len(path) - len(new) - 1, 0)]
        reach = float(np.linalg.norm(volume.centers[tip] - volume.centers[junction]) - volume.depth[junction])
        if reach > shortest * volume.size:
            branches.append(replace(paths.branch(tip), reach=reach))
            in_tree[path] = True
        _cover(covered, volume, new)
        covered[tip] = True
    return branches


def _inside(
    winding: Callable[[Float[np.ndarray, "place 3"]], Float[np.ndarray, " place"]], surface_voxels: Bool[np.ndarray, "x y z"]
) -> Bool[np.ndarray, "x y z"]:
    """Voxels with a winding number above one half. It jumps at the surface only and is smooth elsewhere, so blocks clear of the
    surface are evaluated once, in their middle, and voxel by voxel where the value is close to one half."""
    shape = surface_voxels.shape
    near = np.pad(ndimage.binary_dilation(surface_voxels, np.ones((3, 3, 3))), [(0, -side % BLOCK_VOXELS) for side in shape])
    x, y, z = (side // BLOCK_VOXELS for side in near.shape)
    unresolved = near.reshape(x, BLOCK_VOXELS, y, BLOCK_VOXELS, z, BLOCK_VOXELS).any((1, 3, 5))
    clear = np.argwhere(~unresolved)
    winding_number = np.zeros(unresolved.shape)
    winding_number[~unresolved] = np.abs(winding(BLOCK_VOXELS * clear + (BLOCK_VOXELS - 1) / 2)) if len(clear) else 0.0
    unresolved |= np.abs(winding_number - 0.5) < UNSURE_WINDING
    voxelwise = lambda blocks: np.kron(blocks, np.ones((BLOCK_VOXELS,) * 3, bool))[tuple(map(slice, shape))]  # noqa: E731
    inside, open_ = voxelwise(winding_number > 0.5), voxelwise(unresolved)
    inside[open_] = np.abs(winding(np.argwhere(open_).astype(float))) > 0.5
    return inside


def _largest_component(solid: Bool[np.ndarray, "x y z"]) -> Bool[np.ndarray, "x y z"]:
    names, count = ndimage.label(solid, np.ones((3, 3, 3)))
    return names == 1 + np.argmax(np.bincount(names.ravel(), minlength=2)[1:]) if count else solid


def _surface_samples(surface: Surface, step: float) -> Float[np.ndarray, "sample 3"]:
    """Points on all faces, closer to each other than a voxel."""
    corner = surface.points[surface.faces]
    longest = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=-1).max(1)
    out = []
    for count in np.unique(parts := np.clip(np.ceil(1.5 * longest / step).astype(int), 1, 64)):
        i, j = (grid.ravel() for grid in np.mgrid[: count + 1, : count + 1])
        share = np.stack((i, j, count - i - j), -1)[i + j <= count] / count
        out.append((share @ corner[parts == count]).reshape(-1, 3))
    return np.concatenate(out)


def _voxel_graphs(volume: Volume) -> tuple[csr_matrix, csr_matrix]:
    """Graphs of neighbouring voxels: once with edge costs that fall with depth, once with plain lengths."""
    shape = volume.cells.max(0) + 2
    index = np.full(shape, -1)
    index[tuple(volume.cells.T)] = np.arange(len(volume.cells))
    rows, columns, lengths = [], [], []
    for offset in NEIGHBOURS:
        other = index[tuple((volume.cells + offset).T)]
        found = np.flatnonzero(other >= 0)
        rows.append(found)
        columns.append(other[found])
        lengths.append(np.full(len(found), np.linalg.norm(offset)))
    row, column, length = (np.concatenate(x) for x in (rows, columns, lengths))
    depth = volume.depth / volume.step
    cost = length * (1 / depth[row] ** 2 + 1 / depth[column] ** 2)
    make = lambda values: csr_matrix(coo_matrix((values, (row, column)), shape=(len(depth),) * 2))  # noqa: E731
    graph, plain = make(cost), make(length * volume.step)
    return graph + graph.T, plain + plain.T


def _cover(covered: Bool[np.ndarray, " cell"], volume: Volume, path: Int[np.ndarray, " place"]) -> None:
    """Mark the voxels that a path covers, in place."""
    if not len(path):
        return
    reach = COVERED_DEPTHS * float(volume.depth[path].max()) + volume.step
    left = np.flatnonzero(~covered)
    distance, nearest = cKDTree(volume.centers[path]).query(volume.centers[left], distance_upper_bound=reach)
    near = np.flatnonzero(np.isfinite(distance))
    covered[left[near]] = distance[near] <= COVERED_DEPTHS * volume.depth[path][nearest[near]] + volume.step
