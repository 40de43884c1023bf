"""Turn what a file holds into a rig on the stage: control skeleton, facing, limbs, size."""

from collections import Counter

import numpy as np
from jaxtyping import Float, Int

from akd.character.control import control_tree, every_bone
from akd.character.facing import facing_matrix, forward_votes
from akd.character.humanoid import humanoid_labels
from akd.character.limbs import find_legs, label_limbs, limb_tip
from akd.character.symmetry import ClipPaths, RestGeometry, mirror_partners, symmetry_plane, with_mirrored_tree
from akd.errors import AkdError
from akd.files.labels_json import LabelFile, NamedLimb
from akd.rig import FileRig, Origin, Rig
from akd.skeleton import Limb, Skeleton, bone_frames

PLAUSIBLE_LEG = (0.02, 3.6)  # metres, from a rat's to a sauropod's
UNITS = {1.0: "metres", 0.1: "decimetres", 0.01: "centimetres", 0.001: "millimetres"}
USUAL_LEG = 0.8  # metres: of the plausible units, the one that brings a leg nearest to this is taken
PATH_CLIPS, PATH_FRAMES = 12, 16  # clips, and frames of each, that are sampled as evidence
SOLE_THICKNESS = 0.05  # how far above a foot's lowest point its sole reaches [ℓ]
ROWS = 1024  # of the table of weights, handled at a time
SAME = 1e-6  # facing and relative height that differ by less from what was found are what was found
Labels = tuple[tuple[Limb, ...], Int[np.ndarray, " joint"]]


def build_rig(
    file: FileRig, *, forward: Float[np.ndarray, " 3"] | None = None, height: float | None = None, labels: Labels | None = None,
    corrections: LabelFile | None = None,
) -> Rig:  # fmt: skip
    """Put a file's rig on the stage.

    ``forward`` is the facing direction in the file's axes and ``height`` the height in metres; both override what would
    be found. ``labels`` are limbs and mirror partners of a skeleton that is labelled already: then every bone is a joint.
    ``corrections`` are a user's labels, facing and height; ``forward`` and ``height`` come before them.
    """
    if not file.names:
        raise AkdError(f"{_called(file)} has no bones: rig it first.")
    tree = control_tree(file) if labels is None else every_bone(file)
    weights = _gather_weights(file, tree.joint_of_bone, len(tree.bones))
    names = tuple(file.names[b] for b in tree.bones)
    body = RestGeometry(names, tree.parents, file.rest[tree.bones, :3, 3], file.mesh.vertices, weights.argmax(1))
    paths = _clip_paths(file, tree.bones, body)
    if corrections is None and labels is None:
        corrections = humanoid_labels(file, body)
    if corrections is not None:
        facing = None if corrections.facing is None else np.array(corrections.facing)
        forward, height = facing if forward is None else forward, corrections.height if height is None else height
    T_stage_file, asymmetry = _turn(body, paths, file.forward, forward)
    body = with_mirrored_tree(body.moved(T_stage_file))
    partner = mirror_partners(body) if labels is None else labels[1]
    if corrections is not None and corrections.limbs and labels is None:
        limbs = _corrected_limbs(body, corrections)
    else:
        limbs = label_limbs(body, partner, paths) if labels is None else labels[0]
    T_fit = _stand_on_ground(body, limbs)
    T_stage_file = T_fit @ T_stage_file
    body = body.moved(T_fit)
    frames = bone_frames(body.parents, body.joints, body.tails)
    skeleton = Skeleton(names, tree.parents, body.joints, body.tails, frames, limbs, partner)
    T_file_stage = np.linalg.inv(T_stage_file)
    leg_metres, size_note = _leg_metres(file, float(np.cbrt(np.linalg.det(T_file_stage[:3, :3]))), body, height)
    notes = (*file.notes, *tree.notes, *size_note)
    if asymmetry > 0.02:
        notes += (f"The rest pose is not symmetric (mean error {asymmetry:.1%} of its size): check left and right.",)
    return Rig(
        mesh=file.mesh.transformed(T_stage_file),
        skeleton=skeleton,
        weights=weights,
        soles=tuple(_sole(body, leg) for leg in skeleton.limbs_of("leg")),
        leg_metres=leg_metres,
        name=file.path.stem if file.path else "character",
        origin=Origin(file, T_file_stage, tree.joint_of_bone, tree.bones),
        notes=notes,
    )


def _gather_weights(file: FileRig, joint_of_bone: Int[np.ndarray, " bone"], joints: int) -> Float[np.ndarray, "vertex joint"]:
    """Skin weights of the joints: those of all bones that move with them."""
    moving = np.flatnonzero(joint_of_bone >= 0)
    _, first = np.unique(joint_of_bone[moving], return_index=True)  # every joint has a bone
    out = np.empty((file.mesh.vertex_count, joints), np.float32)
    for row in range(0, len(out), ROWS):  # no second table of doubles
        out[row : row + ROWS] = file.weights[row : row + ROWS][:, moving[first]]
    for bone in np.delete(moving, first):
        out[:, joint_of_bone[bone]] += file.weights[:, bone]
    return out


def _clip_paths(file: FileRig, bones: Int[np.ndarray, " joint"], body: RestGeometry) -> ClipPaths | None:
    """Where joints and bone ends are in a sample of the clips, in the file's axes."""
    if not file.clips or file.sample is None:
        return None
    chosen = file.clips[:: max(1, len(file.clips) // PATH_CLIPS)]
    ends = np.einsum("jab,jb->ja", np.linalg.inv(file.rest[bones]), np.append(body.tails, np.ones((len(bones), 1)), 1))
    heads, tails = [], []
    for clip in chosen:
        world = file.sample(clip.name, np.linspace(0, clip.duration, PATH_FRAMES))[:, bones, :3]
        heads.append(world[..., 3].copy())
        tails.append(np.einsum("fjab,jb->fja", world, ends))
    return ClipPaths(np.stack(heads), np.stack(tails))


def _turn(
    body: RestGeometry,
    paths: ClipPaths | None,
    prescribed: Float[np.ndarray, " 3"] | None,
    given: Float[np.ndarray, " 3"] | None,
) -> tuple[Float[np.ndarray, "4 4"], float]:
    """The rotation that makes the body face +X with its symmetry plane at z = 0."""
    normal, centre, asymmetry = symmetry_plane(body)
    ahead = np.cross((0.0, 1.0, 0.0), normal)
    if given is not None:
        wanted = np.array([given[0], 0.0, given[2]]) / max(np.hypot(given[0], given[2]), 1e-12)
        found = ahead * (1.0 if wanted @ ahead > 0 else -1.0)  # a direction that was written down is the same up to rounding
        return facing_matrix(found if np.abs(wanted - found).max() < SAME else wanted, centre), asymmetry
    turned = with_mirrored_tree(body.moved(facing_matrix(ahead, centre)))
    partner = mirror_partners(turned)
    legs = [leg for leg in find_legs(turned, partner, paths) if leg < partner[leg]]
    pairs = [(turned.subtree(leg).tolist(), turned.subtree(int(partner[leg])).tolist()) for leg in legs]
    turn = facing_matrix(ahead, centre)[:3, :3]
    hint = turn @ prescribed if prescribed is not None else None
    sign = 1.0 if forward_votes(turned, pairs, None if paths is None else paths.turned(turn), hint) >= 0 else -1.0
    return facing_matrix(sign * ahead, centre), asymmetry


def _stand_on_ground(body: RestGeometry, limbs: tuple[Limb, ...]) -> Float[np.ndarray, "4 4"]:
    """Scale to ℓ = 1, ground at y = 0, and the middle between the feet (or the body's) at x = 0."""
    legs = [np.array(limb.joints) for limb in limbs if limb.kind == "leg"]
    if legs:
        ground = min(float(body.skin(leg)[:, 1].min()) for leg in legs)
        length = float(np.median([body.joints[leg[0], 1] for leg in legs])) - ground
    if not legs or length < 0.02 * body.height:
        ground, length = float(body.points[:, 1].min()), body.height / 2
    scale = 1.0 / length
    out = np.diag([scale, scale, scale, 1.0])
    out[:3, 3] = -scale * np.array([body.joints[0, 0], ground, 0.0])
    return out


def _sole(body: RestGeometry, leg: Limb) -> Int[np.ndarray, " sole"]:
    """The vertices of a leg that are on the ground at rest, or nearest to it."""
    own = body.vertices_of(list(leg.joints))
    heights = body.vertices[own, 1]
    return own[heights < heights.min(initial=np.inf) + SOLE_THICKNESS]


def _leg_metres(file: FileRig, units: float, body: RestGeometry, height: float | None) -> tuple[float, tuple[str, ...]]:
    """How many metres one leg length is: by the given height, the file's unit, or the most plausible unit; with a note."""
    found, notes = _plausible_leg(units * file.metres)
    if height is None or abs(height - found * body.height) < SAME * height:
        return found, notes
    return height / body.height, ()


def _plausible_leg(written: float) -> tuple[float, tuple[str, ...]]:
    """A leg's length in metres as written in the file, or in the unit that makes it plausible, with a note."""
    if PLAUSIBLE_LEG[0] <= written <= PLAUSIBLE_LEG[1]:
        return written, ()
    unit = min(UNITS, key=lambda u: abs(np.log(max(written * u, 1e-30) / USUAL_LEG)))
    if PLAUSIBLE_LEG[0] <= written * unit <= PLAUSIBLE_LEG[1]:
        note = f"A leg of {written:.3g} m is not plausible, so lengths are taken as {UNITS[unit]}: {written * unit:.3g} m."
        return written * unit, (note,)
    return USUAL_LEG, (f"A leg of {written:.3g} m is not plausible, so {USUAL_LEG} m is assumed; give the height if not.",)


def named_labels(rig: Rig) -> LabelFile:
    """The rig's limbs, facing and height as the label file beside its own file holds them."""
    if rig.origin is None:
        raise AkdError(f"{rig.name} was not read from a file, so it has no place for labels.")
    return labels_facing(rig, rig.origin.T_file_stage[:3, 0])


def labels_facing(rig: Rig, ahead: Float[np.ndarray, " 3"]) -> LabelFile:
    """The same for a file in which the rig faces ``ahead``. Limbs that leave out a joint are left to be found as ever."""
    names = rig.skeleton.names
    facing = np.round(ahead / np.linalg.norm(ahead), 9) + 0.0
    height = np.ptp(np.append(rig.mesh.vertices, rig.skeleton.positions, 0)[:, 1]) * rig.leg_metres
    limbs = [
        NamedLimb(limb.kind, limb.side, limb.order, tuple(names[j] for j in limb.joints), names[limb.tip])
        for limb in rig.skeleton.limbs
    ]
    if sorted(j for limb in rig.skeleton.limbs for j in limb.joints) != list(range(rig.skeleton.joint_count)):
        limbs = []
    return LabelFile("", tuple(limbs), (float(facing[0]), float(facing[1]), float(facing[2])), float(f"{height:.9g}"))


def _corrected_limbs(body: RestGeometry, labels: LabelFile) -> tuple[Limb, ...]:
    """The limbs of a label file on this body's joints."""
    place = {name: joint for joint, name in enumerate(body.names)}
    out: list[Limb] = []
    titles: set[str] = set()
    for limb in labels.limbs:
        title = f"{limb.kind}_{limb.side}{limb.order}"
        if (unknown := next((name for name in limb.joints if name not in place), None)) is not None:
            raise AkdError(f"{labels.name}: {title} has a joint {unknown!r}, which is none of the character's; see akd inspect.")
        if title in titles:
            raise AkdError(f"{labels.name} has two limbs {title}: give one of them another order.")
        titles.add(title)
        inside = {place[name] for name in limb.joints}
        joints = tuple(sorted(inside))
        tops = [j for j in joints if body.parents[j] not in inside]
        if limb.kind not in ("spine", "neck", "head") and len(tops) > 1:
            first, second = (body.names[j] for j in tops[:2])
            raise AkdError(f"{labels.name}: {title} is not one chain: {first!r} and {second!r} do not hang together; split it.")
        out.append(Limb(limb.kind, limb.side, limb.order, joints, place[limb.tip] if limb.tip else limb_tip(body, joints)))
    times_seen = Counter(place[name] for limb in labels.limbs for name in limb.joints)
    for joint, name in enumerate(body.names):
        if (times := times_seen[joint]) != 1:
            raise AkdError(f"{labels.name}: joint {name!r} is in {times or 'no'} limbs: put it into one, such as the spine.")
    return tuple(out)


def _called(file: FileRig) -> str:
    return file.path.name if file.path else "The file"
