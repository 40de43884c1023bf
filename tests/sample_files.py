"""Small files of bones and flesh, made by hand, for questions about anatomy."""

import numpy as np

from akd.mesh import Mesh
from akd.rig import FileRig


def box(centre, size) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a box."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.array(size) / 2 + centre
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [(a, b, c) for a, b, c, _ in quads] + [(a, c, d) for a, _, c, d in quads]
    return corners, np.array(faces)


def file_of_boxes(bones: dict[str, tuple[str | None, tuple, tuple | None, tuple]]) -> FileRig:
    """Bones as name: (parent, head, box centre or None for no flesh, box size), in glTF axes."""
    names = tuple(bones)
    parents = np.array([names.index(p) if p else -1 for p, *_ in bones.values()])
    rest = np.broadcast_to(np.eye(4), (len(names), 4, 4)).copy()
    vertices, faces, owners = [np.zeros((0, 3))], [np.zeros((0, 3), int)], []
    for bone, (_, head, centre, size) in enumerate(bones.values()):
        rest[bone, :3, 3] = head
        if centre is not None:
            points, triangles = box(np.array(centre), size)
            faces.append(triangles + sum(len(v) for v in vertices))
            vertices.append(points)
            owners += [bone] * len(points)
    points = np.concatenate(vertices)
    mesh = Mesh(points, np.concatenate(faces), np.full((len(points), 3), 0.7))
    return FileRig(names, parents, rest, mesh, np.eye(len(names))[owners])


def walker_file() -> FileRig:
    """A two-legged body whose feet hang off a master bone on the ground, as in many game rigs."""
    bones: dict = {"master": (None, (0, 0, 0), None, ())}
    bones["hips"] = ("master", (0, 1.0, 0), (0, 1.2, 0), (0.5, 0.5, 0.3))
    bones["head"] = ("hips", (0, 1.5, 0), (0, 1.7, 0.05), (0.25, 0.3, 0.3))
    for side, x in (("L", 0.2), ("R", -0.2)):
        bones[f"thigh.{side}"] = ("hips", (x, 0.9, 0), (x, 0.7, 0), (0.15, 0.4, 0.15))
        bones[f"shin.{side}"] = (f"thigh.{side}", (x, 0.5, 0.02), (x, 0.3, 0), (0.12, 0.4, 0.12))
        bones[f"foot.{side}"] = ("master", (x, 0.1, 0), (x, 0.05, 0.1), (0.12, 0.1, 0.35))
    return file_of_boxes(bones)


def chain_file(count: int) -> FileRig:
    """A pole of bones, one above the other."""
    return file_of_boxes(
        {f"b{i}": (f"b{i - 1}" if i else None, (0, i, 0), (0, i + 0.5, 0), (0.3, 1, 0.2)) for i in range(count)}
    )
