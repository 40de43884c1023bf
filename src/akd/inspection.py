"""What a character file holds and how it is understood, as plain values and as tables for a terminal."""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from akd.assets import axis_vector, check_height, check_output, read_file, rig_from
from akd.character.build import build_rig, named_labels
from akd.errors import AkdError
from akd.files.labels_json import label_path, write_labels
from akd.rig import FileRig, Rig

LIMB_COLORS = {
    "leg": "yellow",
    "arm": "cyan",
    "wing": "magenta",
    "fin": "bright_cyan",
    "tail": "green",
    "neck": "blue",
    "head": "red",
    "spine": "white",
}


@dataclass(frozen=True)
class JointFacts:
    """One joint of the control skeleton."""

    name: str
    parent: str | None
    limb: str
    position: tuple[float, ...]
    """On the stage [ℓ]."""
    skin: float
    """Share of the skin that it moves."""


@dataclass(frozen=True)
class FileFacts:
    """What is in a file, and how it is understood."""

    file: str
    vertices: int
    faces: int
    materials: tuple[str, ...]
    bones: int
    clips: dict[str, float]
    """Seconds of each clip."""
    joints: tuple[JointFacts, ...]
    """The control skeleton; empty for a static mesh."""
    limbs: dict[str, tuple[str, ...]]
    """Joints of each limb, named by kind, side and order from the front."""
    forward: tuple[float, ...] | None
    """Facing direction in the file's axes."""
    leg_metres: float | None
    height_metres: float | None
    notes: tuple[str, ...]
    """What was repaired, guessed or left out."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return asdict(self)


def inspect_file(path: Path, *, forward: str | None = None, height: float | None = None) -> FileFacts:
    """Read a file and return all facts about it."""
    check_height(height)
    file = read_file(path)
    if not file.names:
        return _facts(path, file, None, (*file.notes, "There is no skeleton: this is a static mesh."))
    rig = rig_from(file, forward=forward, height=height)
    return _facts(path, file, rig, rig.notes)


def write_found_labels(path: Path, *, forward: str | None = None, height: float | None = None, force: bool = False) -> Path:
    """Write what is found in a character file beside it, for a user to correct; labels that are there do not count."""
    check_output(label_path(path), force=force)
    file = read_file(path)
    if not file.names:
        raise AkdError(f"{path.name} has no bones to label: rig it first with akd rig {path.name}.")
    rig = build_rig(file, forward=None if forward is None else axis_vector(forward), height=height)
    return write_labels(path, named_labels(rig))


def _facts(path: Path, file: FileRig, rig: Rig | None, notes: tuple[str, ...]) -> FileFacts:
    ahead = None
    if rig is not None and rig.origin is not None:
        column = rig.origin.T_file_stage[:3, 0]
        ahead = tuple(float(x) for x in np.round(column / np.linalg.norm(column), 3) + 0.0)
    limbs = rig.skeleton.limbs if rig is not None else ()
    return FileFacts(
        file=path.name,
        vertices=file.mesh.vertex_count,
        faces=len(file.mesh.faces),
        materials=tuple(m.name for m in file.mesh.materials),
        bones=len(file.names),
        clips={clip.name: clip.duration for clip in file.clips},
        joints=_joints(rig) if rig is not None else (),
        limbs={limb.name: tuple(rig.skeleton.names[j] for j in limb.joints) for limb in limbs} if rig is not None else {},
        forward=ahead,
        leg_metres=rig.leg_metres if rig is not None else None,
        height_metres=_height(rig) * rig.leg_metres if rig is not None else None,
        notes=notes,
    )


def _joints(rig: Rig) -> tuple[JointFacts, ...]:
    skeleton = rig.skeleton
    limb_of = {joint: limb.name for limb in skeleton.limbs for joint in limb.joints}
    share = rig.weights.sum(0) / max(rig.mesh.vertex_count, 1)
    return tuple(
        JointFacts(
            name,
            skeleton.names[skeleton.parents[j]] if skeleton.parents[j] >= 0 else None,
            limb_of.get(j, ""),
            tuple(float(x) for x in np.round(skeleton.positions[j], 3)),
            round(float(share[j]), 4),
        )
        for j, name in enumerate(skeleton.names)
    )


def _height(rig: Rig) -> float:
    points = rig.mesh.vertices if rig.mesh.vertex_count else rig.skeleton.positions
    return float(np.ptp(points[:, 1]))


def drawn(facts: FileFacts) -> list[Any]:
    """The facts as a tree of joints, a table and a list of notes, for a terminal."""
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    table = Table(title=facts.file, show_header=False)
    table.add_row("mesh", f"{facts.vertices} vertices, {facts.faces} faces, {len(facts.materials)} materials")
    table.add_row("skeleton", f"{facts.bones} bones, {len(facts.joints)} of them joints")
    if facts.forward is not None and facts.leg_metres is not None and facts.height_metres is not None:
        table.add_row("faces", " ".join(f"{x:g}" for x in facts.forward))
        table.add_row("size", f"leg {facts.leg_metres:.3g} m, height {facts.height_metres:.3g} m")
        table.add_row("limbs", ", ".join(facts.limbs))
    table.add_row("clips", ", ".join(f"{name} ({seconds:.2f} s)" for name, seconds in facts.clips.items()) or "none")
    out: list[Any] = [table]
    nodes: dict[str, Tree] = {}
    for joint in facts.joints:
        kind = joint.limb.split("_")[0]
        label = Text.assemble(
            (joint.name, LIMB_COLORS.get(kind, "white")), (f"  {joint.limb}  {joint.skin:.1%} of the skin", "dim")
        )
        nodes[joint.name] = Tree(label) if joint.parent is None else nodes[joint.parent].add(label)
    out += [next(iter(nodes.values()))] if nodes else []
    return out + [f"· {note}" for note in facts.notes]
