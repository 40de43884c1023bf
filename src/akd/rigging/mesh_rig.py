"""A rig from a mesh alone: curve skeleton, facing, joints, skin weights."""

from dataclasses import replace

import numpy as np
from jaxtyping import Float
from scipy.spatial import cKDTree

from akd.character.build import build_rig
from akd.character.facing import facing_matrix, forward_votes
from akd.character.symmetry import RestGeometry, symmetry_plane
from akd.errors import AkdError
from akd.mesh import Mesh
from akd.rig import FileRig, Rig
from akd.rigging.components import symmetric_components
from akd.rigging.joints import JointList, place_joints
from akd.rigging.layout import MIN_TAIL, TEMPLATES, Layout, lay_out
from akd.rigging.pairs import OFF_PLANE, near_ground
from akd.rigging.surface import decimated, weld
from akd.rigging.volume import MIN_BRANCH, Branch, Volume, shortest_paths, skeleton_branches, solid_volume
from akd.rigging.weights import HeatSettings, heat_weights
from akd.skeleton import Skeleton

MAX_SURE_ASYMMETRY = 0.02
MIN_FEELER = 0.12
"""What sticks out less above the ground does not say which way a body faces [size]."""
FOOT_LENGTH = 0.2
"""Tips on the ground of one side that are nearer to each other than this are heel and toes [size]."""
HELD_NOTE = "{} loose parts have no mirror image: they count as held or worn and had no say in the skeleton."


def rig_mesh(
    mesh: Mesh, *, template: str | None = None, forward: Float[np.ndarray, " 3"] | None = None, height: float | None = None,
    k: int = 4,
) -> Rig:  # fmt: skip
    """Find a skeleton in a mesh whose Y axis is up, weight the skin to it, and put it on the stage."""
    return rig_static(FileRig((), np.zeros(0, int), np.zeros((0, 4, 4)), mesh, np.zeros((mesh.vertex_count, 0))),
                      template=template, forward=forward, height=height, k=k)  # fmt: skip


def rig_static(
    file: FileRig, *, template: str | None = None, forward: Float[np.ndarray, " 3"] | None = None, height: float | None = None,
    k: int = 4, settings: HeatSettings | None = None,
) -> Rig:  # fmt: skip
    """The same for a mesh read from a file, so that the rig remembers where it came from."""
    small = decimated(file.mesh)
    joints, ahead, notes = find_skeleton(small, template=template, forward=forward, default_forward=file.forward)
    parents, positions = np.array(joints.parents), np.array(joints.positions)
    skeleton = Skeleton.from_joints(tuple(joints.names), parents, positions)
    rest = np.tile(np.eye(4), (len(parents), 1, 1))
    rest[:, :3, 3] = positions
    weights = heat_weights(file.mesh, skeleton, k=k, settings=settings, small=small)
    rigged = replace(file, names=skeleton.names, parents=parents, rest=rest, weights=weights, notes=(*file.notes, *notes))
    return build_rig(rigged, forward=ahead, height=height, labels=(tuple(joints.limbs), joints.mirror()))


def find_skeleton(
    mesh: Mesh, *, template: str | None = None, forward: Float[np.ndarray, " 3"] | None = None,
    default_forward: Float[np.ndarray, " 3"] | None = None,
) -> tuple[JointList, Float[np.ndarray, " 3"], tuple[str, ...]]:  # fmt: skip
    """Joints in the mesh's own axes, which way it faces, and what is uncertain.

    ``forward`` decides the facing. ``default_forward`` is the direction that the file's format wants bodies to face; it only
    counts where the shape leaves doubt.
    """
    if template is not None and template not in TEMPLATES:
        raise AkdError(f"There is no template {template!r}; the templates are {', '.join(TEMPLATES)}.")
    surface = weld(decimated(mesh))
    if not len(surface.faces):
        raise AkdError("The mesh has no faces with any area, so there is nothing to rig.")
    symmetric = symmetric_components(surface)
    paths = shortest_paths(solid_volume(symmetric))
    shortest = MIN_BRANCH if template is None else MIN_BRANCH / 2
    branches = skeleton_branches(paths, min(shortest, MIN_TAIL))
    if not branches:
        raise AkdError("The mesh has no limbs that stick out, so no skeleton can be found in it; give one with --skeleton.")
    turn, asymmetry, sure = _stance(paths.volume, branches, forward, default_forward)
    paths = replace(paths, volume=paths.volume.moved(turn))
    layout = lay_out(
        [branch.moved(turn) for branch in branches], paths, template=TEMPLATES.get(template or ""), shortest=shortest
    )
    joints = place_joints(layout, paths.volume)
    joints.positions = [(place - turn[:3, 3]) @ turn[:3, :3] for place in joints.positions]
    held = [HELD_NOTE.format(count)] if (count := surface.component_count - symmetric.component_count) else []
    return joints, turn[0, :3], (*held, *layout.notes, *_doubts(layout, joints, asymmetry, sure))


def _stance(
    volume: Volume,
    branches: list[Branch],
    forward: Float[np.ndarray, " 3"] | None,
    default_forward: Float[np.ndarray, " 3"] | None,
) -> tuple[Float[np.ndarray, "4 4"], float, float]:
    """The turn that makes the body face +X with its plane at z = 0; how asymmetric it is; how clear the votes were."""
    branches = [branch for branch in branches if branch.reach > MIN_BRANCH * volume.size] or branches
    body = _rest_geometry(volume, branches)
    normal, centre, asymmetry = symmetry_plane(body)
    ahead = np.cross((0.0, 1.0, 0.0), normal)
    votes = 1.0
    if forward is not None:
        ahead = np.sign(ahead @ forward or 1.0) * ahead
    else:
        turn = facing_matrix(ahead, centre)
        turned = body.moved(turn)
        low = near_ground(volume)
        feet = _whole_feet(turned, [chain for chain in _chains(branches) if turned.joints[chain[-1], 1] < low])
        votes = forward_votes(
            turned, [(foot, foot) for foot in feet], None, None if default_forward is None else turn[:3, :3] @ default_forward
        )
        ends = turned.joints[[chain[-1] for chain in _chains(branches)]]
        votes += _many_legs_votes(turned, ends, np.array([branch.reach for branch in branches]), low)
        ahead = ahead if votes >= 0 else -ahead
    return facing_matrix(ahead, centre), asymmetry, abs(votes)


def _whole_feet(body: RestGeometry, chains: list[list[int]]) -> list[list[int]]:
    """The outer halves of branches to the ground; heel and toes of a foot together."""
    out: list[list[int]] = []
    for chain in chains:
        tip, ends = body.joints[chain[-1]], body.joints[[foot[0] for foot in out]]
        same = (np.linalg.norm(ends - tip, axis=-1) < FOOT_LENGTH * body.size) & (ends[:, 2] * tip[2] > 0)
        if same.any():
            out[int(np.argmax(same))] += chain[-6:]
        else:
            out.append([chain[-1], *chain[-6:-1]])
    return out


def _many_legs_votes(body: RestGeometry, ends: Float[np.ndarray, "tip 3"], reach: Float[np.ndarray, " tip"], low: float) -> float:
    """Votes of bodies on four legs or more: what sticks out most above the ground are ears, horns and feelers, in front of
    the legs. Six legs or more carry most of the body behind them."""
    aside, grounded = np.abs(ends[:, 2]) > OFF_PLANE * body.size, ends[:, 1] < low
    long = aside & ~grounded & (reach > MIN_FEELER * body.size)
    feet, free, out = ends[aside & grounded, 0], ends[long, 0], reach[long]
    stances = 1 + int((np.diff(np.sort(feet)) > 0.08 * body.size).sum()) if len(feet) else 0
    if stances < 2 or np.ptp(feet) < 0.25 * body.size:  # heels and toes of two feet
        return 0.0
    votes = np.clip((free @ out / out.sum() - feet.mean()) / (0.1 * body.size), -1, 1) if len(free) else 0.0
    if stances > 2:
        votes *= 2
        votes += np.clip((feet.mean() - body.vertices[:, 0].mean()) / (0.03 * body.size), -1, 1)
    return float(votes)


def _chains(branches: list[Branch]) -> list[list[int]]:
    """Indices of a dozen joints of each branch in ``_rest_geometry``."""
    return [[1 + 12 * i + j for j in range(12)] for i in range(len(branches))]


def _rest_geometry(volume: Volume, branches: list[Branch]) -> RestGeometry:
    """The branches as a crude skeleton for the symmetry and facing analysis. Its skin are the outer voxels, so that the mesh's
    own vertex density does not matter."""
    joints = [branches[0].points[0]]
    parents = [-1]
    for branch in branches:
        for j, at in enumerate(np.linspace(0, len(branch.points) - 1, 13)[1:].astype(int)):
            parents.append(len(joints) - 1 if j else 0)
            joints.append(branch.points[at])
    skin = volume.centers[volume.depth < 1.5 * volume.step]
    owner = cKDTree(np.array(joints)).query(skin)[1]
    return RestGeometry(tuple(f"j{i}" for i in range(len(joints))), np.array(parents), np.array(joints), skin, owner)


def _doubts(layout: Layout, joints: JointList, asymmetry: float, sure: float) -> list[str]:
    """What a user should look at."""
    out = []
    if asymmetry > MAX_SURE_ASYMMETRY:
        out.append(f"The mesh is not symmetric (mean error {asymmetry:.1%} of its size), so limbs may be paired wrongly.")
    if sure < 0.3:
        out.append("Front and back look alike: check the facing, and give it with --forward if it is wrong.")
    if not any(pair.is_leg for pair in layout.pairs):
        out.append("No legs were found.")
    if not 15 <= len(joints.names) <= 60:
        out.append(f"{len(joints.names)} joints are unusual: check the skeleton, or name a template.")
    return out
