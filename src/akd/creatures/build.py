"""A finished rig from a body plan and a seed."""

from collections import Counter

import numpy as np

from akd.creatures.body import CreatureBody, Individual, Joint, place_body, sample_individual
from akd.creatures.plan import Plan
from akd.creatures.plans import PLANS
from akd.creatures.skin import skin_weights, vertex_colors
from akd.creatures.surface import evaluate, extract_surface
from akd.errors import AkdError
from akd.mesh import Mesh
from akd.rig import Rig
from akd.skeleton import Kind, Limb, Side, Skeleton

SIDES: tuple[tuple[str, Side, float], ...] = (("left", "L", -1.0), ("right", "R", 1.0))
SOLE_HEIGHT = 0.012
"""Vertices lower than this at rest belong to a sole [ℓ]."""


def creature(plan_name: str, seed: int = 0) -> Rig:
    """One individual of a plan: the same seed always gives the same bytes."""
    if plan_name not in PLANS:
        raise AkdError(f"There is no body plan {plan_name!r}; the plans are {', '.join(PLANS)}.")
    plan = PLANS[plan_name]
    return build(plan, sample_individual(plan, seed))


def build(plan: Plan, individual: Individual) -> Rig:
    """The rig of an individual."""
    body = place_body(plan, individual)
    skeleton = skeleton_of(body)
    tubes = tuple(tube for tube in body.tubes if tube.chain.solid)
    decals = tuple(tube for tube in body.tubes if not tube.chain.solid)
    surface, field = extract_surface(tubes, decals)
    _, cone = evaluate(field, surface.half)
    section = np.arange(len(field.tube)) - field.first_cone[field.tube]
    owner = np.array([skeleton.index(_sided(tubes[t].owners[s], "right")) for t, s in zip(field.tube, section, strict=True)])
    weights = skin_weights(surface, owner[cone], skeleton)
    colors = vertex_colors(surface, tubes, cone, field.tube, section, decals, individual)
    mesh = Mesh(surface.vertices, surface.faces, colors)
    return Rig(mesh, skeleton, weights, _soles(mesh, skeleton, weights), body.leg_metres, plan.name)


def skeleton_of(body: CreatureBody) -> Skeleton:
    """Both sides of the body as one labelled tree, left before right."""
    entries = [entry for joint in body.joints for entry in _both_sides(joint)]
    index = {name: i for i, (name, *_) in enumerate(entries)}
    order = _parents_first([index.get(parent, -1) for _, parent, *_ in entries])
    entries = [entries[i] for i in order]
    index = {name: i for i, (name, *_) in enumerate(entries)}
    names = tuple(index)
    parents = np.array([index.get(parent, -1) for _, parent, *_ in entries])
    positions, tails = (np.array([entry[k] for entry in entries]) for k in (2, 3))
    mirror = np.array([index[_other_side(name)] for name in names])
    skeleton = Skeleton.from_joints(names, parents, positions, tails)
    return skeleton.labelled(_limbs(skeleton, [entry[4] for entry in entries]), mirror)


def _both_sides(joint: Joint) -> list[tuple[str, str, np.ndarray, np.ndarray, Joint]]:
    if "*" not in joint.name:
        return [(joint.name, joint.parent, joint.position, joint.tail, joint)]
    return [
        (_sided(joint.name, side), _sided(joint.parent, side), joint.position * (1, 1, sign), joint.tail * (1, 1, sign), joint)
        for side, _, sign in SIDES
    ]


def _sided(name: str, side: str) -> str:
    return name.replace("*", side)


def _other_side(name: str) -> str:
    """``left_foot`` ↔ ``right_foot``; names without a side stay."""
    swap = {"left": "right", "right": "left"}
    return "_".join(swap.get(word, word) for word in name.split("_"))


def _parents_first(parents: list[int]) -> list[int]:
    """A depth-first order, so that the joints of a limb follow one another."""
    order: list[int] = []

    def visit(joint: int) -> None:
        order.append(joint)
        for child, parent in enumerate(parents):
            if parent == joint:
                visit(child)

    visit(parents.index(-1))
    return order


def _limbs(skeleton: Skeleton, joints: list[Joint]) -> tuple[Limb, ...]:
    """Every chain with a kind begins a limb on each of its sides; chains without one belong to the limb they are attached to."""
    members: dict[int, list[int]] = {}
    first: dict[int, int] = {}
    for i, joint in enumerate(joints):
        parent = skeleton.parents[i]
        continues = parent >= 0 and (joint.chain.kind is None or joints[parent].chain is joint.chain)
        first[i] = first[int(parent)] if continues else i
        members.setdefault(first[i], []).append(i)
    limbs: list[Limb] = []
    counts: Counter[tuple[Kind, Side]] = Counter()
    for start in sorted(members, key=lambda i: -skeleton.positions[i, 0]):
        chain = joints[start].chain
        kind: Kind = chain.kind or "spine"
        side: Side = next((s for word, s, _ in SIDES if word in skeleton.names[start].split("_")), "C")
        tip = max(i for i in members[start] if joints[i].chain is chain)
        limbs.append(Limb(kind, side, counts[kind, side], tuple(members[start]), tip))
        counts[kind, side] += 1
    return tuple(limbs)


def _soles(mesh: Mesh, skeleton: Skeleton, weights: np.ndarray) -> tuple[np.ndarray, ...]:
    """For each leg, the vertices on the ground that its last two bones move most; never fewer than a patch of four."""
    strongest = weights.argmax(1)
    soles = []
    for leg in skeleton.limbs_of("leg"):
        own = np.flatnonzero(np.isin(strongest, leg.joints[-2:]))
        height = mesh.vertices[own, 1]
        soles.append(own[height <= max(SOLE_HEIGHT, np.sort(height)[3])])
    return tuple(soles)
