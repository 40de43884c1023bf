"""Which joints are a leg, an arm, a fin, a tail: found from rest geometry, tree, symmetry and clips; names break ties.

The body stands in stage axes here (Y up, +X forward, +Z right), at any scale. Legs carry the body: their ends are its
lowest points and they come in mirrored pairs. A body that lies in the water has short paired plates at its sides
instead, and nothing that lifts it.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.spatial import cKDTree

from akd.character.symmetry import ClipPaths, RestGeometry, says
from akd.skeleton import Kind, Limb, Side

MAX_STANDING_GAP = 0.04  # a limb whose end comes this near to the ground [body heights] stands on it
MAX_NAMED_GAP = 0.2  # up to here, names may call it a leg
MAX_SIBLING_GAP = 0.25  # … and up to here [its own length] it is one if it is as long as a leg that stands
MAX_HANGING_SKIN = 0.15  # how far skin of the trunk may hang below the feet (capes, tails) [body heights]
MAX_INNER_SKIN = 0.08  # … and that of a leg's inner half (trousers) below its outer half [body heights]
MIN_LIMB_LENGTH = 0.07  # side branches shorter than this [body size] are no limbs of their own …
MIN_SHORT_LIMB_LENGTH = 0.15  # … nor are those of one or two joints that are shorter than this
MIN_OFF_PLANE = 0.02  # a branch without partner belongs to a side if it is this far from the plane [body size]
MAX_STEM = 0.35  # limbs may share a girdle that is shorter than this [limb lengths]
# A swimmer, chosen on 77 characters: fins drop by 0 to 0.6 of their length and legs by 0.8 to 1, fins begin at 0.05 to 0.18
# body lengths and legs at 0.2 to 0.4, the belly is 0 to 0.2 body heights above fins and 0.2 to 0.5 above feet.
MIN_SWIMMER_LENGTH = 1.1  # how long it is [body heights]
MIN_AXIS_SLOPE, MIN_AXIS_LENGTH = 1.5, 0.3  # run of its middle joints over their rise, and over the body's length
MAX_FIN_DROP = 0.7  # how far a fin points down [1: straight]
MAX_FIN_HEIGHT = 0.2  # how high a fin begins above the lowest point [body lengths]
MAX_BELLY_GAP = 0.1  # how far fins reach below the belly [body heights]
MAX_FIN_SWING, MIN_WING_SWING = 0.4, 0.8  # how far the end of a fin moves in clips at most, and of a wing at least [its length]
MAX_FIN_LENGTH = 0.4  # longer ones are wings or arms [body lengths]
MIN_HEAD_GAIN = 0.1  # a path is followed to its end only if this leads forwards or up [body size]
MIN_TRUNK_SKIN = 0.1  # a head has a trunk before it with at least this share of its skin
MIN_TAIL_LENGTH = 0.15  # a chain behind the body that is longer than this [body size] is a tail, however thick


def find_legs(body: RestGeometry, partner: Int[np.ndarray, " joint"], paths: ClipPaths | None = None) -> list[int]:
    """The top joints of the legs. Does not depend on which way is forward."""
    pairs = [_Branch.at(body, top) for top in side_roots(body, partner) if partner[top] != top]
    standing = _standing(body, partner, pairs)
    return [] if _swims(body, partner, pairs, standing, paths) else sorted(branch.top for branch in standing)


class _Branch(NamedTuple):
    """A part of the body that leaves the symmetry plane."""

    top: int
    joints: Int[np.ndarray, " some"]
    length: float
    """From the first joint to the farthest joint or bone end."""
    low: float
    """Height of the lowest point of its outer half."""
    lowest: float
    """Height of its lowest point."""

    @classmethod
    def at(cls, body: RestGeometry, top: int) -> "_Branch":
        joints = body.subtree(top)
        reach = np.linalg.norm(body.tails[joints] - body.joints[top], axis=-1)
        length = max(float(reach.max()), float(np.linalg.norm(body.joints[joints] - body.joints[top], axis=-1).max()))
        far = joints[reach >= 0.5 * length]
        outer = body.skin(far if len(far) else joints)
        return cls(top, joints, length, float(outer[:, 1].min()), float(body.skin(joints)[:, 1].min()))


def side_roots(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> list[int]:
    """The first joint of every limb off the symmetry plane; legs that share a girdle bone count one by one."""
    return [part for top in _leaving_plane(body, partner) for part in _split_girdle(body, top)]


def _leaving_plane(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> list[int]:
    """The first joint of every branch that leaves the symmetry plane."""
    aside = np.zeros(len(body.parents), bool)
    # Both must be off: a sword in one hand moves the mean of the skin, a carelessly placed bone that of the joints.
    middle = _middle(body, partner)
    off = np.minimum(np.abs(body.centres[:, 2] - middle), np.abs(body.skin_centres[:, 2] - middle)) > MIN_OFF_PLANE * body.size
    off &= ~_carries_pair(body, partner)
    out = []
    for joint in range(1, len(body.parents)):
        above = body.parents[joint]
        aside[joint] = aside[above] or partner[joint] != joint or off[joint]
        if aside[joint] and not aside[above]:
            out.append(joint)
    return out


def _middle(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> Float[np.ndarray, " joint"]:
    """Where the middle of the body is at each joint [z]: between the last pair above it or beside it, else at the plane. The
    neck and head of a body that leans to its side at rest are between its shoulders."""
    out = np.zeros(len(partner))
    for joint, children in enumerate(body.children):
        paired = [child for child in children if partner[child] != child]
        out[list(children)] = body.joints[paired, 2].mean() if paired else out[joint]
    return out


def _carries_pair(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> Bool[np.ndarray, " joint"]:
    """Whether a mirrored pair hangs on a joint or below it, one on each side: such a part is in the middle."""
    out = np.zeros(len(partner), bool)
    pairs = np.flatnonzero((partner != np.arange(len(partner))) & (body.centres[:, 2] * body.centres[partner, 2] < 0))
    out[body.parents[pairs]] = partner[body.parents[pairs]] == body.parents[pairs]
    for joint in range(len(partner) - 1, 0, -1):
        out[body.parents[joint]] |= out[joint]
    return out


def _split_girdle(body: RestGeometry, top: int) -> list[int]:
    """The legs that hang from one short bone on a side, as spiders' may; else the branch as it is."""
    stem = top
    while len(body.children[stem]) == 1:
        stem = body.children[stem][0]
    if not body.children[stem]:
        return [top]
    whole = _Branch.at(body, top).length
    parts = [_Branch.at(body, child) for child in body.children[stem]]
    legs = [p for p in parts if p.length > 0.5 * whole and p.low - body.low < MAX_NAMED_GAP * body.height]
    if len(legs) < 2 or np.linalg.norm(body.joints[stem] - body.joints[top]) > MAX_STEM * min(p.length for p in legs):
        return [top]
    ends = np.array([body.tails[_tip(body, p.top)] for p in legs])
    apart = np.linalg.norm(ends[:, None] - ends, axis=-1)[np.triu_indices(len(ends), 1)]
    if apart.min() < MAX_STEM * min(p.length for p in legs):
        return [top]
    return [part for p in legs for part in _split_girdle(body, p.top)]


def _standing(body: RestGeometry, partner: Int[np.ndarray, " joint"], pairs: list[_Branch]) -> list[_Branch]:
    """The paired branches whose ends are on the ground, which is where the lowest of them is."""
    low = {branch.top: branch.low for branch in pairs if branch.low - branch.lowest < MAX_INNER_SKIN * body.height}
    both = [top for top in low if int(partner[top]) in low]
    level = {top: max(low[top], low[int(partner[top])]) for top in both}  # one of a pair may hold a sword
    ground = min(level.values(), default=0.0)
    if ground - body.skin(_centre(body, partner))[:, 1].min() > MAX_HANGING_SKIN * body.height:
        return []
    gap = {top: level[top] - ground for top in level}
    pairs = [branch for branch in pairs if branch.top in gap]
    out = [branch for branch in pairs if _stands(body, branch, gap[branch.top] / body.height)]
    if len(out) < 4:
        return out
    shortest, longest = min(x.length for x in out), max(x.length for x in out)
    tops = {x.top for x in out}  # of many legs, some may be lifted at rest
    lifted = [x for x in pairs if x.top not in tops and gap[x.top] < MAX_SIBLING_GAP * x.length]
    return out + [x for x in lifted if 0.5 * shortest < x.length < 2 * longest]


def _stands(body: RestGeometry, branch: _Branch, gap: float) -> bool:
    """Whether a branch is a leg, by the height of its end above the ground [body heights]."""
    if gap < MAX_STANDING_GAP:
        return True
    called = [body.names[j] for j in branch.joints]
    votes = sum(says(name, "leg") - says(name, "arm") - says(name, "wing") for name in called)
    return gap < MAX_NAMED_GAP and votes > 0


def _swims(
    body: RestGeometry,
    partner: Int[np.ndarray, " joint"],
    pairs: list[_Branch],
    standing: list[_Branch],
    paths: ClipPaths | None,
) -> bool:
    """Whether the paired branches are fins: a body along a horizontal axis, whose branches do not lift it.

    Signs are that they point sideways, begin low for the body's length, reach hardly below the belly, and hardly move in
    the clips. Two pairs that stand are fins only if the clips show it as well: lizards are low, too.
    """
    length, height, _ = np.ptp(body.points, axis=0)
    axis = np.ptp(body.joints[_centre(body, partner)], axis=0)
    lies = axis[0] > MIN_AXIS_SLOPE * axis[1] and axis[0] > MIN_AXIS_LENGTH * length and length > MIN_SWIMMER_LENGTH * height
    carriers = standing or pairs
    if not lies or not carriers or len(standing) > 4:
        return False
    ends = [(body.tails[_tip(body, branch.top)] - body.joints[branch.top], branch) for branch in carriers]
    drop = np.mean([-end[1] / max(float(np.linalg.norm(end)), 1e-12) for end, _ in ends])
    top = np.mean([body.joints[branch.top, 1] for branch in carriers]) - body.low
    limbs = np.concatenate([body.vertices_of(branch.joints) for branch in pairs])
    rest = np.delete(body.vertices[:, 1], limbs)
    belly = (rest.min() if len(rest) else body.joints[0, 1]) - body.low
    swing = _swing(body, carriers, paths)
    still, flaps = swing < MAX_FIN_SWING, MIN_WING_SWING < swing < np.inf
    low = not standing or top < MAX_FIN_HEIGHT * length  # what does not stand may begin anywhere
    signs = (drop < MAX_FIN_DROP, low, belly < MAX_BELLY_GAP * height, still)
    return sum(map(bool, signs)) >= 3 and (still or len(standing) <= 2) and not flaps


def _swing(body: RestGeometry, branches: list[_Branch], paths: ClipPaths | None) -> float:
    """How far the ends of the branches move about their first joints in any clip [their lengths]; infinite if unknown."""
    long = [branch for branch in branches if branch.length > 0]
    if paths is None or not long:
        return np.inf
    ends = [(paths.tails[:, :, _tip(body, x.top)] - paths.heads[:, :, x.top]) / x.length for x in long]
    return float(np.linalg.norm(np.ptp(np.stack(ends, 2), axis=1), axis=-1).max())


def label_limbs(body: RestGeometry, partner: Int[np.ndarray, " joint"], paths: ClipPaths | None = None) -> tuple[Limb, ...]:
    """Give every joint its limb."""
    tops = side_roots(body, partner)
    pairs = [_Branch.at(body, top) for top in tops if partner[top] != top]
    standing = _standing(body, partner, pairs)
    swims = _swims(body, partner, pairs, standing, paths)
    legs = [] if swims else sorted(branch.top for branch in standing)
    path = _head_path(body, partner)
    branches = [j for j in tops if j not in set(legs)]
    head = _head_start(body, path)
    place = {j: _attachment(body, path, j) for j in [*legs, *branches]}
    near = _nearest_skin(body, path, branches)  # ears sit in the head's skin, wherever their tree begins
    on_head = {j for j in branches if _is_on_head(body, path, head, j, max(place[j], near[j]), swims)}
    on_head = {j for j in on_head if partner[j] in on_head}
    limbs = [j for j in branches if j not in on_head and _is_long_enough(body, j, swims)]
    # The trunk reaches to where the foremost limb is attached; between it and the head is the neck.
    trunk = min(max((place[j] for j in [*legs, *limbs]), default=0), head - 1)

    found: list[tuple[Kind, int]] = [("leg", j) for j in legs] + [(_side_kind(body, j, swims), j) for j in limbs]
    found += [("tail", j) for j in _tails(body, partner, path, {*legs, *limbs})]
    taken = {int(j) for _, top in found for j in body.subtree(top)}
    in_head = ({int(j) for j in body.subtree(path[head])} if head < len(path) else set()) - taken
    in_head |= {int(j) for top in on_head for j in body.subtree(top)} - taken
    neck = set(path[trunk + 1 : head]) - taken - in_head
    neck |= {int(j) for top in branches if near[top] > trunk and top not in limbs for j in body.subtree(top)} - taken - in_head
    spine = set(range(len(body.parents))) - taken - in_head - neck
    middle: list[tuple[Kind, set[int]]] = [("neck", neck), ("head", in_head), ("spine", spine)]
    limbs_of_middle = (Limb(kind, "C", 0, tuple(sorted(js)), _last(path, js)) for kind, js in middle if js)
    return (*_ordered(body, found), *limbs_of_middle)


def _is_long_enough(body: RestGeometry, top: int, swims: bool) -> bool:
    branch = _Branch.at(body, top)
    return branch.length > (MIN_LIMB_LENGTH if swims or len(branch.joints) > 2 else MIN_SHORT_LIMB_LENGTH) * body.size


def _is_on_head(body: RestGeometry, path: list[int], head: int, top: int, place: int, swims: bool) -> bool:
    """Whether a branch sits on the head: by the tree; or if its skin lies beyond the head's joint, or rises from there as
    horns do. Arms begin in the skin of a large head, too, but lie below its joint."""
    above = int(body.parents[top])
    if head >= len(path) or place < head:
        return False
    joint, below, middle = body.joints[path[head]], body.joints[path[max(head - 1, 0)]], body.skin_centres[path[head]]
    if swims:  # the head's bone may be half of a fish, with fins behind the middle of it
        return bool((body.skin_centres[top] - middle) @ (middle - below) > 0)
    if (above in path and path.index(above) >= head) or (body.skin_centres[top] - joint) @ (middle - below) > 0:
        return True
    out = body.skin_centres[top] - body.joints[top]
    begins_there = (body.joints[top] - below) @ (joint - below) > 0.9 * (joint - below) @ (joint - below)
    return bool(begins_there and out[1] > 0.5 * np.linalg.norm(out))


def _ordered(body: RestGeometry, found: list[tuple[Kind, int]]) -> list[Limb]:
    """Limbs of each kind and side, counted from the front by where they begin and end."""
    out = []
    for kind in dict.fromkeys(kind for kind, _ in found):
        sides: dict[Side, list[tuple[float, int, int]]] = {}
        for _, top in (x for x in found if x[0] == kind):
            tip = _tip(body, top)
            side: Side = "C" if kind == "tail" else ("R" if body.centres[top, 2] > 0 else "L")
            sides.setdefault(side, []).append((-float(body.joints[top, 0] + body.tails[tip, 0]), top, tip))
        for side, limbs in sides.items():
            for order, (_, top, tip) in enumerate(sorted(limbs)):
                out.append(Limb(kind, side, order, tuple(int(j) for j in body.subtree(top)), tip))
    return out


def _centre(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> list[int]:
    """The joints on the symmetry plane, parents first."""
    aside = set(_leaving_plane(body, partner))
    inside = np.zeros(len(body.parents), bool)
    inside[0] = True
    for joint in range(1, len(body.parents)):
        inside[joint] = joint not in aside and inside[body.parents[joint]]
    return np.flatnonzero(inside).tolist()


def _head_path(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> list[int]:
    """The joints on the symmetry plane from the root to the head: the end that is foremost and highest.

    Where no end is in front of or above what leads to it (a fish whose chain runs from its head to its tail), the path
    ends at the joint whose skin is.
    """
    centre = _centre(body, partner)
    inside = set(centre)
    ends = [j for j in centre if not any(c in inside for c in body.children[j])]

    called = np.zeros(len(body.parents), bool)
    for joint in centre[1:]:
        called[joint] = called[body.parents[joint]] or says(body.names[joint], "head")

    def merit(joint: int) -> float:
        tip = body.tails[joint] - body.joints[0]
        return float(tip[0] + tip[1]) / body.size + called[joint] - 0.5 * says(body.names[joint], "tail")

    path = body.path_to(max(ends, key=merit))
    if called[path[-1]]:
        return path
    gain = [float(body.skin([j])[:, :2].sum(1).max()) for j in path]
    foremost = int(np.argmax(gain))
    backwards = body.tails[path[-1], 0] < body.joints[path[foremost], 0] - MIN_HEAD_GAIN * body.size
    return path[: foremost + 1] if backwards and gain[foremost] > gain[-1] + MIN_HEAD_GAIN * body.size else path


def _head_start(body: RestGeometry, path: list[int]) -> int:
    """Where on the path the head begins: the first joint called so, else the one with most skin near the end.

    A body of one part has no head: then this is the path's length.
    """
    for place, joint in enumerate(path):
        if place and says(body.names[joint], "head"):
            return place
    if len(path) < 2:
        return len(path)
    skin = [len(body.vertices_of([joint])) for joint in path]
    last = len(path) - 1
    head = last - 1 if last > 1 and skin[last - 1] > 3 * skin[last] else last
    return head if sum(skin[:head]) >= MIN_TRUNK_SKIN * sum(skin[head:]) else len(path)


def _attachment(body: RestGeometry, path: list[int], joint: int) -> int:
    """The place on the path whose bone is nearest to where a branch begins: trees lie (arms may hang off the hips).

    But a branch never begins before its parent in the tree.
    """
    starts = body.joints[path]
    along = np.concatenate((starts[1:], body.tails[path[-1:]])) - starts
    from_start = body.joints[joint] - starts
    u = np.clip((from_start * along).sum(-1) / np.maximum((along * along).sum(-1), 1e-18), 0, 1)
    distances = np.linalg.norm(from_start - u[:, None] * along, axis=-1)
    above = int(body.parents[joint])
    return max(int(np.argmin(distances)), path.index(above) if above in path else 0)


def _nearest_skin(body: RestGeometry, path: list[int], tops: list[int]) -> dict[int, int]:
    """The place on the path whose skin is nearest to where each branch begins; the first of several that are as near."""
    if not tops:
        return {}
    skins = [body.skin([joint]) for joint in path]
    place = np.repeat(np.arange(len(path)), [len(skin) for skin in skins])
    tree = cKDTree(np.concatenate(skins))
    distance, _ = tree.query(body.joints[tops])
    same = tree.query_ball_point(body.joints[tops], distance * (1 + 1e-9) + 1e-12 * body.size)
    return {top: int(place[points].min()) for top, points in zip(tops, same, strict=True)}


def _tails(body: RestGeometry, partner: Int[np.ndarray, " joint"], path: list[int], limbs: set[int]) -> list[int]:
    """Chains in the symmetry plane that run backwards, behind all limbs, and are longer than thick."""
    out = []
    centre, on_path = set(_centre(body, partner)), set(path)
    carries = np.zeros(len(body.parents), bool)
    for joint in range(len(body.parents) - 1, 0, -1):
        carries[body.parents[joint]] |= carries[joint] or joint in limbs
    waiting = [(joint, top) for joint in path for top in body.children[joint]]
    while waiting:
        joint, top = waiting.pop()
        if top in on_path or top not in centre:
            continue
        if carries[top]:  # fins hang off this part of the trunk; the tail begins further down
            waiting += [(top, child) for child in body.children[top]]
            continue
        tip = _tip(body, top)
        reach = float(np.linalg.norm(body.tails[tip] - body.joints[top]))
        skin = body.skin(body.subtree(top))
        thick = np.ptp(skin[:, 2]) if len(skin) > 1 else 0.0
        back, rise = body.joints[joint, 0] - body.tails[tip, 0], body.joints[tip, 1] - body.joints[joint, 1]
        backwards = back > max(0.05 * body.size, 0.2 * reach, 0.3 * rise) or says(body.names[top], "tail")
        thin = reach > 1.2 * thick or (tip != top and reach > MIN_TAIL_LENGTH * body.size)
        if backwards and thin and reach > MIN_LIMB_LENGTH * body.size:
            out.append(top)
    return out


def _side_kind(body: RestGeometry, top: int, swims: bool) -> Kind:
    """The kind of a side branch that is no leg: short ones of a swimmer are fins, broad and thin ones wings, else arms."""
    branch = _Branch.at(body, top)
    if swims and branch.length < MAX_FIN_LENGTH * np.ptp(body.points[:, 0]):
        return "fin"
    if any(says(body.names[j], "wing") for j in branch.joints):
        return "wing"
    skin = body.skin(branch.joints)
    if len(skin) < 8:
        return "arm"
    length, breadth, thickness = np.linalg.svd(skin - skin.mean(0), compute_uv=False) / np.sqrt(len(skin))
    return "wing" if breadth > 0.4 * length and thickness < 0.2 * breadth else "arm"


def _tip(body: RestGeometry, top: int) -> int:
    """Down the main chain, at a fork to the child that goes on furthest in its direction, until it ends or spreads."""
    joint = top
    while 0 < len(children := body.children[joint]) <= 2:
        along = body.tails[joint] - body.joints[top]
        joint = max(children, key=lambda child: float(body.tails[child] @ along))
    return int(joint)


def limb_tip(body: RestGeometry, joints: tuple[int, ...]) -> int:
    """The end of the main chain of a limb's joints."""
    tip = _tip(body, joints[0])
    return tip if tip in joints else joints[-1]


def _last(path: list[int], joints: set[int]) -> int:
    on_path = [j for j in path if j in joints]
    return on_path[-1] if on_path else max(joints)
