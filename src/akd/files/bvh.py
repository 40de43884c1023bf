"""BVH: a hierarchy of offsets, then one line of channel values per frame. Angles are in degrees.

A joint's rotation channels multiply in the order in which they are listed (``Zrotation Xrotation Yrotation`` is
Rz Rx Ry). Position channels take the place of the joint's offset, as Blender and MotionBuilder have it. The format
knows neither units nor axes; what we write is Y up, facing +Z, with Z X Y angles.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float, Int

from akd.errors import AkdError
from akd.files.reading import Y_FROM_Z_UP, Tracks, check_coordinates, file_text, no_mesh, quoted, unique_names
from akd.files.writing import write_file
from akd.motion import Motion
from akd.rig import Clip, FileRig
from akd.rotations import continuous_angles, quaternion_multiply, rotation_vector_to_quaternion
from akd.skeleton import Skeleton, joint_rotations

T_BVH_STAGE = np.array([[0.0, 0, -1], [0, 1, 0], [1, 0, 0]])  # the stage's forward +X becomes +Z, its right +Z becomes −X
CYCLE = torch.tensor([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]], dtype=torch.float64)  # z → x → y → z: turns Rz Rx Ry into Rx Ry Rz
CHANNELS = tuple(f"{axis}{kind}" for kind in ("position", "rotation") for axis in "XYZ")
MAX_DIGITS = 18  # of a count of frames
FRAME_TIMES = (1e-6, 1e4)  # seconds that can lie between two frames
LYING = 3.0  # heads this many times farther from feet along Z than along Y are above them along Z; of animals they are ahead, too
TALL = 10.0  # a skeleton larger than this many units is hardly in metres


@dataclass
class _Joint:
    """One block of the hierarchy while it is being read."""

    name: str
    parent: int
    offset: Float[np.ndarray, " 3"] | None = None
    channels: list[str] = field(default_factory=list)


def read_bvh(path: str | Path) -> FileRig:
    """The skeleton at rest (all rotations zero) and its one clip, named after the file. End sites become bones ``…_end``."""
    path = Path(path)
    head, motion = _split(file_text(path), path.name)
    joints = _hierarchy(head, path.name)
    values, frame_time = _frames(motion, sum(len(joint.channels) for joint in joints), path.name)
    parents = np.array([joint.parent for joint in joints])
    offsets = np.array([joint.offset for joint in joints], float)
    rest = np.tile(np.eye(4), (len(joints), 1, 1))
    for bone, parent in enumerate(parents):
        rest[bone, :3, 3] = offsets[bone] + (rest[parent, :3, 3] if parent >= 0 else 0)
    metres, notes = _unit(rest[:, :3, 3])
    names = unique_names([joint.name for joint in joints])
    T_up_file = _upright(names, rest[:, :3, 3])
    if not np.array_equal(T_up_file, np.eye(4)):
        notes.append("The skeleton lies along the Z axis, so it was set upright.")
    if len(names) != len({joint.name for joint in joints}):
        notes.append("Several joints have the same name; the later ones got a number.")
    tracks = _tracks(joints, parents, offsets, values, frame_time) if len(values) else None
    return FileRig(
        names=names, parents=parents, rest=T_up_file @ rest, mesh=no_mesh(), weights=np.zeros((0, len(joints))),
        clips=(Clip(path.stem, tracks.duration),) if tracks else (),
        sample=(lambda clip, times: T_up_file @ tracks.sample(times)) if tracks else None,
        metres=metres, path=path, notes=tuple(notes),
    )


def _upright(names: tuple[str, ...], positions: Float[np.ndarray, "bone 3"]) -> Float[np.ndarray, "4 4"]:
    """The turn from Z up to Y up where heads are above feet along Z and not along Y; the format itself does not say."""
    low = [bool(re.search("foot|toe|ankle", name.lower())) for name in names]
    high = [bool(re.search("head|neck|spine|chest", name.lower())) for name in names]
    if not any(low) or not any(high):
        return np.eye(4)
    _, y, z = positions[high].mean(0) - positions[low].mean(0)
    return Y_FROM_Z_UP if z > LYING * abs(y) else np.eye(4)


def write_bvh(path: str | Path, skeleton: Skeleton, motion: Motion, *, scale: float = 1.0) -> None:
    """A motion as BVH, Y up and facing +Z. ``scale``: units per leg length; 100 · leg_metres gives centimetres."""
    if motion.pose.angles.ndim != 3:
        raise AkdError(f"A BVH file holds one motion, but this is a batch of {tuple(motion.pose.angles.shape[:-3])}; pick one.")
    order = _depth_first(skeleton)
    turn = torch.as_tensor(T_BVH_STAGE)
    pose = motion.pose.detach().to(torch.float64)
    rotations = CYCLE @ (turn @ joint_rotations(skeleton, pose) @ turn.T) @ CYCLE.T
    angles = torch.rad2deg(continuous_angles(rotations))[:, order].flatten(1)
    values = np.concatenate(((pose.root_position @ turn.T * scale).numpy(), angles.numpy()), 1)
    lines = [*_hierarchy_lines(skeleton, order, scale), "MOTION", f"Frames: {len(values)}", f"Frame Time: {1 / motion.fps:.9g}"]
    lines += [" ".join(f"{value:.6f}" for value in row) for row in values]
    write_file(path, "\n".join(lines) + "\n")


def _split(text: str, name: str) -> tuple[list[str], list[str]]:
    """The lines of the hierarchy, one brace or statement each, and the lines of the motion."""
    parts = re.split(r"^\s*MOTION\s*$", text, maxsplit=1, flags=re.MULTILINE | re.IGNORECASE)
    head = [line.strip() for line in re.sub(r"([{}])", r"\n\1\n", parts[0]).splitlines() if line.strip()]
    if not head or head[0].upper() != "HIERARCHY":
        raise AkdError(f"{name} is not a BVH file: it does not begin with HIERARCHY.")
    if len(parts) < 2:
        raise AkdError(f"{name} has no MOTION section; it may have been cut off.")
    return head[1:], [line.strip() for line in parts[1].splitlines() if line.strip()]


def _hierarchy(lines: list[str], name: str) -> list[_Joint]:
    joints, open_blocks = list[_Joint](), list[int]()
    expect_brace = False
    for line in lines:
        keyword, rest = (*line.split(maxsplit=1), "")[:2]
        keyword = keyword.upper()
        if expect_brace != (keyword == "{"):
            raise AkdError(f"{name}: a joint's block does not open with a brace near {quoted(line)}.")
        expect_brace = False
        if keyword in ("ROOT", "JOINT", "END", "ENDSITE"):
            if (keyword == "ROOT") == bool(open_blocks):
                raise AkdError(f"{name}: {quoted(line)} is in the wrong place; ROOT stands outside of blocks, others inside one.")
            joints.append(_new_joint(keyword, rest, joints, open_blocks, name))
            expect_brace = True
        elif keyword == "{":
            open_blocks.append(len(joints) - 1)
        elif not open_blocks:
            raise AkdError(f"{name}: {quoted(line)} stands outside of any joint.")
        elif keyword == "}":
            open_blocks.pop()
        elif keyword == "OFFSET":
            joints[open_blocks[-1]].offset = _offset(rest, name)
        elif keyword == "CHANNELS":
            joints[open_blocks[-1]].channels = _channels(rest, name)
        else:
            raise AkdError(f"{name}: {quoted(line)} is not a statement of a BVH hierarchy.")
    _check_complete(joints, open_blocks, expect_brace, name)
    return joints


def _new_joint(keyword: str, rest: str, joints: list[_Joint], open_blocks: list[int], name: str) -> _Joint:
    parent = open_blocks[-1] if open_blocks else -1
    if keyword.startswith("END"):
        return _Joint(f"{joints[parent].name}_end", parent)
    if not rest:
        raise AkdError(f"{name}: a {keyword} has no name.")
    return _Joint(rest, parent)


def _check_complete(joints: list[_Joint], open_blocks: list[int], expect_brace: bool, name: str) -> None:
    if not joints:
        raise AkdError(f"{name} has no ROOT.")
    if open_blocks or expect_brace:
        raise AkdError(f"{name}: the block of {quoted(joints[open_blocks[-1] if open_blocks else -1].name)} is not closed.")
    for joint in joints:
        if joint.offset is None:
            raise AkdError(f"{name}: joint {quoted(joint.name)} has no OFFSET.")


def _numbers(text: str, name: str) -> Float[np.ndarray, " number"]:
    try:
        values = np.array(text.split(), float)
    except ValueError as error:
        raise AkdError(f"{name}: {str(error)[:100]}; only numbers can stand there.") from None
    check_coordinates(values, name)
    return values


def _offset(text: str, name: str) -> Float[np.ndarray, " 3"]:
    values = _numbers(text, name)
    if len(values) != 3:
        raise AkdError(f"{name}: an OFFSET needs three numbers, not {quoted(text)}.")
    return values


def _channels(text: str, name: str) -> list[str]:
    words = text.split()
    canonical = {channel.lower(): channel for channel in CHANNELS}
    channels = [canonical.get(word.lower(), "") for word in words[1:]]
    if not words or words[0] != str(len(channels)) or "" in channels or len(set(channels)) != len(channels):
        raise AkdError(f"{name}: CHANNELS {quoted(text)} is not a count followed by as many of {', '.join(CHANNELS)}.")
    return channels


def _frames(lines: list[str], channel_count: int, name: str) -> tuple[Float[np.ndarray, "frame channel"], float]:
    """Channel values of every frame, and the seconds between frames."""
    header = re.match(r"frames\s*:\s*(\d+)\s*\n\s*frame\s+time\s*:\s*(\S+)\s*(?:\n|$)", "\n".join(lines), re.IGNORECASE)
    if not header:
        raise AkdError(f"{name}: MOTION must be followed by 'Frames: <count>' and 'Frame Time: <seconds>'.")
    if len(header[1]) > MAX_DIGITS:
        raise AkdError(f"{name} claims a number of frames with {len(header[1])} digits, more than any file holds.")
    count, frame_time = int(header[1]), float(_numbers(header[2], name)[0])
    if not FRAME_TIMES[0] <= frame_time <= FRAME_TIMES[1]:
        raise AkdError(f"{name}: the frame time is {header[2][:40]}, but it must be positive seconds up to {FRAME_TIMES[1]:g}.")
    if not channel_count:  # nothing moves, however often
        return np.zeros((0, 0)), frame_time
    values = _numbers("\n".join(lines)[header.end() :], name)
    if len(values) != count * channel_count:
        needed = f"{count} frames of {channel_count} channels need {count * channel_count}"
        raise AkdError(f"{name} has {len(values)} channel values, but {needed}.")
    return values.reshape(count, channel_count), frame_time


def _tracks(
    joints: list[_Joint], parents: Int[np.ndarray, " bone"], offsets: Float[np.ndarray, "bone 3"],
    values: Float[np.ndarray, "frame channel"], frame_time: float,
) -> Tracks:
    translations = np.tile(offsets, (len(values), 1, 1))
    rotations = torch.zeros(len(values), len(joints), 4, dtype=torch.float64)
    rotations[..., 0] = 1
    columns = iter(values.T)
    for bone, joint in enumerate(joints):
        position = translations[:, bone].copy()
        for channel, column in zip(joint.channels, columns, strict=False):
            axis = "XYZ".index(channel[0])
            if channel.endswith("position"):
                position[:, axis] = column
            else:
                turn = torch.zeros(len(values), 3, dtype=torch.float64)
                turn[:, axis] = torch.as_tensor(np.deg2rad(column))
                rotations[:, bone] = quaternion_multiply(rotations[:, bone], rotation_vector_to_quaternion(turn))
        translations[:, bone] = _placed(position, offsets[bone], joint.parent < 0)
    return Tracks(parents, rotations, torch.as_tensor(translations), None, frame_time)


def _placed(
    position: Float[np.ndarray, "frame 3"], offset: Float[np.ndarray, " 3"], is_root: bool
) -> Float[np.ndarray, "frame 3"]:
    """Where a joint is in its parent, given its position channels.

    Some writers (MakeHuman) store how far a joint has left its offset instead of where it is: then the channels stay
    near zero, and taking them at their word would fold the bones. A root may well pass near zero; it must be still there.
    """
    to_zero, to_offset = np.linalg.norm(position, axis=-1), np.linalg.norm(position - offset, axis=-1)
    relative = not position.any() if is_root else np.median(to_zero) < np.median(to_offset)
    return position + offset if relative else position


def _unit(positions: Float[np.ndarray, "bone 3"]) -> tuple[float, list[str]]:
    """Metres per unit, guessed from the size of the skeleton, with a note if it is a guess."""
    size = float(np.ptp(positions, axis=0).max())
    if size <= TALL:
        return 1.0, []
    metres, word = (0.001, "millimetres") if size > 100 * TALL else (0.01, "centimetres")
    return metres, [f"BVH does not say its unit; a skeleton of {size:.4g} units was taken to be in {word}."]


def _depth_first(skeleton: Skeleton) -> list[int]:
    order, waiting = list[int](), [0]
    while waiting:
        order.append(waiting.pop())
        waiting += skeleton.children(order[-1])[::-1]
    return order


def _hierarchy_lines(skeleton: Skeleton, order: list[int], scale: float) -> list[str]:
    names = unique_names([re.sub(r"[^\w.:-]+", "_", name) or "joint" for name in skeleton.names])
    positions, tails = skeleton.positions @ T_BVH_STAGE.T * scale, skeleton.tails @ T_BVH_STAGE.T * scale
    depth = skeleton.is_ancestor.sum(0) - 1
    lines = ["HIERARCHY"]
    for joint, following in zip(order, [*order[1:], order[0]], strict=True):
        parent, tab = skeleton.parents[joint], "\t" * depth[joint]
        offset = positions[joint] - (positions[parent] if parent >= 0 else 0)
        channels = "3" if parent >= 0 else "6 Xposition Yposition Zposition"
        lines += [f"{tab}{'JOINT' if parent >= 0 else 'ROOT'} {names[joint]}", f"{tab}{{", f"{tab}\tOFFSET {_words(offset)}"]
        lines.append(f"{tab}\tCHANNELS {channels} Zrotation Xrotation Yrotation")
        if not skeleton.children(joint):
            end = _words(tails[joint] - positions[joint])
            lines += [f"{tab}\tEnd Site", f"{tab}\t{{", f"{tab}\t\tOFFSET {end}", f"{tab}\t}}"]
            lines += ["\t" * level + "}" for level in range(depth[joint], depth[following] - 1, -1)]
    return lines


def _words(vector: Float[np.ndarray, " 3"]) -> str:
    return " ".join(f"{x:.6f}" for x in vector)
