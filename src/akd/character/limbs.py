"""Which joints are a leg, an arm, a tail: found from rest geometry, tree and symmetry; names break ties.

The body stands in stage axes here (Y up, +X forward, +Z right), at any scale.
"""

import numpy as np
from jaxtyping import Int

from akd.character.symmetry import RestGeometry, says
from akd.skeleton import Kind, Limb, Side

ON_GROUND = 0.04  # a limb whose skin comes this near to the ground [body heights] stands on it
NEAR_GROUND = 0.2  # up to here, names may call it a leg
STUB = 0.07  # side branches shorter than this [body size] are no limbs of their own …
BUD = 0.15  # … nor are those of one or two joints that are shorter than this
OFF_PLANE = 0.02  # a branch without partner belongs to a side if it is this far from the plane [body size]


def side_roots(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> list[int]:
    """The first joint of every branch that leaves the symmetry plane."""
    aside = np.zeros(len(body.parents), bool)
    out = []
    for joint in range(1, len(body.parents)):
        off = abs(body.joints[body.subtree[joint], 2].mean()) > OFF_PLANE * body.size
        aside[joint] = aside[body.parents[joint]] or partner[joint] != joint or off
        if aside[joint] and not aside[body.parents[joint]]:
            out.append(joint)
    return out


def find_legs(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> list[int]:
    """The top joints of the legs: paired branches that stand on the ground."""
    roots = [j for j in side_roots(body, partner) if partner[j] != j]
    low = {j: float(body.skin(body.subtree[j])[:, 1].min()) for j in roots}
    ground = min(low.values(), default=0.0)
    return [j for j in roots if _stands(body, j, partner, (max(low[j], low[partner[j]]) - ground) / body.height)]


def _stands(body: RestGeometry, root: int, partner: Int[np.ndarray, " joint"], clearance: float) -> bool:
    if clearance < ON_GROUND:
        return True
    called = [body.names[j] for j in body.subtree[root]]
    votes = sum(says(name, "leg") - says(name, "arm") - says(name, "wing") for name in called)
    return clearance < NEAR_GROUND and votes > 0


def label_limbs(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> tuple[Limb, ...]:
    """Give every joint its limb."""
    legs = find_legs(body, partner)
    path = _head_path(body, partner)
    branches = [j for j in side_roots(body, partner) if j not in legs]
    head = _head_start(body, path)
    place = {j: _attachment(body, path, j) for j in [*legs, *branches]}
    near = {j: _nearest_skin(body, path, j) for j in branches}  # ears sit in the head's skin, wherever their tree begins
    long_enough = {j: _length(body, j) > (STUB if len(body.subtree[j]) > 2 else BUD) * body.size for j in branches}
    limbs = [j for j in branches if max(place[j], near[j]) < head and long_enough[j]]
    # The trunk reaches to where the foremost limb is attached; between it and the head is the neck.
    trunk = min(max((place[j] for j in [*legs, *limbs]), default=0), head - 1)

    found: list[tuple[Kind, int]] = [("leg", j) for j in legs] + [(_arm_or_wing(body, j), j) for j in limbs]
    found += [("tail", j) for j in _tails(body, partner, path, {*legs, *branches})]
    taken = {int(j) for _, top in found for j in body.subtree[top]}
    in_head = ({int(j) for j in body.subtree[path[head]]} if head < len(path) else set()) - taken
    in_head |= {int(j) for top in branches if top not in limbs and near[top] >= head for j in body.subtree[top]}
    neck = set(path[trunk + 1 : head]) - taken - in_head
    neck |= {int(j) for top in branches if near[top] > trunk for j in body.subtree[top]} - taken - in_head
    spine = set(range(len(body.parents))) - taken - in_head - neck
    tops = _ordered(body, found)
    middle: list[tuple[Kind, set[int]]] = [("neck", neck), ("head", in_head), ("spine", spine)]
    return (*tops, *(Limb(kind, "C", 0, tuple(sorted(js)), _last(path, js)) for kind, js in middle if js))


def _ordered(body: RestGeometry, found: list[tuple[Kind, int]]) -> list[Limb]:
    """Limbs of each kind and side, counted from the front by where they begin and end."""
    out = []
    for kind in dict.fromkeys(kind for kind, _ in found):
        sides: dict[Side, list[tuple[float, int, int]]] = {}
        for _, top in (x for x in found if x[0] == kind):
            tip = _tip(body, top)
            z = float(body.joints[body.subtree[top], 2].mean())
            side: Side = "C" if kind == "tail" else ("R" if z > 0 else "L")
            sides.setdefault(side, []).append((-float(body.joints[top, 0] + body.tails[tip, 0]), top, tip))
        for side, limbs in sides.items():
            for order, (_, top, tip) in enumerate(sorted(limbs)):
                out.append(Limb(kind, side, order, tuple(int(j) for j in body.subtree[top]), tip))
    return out


def _head_path(body: RestGeometry, partner: Int[np.ndarray, " joint"]) -> list[int]:
    """The joints on the symmetry plane from the root to the head: the end that is foremost and highest."""
    aside = set(side_roots(body, partner))
    centre = [0]
    for joint in range(1, len(body.parents)):
        if joint not in aside and int(body.parents[joint]) in centre:
            centre.append(joint)
    ends = [j for j in centre if not any(c in centre for c in body.children(j))]

    def merit(joint: int) -> float:
        tip = body.tails[joint] - body.joints[0]
        called = any(says(body.names[j], "head") for j in _path(body, joint))
        return float(tip[0] + tip[1]) / body.size + called - 0.5 * says(body.names[joint], "tail")

    return _path(body, max(ends, key=merit))


def _path(body: RestGeometry, joint: int) -> list[int]:
    out = [joint]
    while body.parents[out[0]] >= 0:
        out.insert(0, int(body.parents[out[0]]))
    return out


def _head_start(body: RestGeometry, path: list[int]) -> int:
    """Where on the path the head begins: the first joint called so, else the one with most skin near the end."""
    for place, joint in enumerate(path):
        if place and says(body.names[joint], "head"):
            return place
    if len(path) < 2:
        return len(path)
    skin = [int((body.owner == joint).sum()) for joint in path]
    last = len(path) - 1
    return last - 1 if last > 1 and skin[last - 1] > 3 * skin[last] else last


def _attachment(body: RestGeometry, path: list[int], joint: int) -> int:
    """The place on the path whose bone is nearest to where a branch begins: trees lie (arms may hang off the hips).

    But a branch never begins before its parent in the tree.
    """
    ends = [body.joints[b] for b in path[1:]] + [body.tails[path[-1]]]
    distances = []
    for a, end in zip(path, ends, strict=True):
        along = end - body.joints[a]
        u = np.clip((body.joints[joint] - body.joints[a]) @ along / max(along @ along, 1e-18), 0, 1)
        distances.append(np.linalg.norm(body.joints[joint] - body.joints[a] - u * along))
    above = int(body.parents[joint])
    return max(int(np.argmin(distances)), path.index(above) if above in path else 0)


def _nearest_skin(body: RestGeometry, path: list[int], joint: int) -> int:
    """The place on the path whose skin is nearest to where a branch begins."""
    distances = [np.linalg.norm(body.skin([j]) - body.joints[joint], axis=-1).min() for j in path]
    return int(np.argmin(distances))


def _tails(body: RestGeometry, partner: Int[np.ndarray, " joint"], path: list[int], side: set[int]) -> list[int]:
    """Branches in the symmetry plane that run backwards and are longer than thick."""
    out = []
    for joint in path:
        for top in body.children(joint):
            if top in path or top in side:
                continue
            tip = _tip(body, top)
            reach = body.tails[tip] - body.joints[top]
            skin = body.skin(body.subtree[top])
            thick = np.ptp(skin[:, 2]) if len(skin) > 1 else 0.0
            backwards = body.tails[tip][0] < body.joints[joint, 0] - 0.05 * body.size or says(body.names[top], "tail")
            if backwards and np.linalg.norm(reach) > 1.2 * thick and np.linalg.norm(reach) > STUB * body.size:
                out.append(top)
    return out


def _arm_or_wing(body: RestGeometry, top: int) -> Kind:
    """A wing is broad and thin; otherwise it is an arm."""
    if any(says(body.names[j], "wing") for j in body.subtree[top]):
        return "wing"
    skin = body.skin(body.subtree[top])
    if len(skin) < 8:
        return "arm"
    length, breadth, thickness = np.linalg.svd(skin - skin.mean(0), compute_uv=False) / np.sqrt(len(skin))
    return "wing" if breadth > 0.4 * length and thickness < 0.2 * breadth else "arm"


def _length(body: RestGeometry, top: int) -> float:
    """How far a branch reaches from its first joint."""
    reach = np.concatenate((body.joints[body.subtree[top]], body.tails[body.subtree[top]])) - body.joints[top]
    return float(np.linalg.norm(reach, axis=-1).max())


def _tip(body: RestGeometry, top: int) -> int:
    """Down the main chain, always to the child that goes on furthest in its direction, until it ends or spreads."""
    joint = top
    while children := body.children(joint):
        if len(children) > 2:
            break
        along = body.tails[joint] - body.joints[top]
        joint = max(children, key=lambda c: (_length(body, c), float(body.tails[c] @ along))[len(children) > 1])
    return int(joint)


def _last(path: list[int], joints: set[int]) -> int:
    on_path = [j for j in path if j in joints]
    return on_path[-1] if on_path else max(joints)
