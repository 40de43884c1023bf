"""Static meshes: OBJ with its materials, PLY, STL and OFF. No bones, so the rig must still be found."""

import io
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float, Int, UInt8

from akd.errors import AkdError
from akd.files.geometry import picked_uv, split_at_seams
from akd.files.paint import GREY, beside, painted, picture_beside
from akd.files.reading import MAX_COORDINATE, check_coordinates, file_bytes, file_text, quoted
from akd.files.writing import write_file
from akd.mesh import Material, Mesh
from akd.rig import FileRig

SUFFIXES = (".obj", ".ply", ".stl", ".off")


@dataclass(frozen=True, eq=False)
class ObjFile:
    """An OBJ file as a mesh."""

    mesh: Mesh
    line_of_vertex: Int[np.ndarray, " vertex"]
    """For each vertex of the mesh, which of the file's ``v`` lines it came from."""
    groups: tuple[str, ...]
    """Names after ``g`` and ``o``, in the order in which they first occur."""
    notes: tuple[str, ...]


@dataclass
class _Lines:
    """What the statements of the file have said so far."""

    positions: list[list[float]] = field(default_factory=list)
    coordinates: list[list[float]] = field(default_factory=list)
    corners: list[tuple[int, int]] = field(default_factory=list)
    """(``v`` line, ``vt`` line or −1) of every triangle corner."""
    face_materials: list[str] = field(default_factory=list)
    """Material of every triangle."""
    groups: dict[str, None] = field(default_factory=dict)
    libraries: list[str] = field(default_factory=list)
    material: str = ""

    def face(self, words: list[str]) -> None:
        """A polygon, cut into a fan of triangles."""
        if len(words) < 3:
            raise ValueError("a face needs three corners")
        corners = [self._corner(word) for word in words]
        for second, third in pairwise(corners[1:]):
            self.corners += (corners[0], second, third)
            self.face_materials.append(self.material)

    def _corner(self, word: str) -> tuple[int, int]:
        parts = word.split("/")
        position = _index(int(parts[0]), len(self.positions))
        return position, _index(int(parts[1]), len(self.coordinates)) if len(parts) > 1 and parts[1] else -1


def read_obj(path: Path) -> ObjFile:
    """Everything a mesh needs of an OBJ file; normals, lines and curves are not looked at."""
    lines = _Lines()
    text = file_text(path).replace("\\\r\n", " ").replace("\\\n", " ")
    for number, line in enumerate(text.splitlines(), 1):
        keyword, rest = (*line.split(maxsplit=1), "", "")[:2]
        try:
            _statement(lines, keyword, rest.split("#")[0].strip())
        except (ValueError, IndexError, OverflowError) as error:
            raise AkdError(f"{path.name}, line {number}: {line.strip()[:60]!r} is not understood ({str(error)[:100]}).") from None
    if not lines.positions:
        raise AkdError(f"{path.name} has no vertices; is it an OBJ file?")
    if not lines.corners:
        raise AkdError(f"{path.name} has no faces, and a surface is needed.")
    library, notes = _libraries(path, lines.libraries)
    mesh, line_of_vertex = _mesh(lines, library)
    return ObjFile(mesh, line_of_vertex, tuple(lines.groups), tuple(notes))


def write_obj(path: Path, mesh: Mesh) -> None:
    """Vertices with their colours, and faces."""
    rows = np.concatenate((mesh.vertices, mesh.colors), 1)
    lines = ["v {:.9g} {:.9g} {:.9g} {:.4g} {:.4g} {:.4g}".format(*row) for row in rows.tolist()]
    lines += ["f {} {} {}".format(*face) for face in (mesh.faces + 1).tolist()]
    write_file(path, "\n".join(lines) + "\n")


def _statement(lines: _Lines, keyword: str, rest: str) -> None:
    if keyword == "v":
        lines.positions.append(_numbers(rest, 3))
    elif keyword == "vt":
        lines.coordinates.append((_numbers(rest, 1) + [0.0])[:2])
    elif keyword == "f":
        lines.face(rest.split())
    elif keyword in ("g", "o") and rest:
        lines.groups.setdefault(rest)
    elif keyword == "usemtl":
        lines.material = rest
    elif keyword == "mtllib":
        lines.libraries.append(rest)


def _numbers(text: str, least: int) -> list[float]:
    values = [float(word) for word in text.split()]
    if len(values) < least:
        raise ValueError(f"{least} numbers are needed")
    if not np.all(np.isfinite(values)):
        raise ValueError("not a finite number")
    if max(map(abs, values), default=0) > MAX_COORDINATE:
        raise ValueError(f"beyond {MAX_COORDINATE:g} units; rescale it")
    return values


def _index(given: int, count: int) -> int:
    """Indices count from one; negative ones count back from the latest line."""
    index = given - 1 if given > 0 else count + given
    if given == 0 or not 0 <= index < count:
        raise ValueError(f"it refers to line {given} of {count}")
    return index


def _mesh(lines: _Lines, library: dict[str, Material]) -> tuple[Mesh, Int[np.ndarray, " vertex"]]:
    rows, corner_vertex = split_at_seams(np.array(lines.corners), len(lines.positions))
    line_of_vertex, faces = rows[:, 0], corner_vertex.reshape(-1, 3)
    uv = picked_uv(np.array(lines.coordinates).reshape(-1, 2), rows[:, 1])
    own = _obj_colors(lines.positions)
    own = None if own is None else own[line_of_vertex]
    vertices = np.array([row[:3] for row in lines.positions])[line_of_vertex]
    if not library:
        return Mesh(vertices, faces, painted(len(rows), faces, own=own), uv), line_of_vertex
    names = {name: index for index, name in enumerate(dict.fromkeys(lines.face_materials))}
    materials = tuple(library.get(name, Material(name or "none", GREY)) for name in names)
    face_material = np.array([names[name] for name in lines.face_materials])
    colors = painted(len(rows), faces, materials, face_material, uv, own)
    return Mesh(vertices, faces, colors, uv, materials, face_material), line_of_vertex


def _obj_colors(positions: list[list[float]]) -> Float[np.ndarray, "line 3"] | None:
    """Colours after the coordinates, a widespread extension: of one, or of 255."""
    if any(len(row) < 6 for row in positions):
        return None
    colors = np.array([row[3:6] for row in positions])
    return np.clip(colors / (255.0 if colors.max() > 1 else 1.0), 0, 1)


def _libraries(path: Path, names: list[str]) -> tuple[dict[str, Material], list[str]]:
    """All materials of the named MTL files."""
    library, notes = dict[str, Material](), list[str]()
    for name in dict.fromkeys(names):
        found = beside(path, name)
        if found is None:
            notes.append(f"The materials in {quoted(name)} are not beside {path.name}, so it has no colours from there.")
            continue
        library |= _materials(found, notes)
    return library, notes


def _materials(path: Path, notes: list[str]) -> dict[str, Material]:
    library, name = dict[str, Material](), ""
    for line in file_text(path).splitlines():
        keyword, rest = (*line.split(maxsplit=1), "", "")[:2]
        if keyword == "newmtl":
            name = rest.strip()
            library[name] = Material(name, GREY)
        elif keyword.lower() == "kd" and name and library[name].texture is None:
            library[name] = Material(name, _diffuse(rest))
        elif keyword.lower() == "map_kd" and name:
            picture = _picture(path, rest.strip())
            if picture is None:
                which = f"{quoted(rest.strip())} of material {quoted(name)}"
                notes.append(f"The picture {which} is not beside {path.name} or cannot be read.")
            else:  # exporters write any Kd beside a picture, black too
                library[name] = Material(name, np.ones(3), picture)
    return library


def _diffuse(text: str) -> Float[np.ndarray, " 3"]:
    """Kd is used as sRGB, as the programs that write OBJ do; what is no colour is grey."""
    try:
        color = np.clip(np.array(text.split()[:3], float), 0, 1)
    except ValueError:
        return GREY
    return color if color.shape == (3,) and np.all(np.isfinite(color)) else GREY


def _picture(path: Path, statement: str) -> UInt8[np.ndarray, "height width 3"] | None:
    """Options may stand before the name, and the name may contain spaces."""
    whole = picture_beside(path, statement)
    return whole if whole is not None or not statement else picture_beside(path, statement.split()[-1])


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
    return FileRig.static(mesh, path, notes)


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
