"""The inside of a mesh as voxels, and the lines along its middle.

Lines are found as in TEASAR (Sato et al. 2000): the farthest place that no line explains yet is a tip; a path that
keeps to the middle of the flesh leads from it to the lines found so far; flesh around the path counts as explained.
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
EXPLAINS = 1.5
"""A path explains the flesh around it up to this many times its own distance from the skin."""
SHORTEST = 0.07
"""What sticks out by less than this share of the size is a bump, not a limb."""
BLOCK = 4
"""Voxels along a side of the blocks that are asked at once whether they are inside."""
CLOSE = 0.25
"""Winding numbers nearer to one half than this may be on either side of it elsewhere in their block."""
NEIGHBOURS = [(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if (x, y, z) > (0, 0, 0)]


@dataclass(frozen=True, eq=False)
class Volume:
    """Solid voxels of one connected body."""

    cells: Int[np.ndarray, "cell 3"]
    centers: Float[np.ndarray, "cell 3"]
    depth: Float[np.ndarray, " cell"]
    """Distance from the skin."""
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

    def holds(self, points: Float[np.ndarray, "point 3"], slack: float = 0.6) -> Bool[np.ndarray, " point"]:
        """Which points are in the flesh, or nearly: up to so many voxels from the middle of a solid one."""
        distance, _ = self.tree.query(points, distance_upper_bound=slack * self.step)
        return np.isfinite(distance)

    def moved(self, matrix: Float[np.ndarray, "4 4"]) -> "Volume":
        """The same flesh in another frame; the matrix must not stretch."""
        return replace(self, centers=self.centers @ matrix[:3, :3].T + matrix[:3, 3])


@dataclass(frozen=True, eq=False)
class Line:
    """A path from the middle of the body to a tip."""

    points: Float[np.ndarray, "place 3"]
    depth: Float[np.ndarray, " place"]
    reach: float = np.inf
    """How far it sticks out of what it branches off from."""

    def moved(self, matrix: Float[np.ndarray, "4 4"]) -> "Line":
        return replace(self, points=self.points @ matrix[:3, :3].T + matrix[:3, 3])


@dataclass(frozen=True, eq=False)
class Paths:
    """Ways through the middle of the flesh, from its deepest place to everywhere."""

    volume: Volume
    start: int
    before: Int[np.ndarray, " cell"]
    """The voxel from which each is reached."""
    far: Float[np.ndarray, " cell"]
    """Length of the shortest way from the start."""

    def cells(self, tip: int) -> Int[np.ndarray, " place"]:
        """The voxels on the way to one."""
        path = [tip]
        while self.before[path[-1]] >= 0:
            path.append(int(self.before[path[-1]]))
        return np.array(path[::-1])

    def line(self, tip: int) -> Line:
        path = self.cells(tip)
        return Line(self.volume.centers[path], self.volume.depth[path])


def solid_volume(surface: Surface, resolution: int = RESOLUTION) -> Volume:
    """Voxels inside the mesh by its winding number, which open or crossing pieces do not disturb."""
    import igl

    step = surface.size / resolution
    low = surface.points.min(0) - 1.5 * step
    shape = np.ceil((surface.points.max(0) + 1.5 * step - low) / step).astype(int)
    skin = np.zeros(shape, bool)
    skin[tuple(np.clip(((_on_skin(surface, step) - low) / step).astype(int), 0, shape - 1).T)] = True
    inside = _inside(lambda cells: igl.fast_winding_number(surface.points, surface.faces, low + step * (cells + 0.5)), skin)
    solid = _largest(inside)
    if solid.sum() < 0.97 * max(inside.sum(), 1) or not solid.any():  # thin or open: the skin holds what the inside does not
        solid = _largest(ndimage.binary_fill_holes(inside | skin))
    if solid.sum() < 50:
        raise AkdError("The mesh encloses no space, so no skeleton can be found in it; give one with --skeleton.")
    depth = ndimage.distance_transform_edt(np.pad(solid, 1))[1:-1, 1:-1, 1:-1]
    cells = np.argwhere(solid)
    return Volume(cells, low + step * (cells + 0.5), step * depth[solid], step)


def find_paths(volume: Volume) -> Paths:
    """The ways from the deepest place."""
    graph, lengths = _graphs(volume)
    start = int(np.argmax(volume.depth))
    _, before = dijkstra(graph, indices=start, return_predecessors=True)
    return Paths(volume, start, before, dijkstra(lengths, indices=start))


def middle_lines(paths: Paths, shortest: float = SHORTEST) -> list[Line]:
    """The ways to every tip, the farthest first."""
    volume = paths.volume
    explained = ~np.isfinite(paths.far)
    _explain(explained, volume, np.array([paths.start]))
    in_tree = np.zeros(len(paths.far), bool)
    in_tree[paths.start] = True
    lines = []
    while not explained.all():
        tip = int(np.argmax(np.where(explained, -1, paths.far)))
        path = paths.cells(tip)
        new = path[~in_tree[path]]
        junction = path[max(len(path) - len(new) - 1, 0)]
        reach = float(np.linalg.norm(volume.centers[tip] - volume.centers[junction]) - volume.depth[junction])
        if reach > shortest * volume.size:
            lines.append(replace(paths.line(tip), reach=reach))
            in_tree[path] = True
        _explain(explained, volume, new)
        explained[tip] = True
    return lines


def _inside(
    winding: Callable[[Float[np.ndarray, "place 3"]], Float[np.ndarray, " place"]], skin: Bool[np.ndarray, "x y z"]
) -> Bool[np.ndarray, "x y z"]:
    """Voxels with a winding number above one half. It jumps at the skin only and is smooth elsewhere, so blocks of voxels clear
    of the skin are asked once, in their middle, and voxel by voxel where that answer is close."""
    shape = skin.shape
    near = np.pad(ndimage.binary_dilation(skin, np.ones((3, 3, 3))), [(0, -side % BLOCK) for side in shape])
    x, y, z = (side // BLOCK for side in near.shape)
    asked = near.reshape(x, BLOCK, y, BLOCK, z, BLOCK).any((1, 3, 5))
    clear = np.argwhere(~asked)
    turns = np.zeros(asked.shape)
    turns[~asked] = np.abs(winding(BLOCK * clear + (BLOCK - 1) / 2)) if len(clear) else 0.0
    asked |= np.abs(turns - 0.5) < CLOSE
    voxelwise = lambda blocks: np.kron(blocks, np.ones((BLOCK,) * 3, bool))[tuple(map(slice, shape))]  # noqa: E731
    inside, open_ = voxelwise(turns > 0.5), voxelwise(asked)
    inside[open_] = np.abs(winding(np.argwhere(open_).astype(float))) > 0.5
    return inside


def _largest(solid: Bool[np.ndarray, "x y z"]) -> Bool[np.ndarray, "x y z"]:
    names, count = ndimage.label(solid, np.ones((3, 3, 3)))
    return names == 1 + np.argmax(np.bincount(names.ravel(), minlength=2)[1:]) if count else solid


def _on_skin(surface: Surface, step: float) -> Float[np.ndarray, "sample 3"]:
    """Points all over the faces, nearer to each other than a voxel."""
    corner = surface.points[surface.faces]
    longest = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=-1).max(1)
    out = []
    for count in np.unique(parts := np.clip(np.ceil(1.5 * longest / step).astype(int), 1, 64)):
        i, j = (grid.ravel() for grid in np.mgrid[: count + 1, : count + 1])
        share = np.stack((i, j, count - i - j), -1)[i + j <= count] / count
        out.append((share @ corner[parts == count]).reshape(-1, 3))
    return np.concatenate(out)


def _graphs(volume: Volume) -> tuple[csr_matrix, csr_matrix]:
    """Neighbouring voxels, once with steps that are cheap in the middle of the flesh and once with plain lengths."""
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
    price = length * (1 / depth[row] ** 2 + 1 / depth[column] ** 2)
    make = lambda values: csr_matrix(coo_matrix((values, (row, column)), shape=(len(depth),) * 2))  # noqa: E731
    graph, plain = make(price), make(length * volume.step)
    return graph + graph.T, plain + plain.T


def _explain(explained: Bool[np.ndarray, " cell"], volume: Volume, path: Int[np.ndarray, " place"]) -> None:
    """Mark the voxels that a path explains."""
    if not len(path):
        return
    reach = EXPLAINS * float(volume.depth[path].max()) + volume.step
    left = np.flatnonzero(~explained)
    distance, nearest = cKDTree(volume.centers[path]).query(volume.centers[left], distance_upper_bound=reach)
    near = np.flatnonzero(np.isfinite(distance))
    explained[left[near]] = distance[near] <= EXPLAINS * volume.depth[path][nearest[near]] + volume.step
