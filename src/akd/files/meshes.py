"""Static meshes: OBJ, PLY, STL and OFF. No bones, so the rig must still be found."""

import io
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from akd.errors import AkdError
from akd.files.obj import read_obj
from akd.files.paint import GREY
from akd.files.reading import check_coordinates, file_bytes
from akd.mesh import Mesh
from akd.rig import FileRig

SUFFIXES = (".obj", ".ply", ".stl", ".off")


def read_mesh(path: str | Path) -> FileRig:
    """A mesh as its file has it, vertex by vertex; polygons are cut into triangles."""
    path = Path(path)
    if path.suffix.lower() == ".obj":
        obj = read_obj(path)
        mesh, notes = obj.mesh, (*obj.notes, *_group_note(obj.groups))
    elif path.suffix.lower() in SUFFIXES:
        mesh, notes = _read_with_trimesh(path), ()
    else:
        raise AkdError(f"{path.name} is not a mesh file that can be read here; the kinds are {', '.join(SUFFIXES)}.")
    return FileRig(
        names=(), parents=np.zeros(0, int), rest=np.zeros((0, 4, 4)), mesh=mesh, weights=np.zeros((mesh.vertex_count, 0)),
        path=path, notes=notes,
    )


def _group_note(groups: tuple[str, ...]) -> tuple[str, ...]:
    """MakeHuman and others keep guides for clothes and joints in groups of the same file: say that they are there."""
    guides = [group for group in groups if group.startswith(("helper", "joint"))]
    if not guides:
        return ()
    return (f"{len(guides)} of {len(groups)} groups look like guides and not skin ({guides[0]} …); they were kept.",)


def _read_with_trimesh(path: Path) -> Mesh:
    import trimesh

    content = file_bytes(path)
    if content.startswith(b"ply") and any(word in content[:4096] for word in (b"f_dc_0", b"packed_position")):
        raise AkdError(f"{path.name} holds Gaussian splats and not a mesh; give a mesh, or give it as splats.")
    try:
        loaded: Any = trimesh.load(io.BytesIO(content), file_type=path.suffix.lower()[1:], process=False)
        if isinstance(loaded, trimesh.Scene):
            loaded = loaded.to_geometry()
        if not len(getattr(loaded, "faces", ())):
            raise ValueError("no faces, and a surface is needed")
        faces = np.array(loaded.faces, int)
        vertices = np.array(loaded.vertices, float)
        own = _own_colors(loaded)
    except Exception as error:  # trimesh raises whatever its parsers raise
        raise AkdError(f"{path.name} cannot be read as {path.suffix[1:].upper()} ({_first_line(error)}).") from None
    if vertices.ndim != 2 or vertices.shape[1] != 3 or faces.shape[1:] != (3,):
        raise AkdError(f"{path.name} does not hold points in space and faces between them.")
    check_coordinates(vertices, path.name)
    return Mesh(vertices, faces, own if own is not None else np.tile(GREY, (len(vertices), 1)))


def _own_colors(loaded: Any) -> Float[np.ndarray, "vertex 3"] | None:
    """Colours of the vertices if the file has any, spread from the faces where it has them there."""
    if loaded.visual.kind not in ("vertex", "face"):
        return None
    return np.array(loaded.visual.vertex_colors, float)[:, :3] / 255.0


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0][:200] if str(error).strip() else type(error).__name__
