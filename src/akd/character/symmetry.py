"""Left and right of a body at rest: its symmetry plane, and each joint's partner on the other side.

Holds the rest geometry that all questions about a body share, and what bone names hint at. Names are never trusted
alone: they come in many languages and contain mistakes.
"""

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.spatial import cKDTree

NAME_HINTS = {
    "head": "head|skull|face|kopf|tete|cabeza",
    "front": "head|skull|face|nose|jaw|mouth|snout|beak|muzzle|eye|toe",
    "tail": "tail|schwanz|cola",
    "leg": "leg|thigh|shin|calf|knee|foot|feet|toe|hoof|paw|ankle|femur|tibia|tarsus",
    "arm": "arm|hand|finger|thumb|palm|elbow|wrist|clavicle|ulna|humerus",
    "wing": "wing|feather",
}


def says(name: str, word: str) -> bool:
    """Whether the name contains one of the words for this part of a body (a key of ``NAME_HINTS``)."""
    return re.search(NAME_HINTS[word], name.lower()) is not None


def side_of(name: str) -> str | None:
    """ "L" or "R" where the name says so: LeftArm, arm.L, arm_l, L_Arm, lThigh, "Bip01 R Foot"."""
    if found := re.search(r"(left|right)", name, re.IGNORECASE):
        return found.group(1)[0].upper()
    if found := re.search(r"(?:^|[^A-Za-z])([LlRr])(?:[^A-Za-z]|$)", name):
        return found.group(1).upper()
    if found := re.match(r"([lr])(?=[A-Z])", name):
        return found.group(1).upper()
    return None


@dataclass(frozen=True, eq=False)
class RestGeometry:
    """Joints and mesh of a control skeleton at rest, in one frame. Y is up; what X and Z mean is not known yet."""

    names: tuple[str, ...]
    parents: Int[np.ndarray, " joint"]
    joints: Float[np.ndarray, "joint 3"]
    vertices: Float[np.ndarray, "vertex 3"]
    owner: Int[np.ndarray, " vertex"]
    """The joint that moves each vertex most."""

    @cached_property
    def size(self) -> float:
        """Longest side of the bounding box."""
        return max(float(np.ptp(self.points, axis=0).max()), 1e-12)

    @cached_property
    def height(self) -> float:
        return max(float(np.ptp(self.points[:, 1])), 1e-12)

    @cached_property
    def points(self) -> Float[np.ndarray, "point 3"]:
        """Vertices and joints together; joints alone where there is no mesh."""
        return np.concatenate((self.vertices, self.joints))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """The joints below each joint, in order."""
        out: list[list[int]] = [[] for _ in self.parents]
        for joint, parent in enumerate(self.parents.tolist()):
            if parent >= 0:
                out[parent].append(joint)
        return tuple(map(tuple, out))

    def subtree(self, top: int) -> Int[np.ndarray, " some"]:
        """A joint and everything below it, in order."""
        out = [top]
        for joint in out:  # grows while it is walked through
            out.extend(self.children[joint])
        return np.sort(out)

    def path_to(self, joint: int) -> list[int]:
        """The joints from the root to a joint."""
        out = [joint]
        while self.parents[out[-1]] >= 0:
            out.append(int(self.parents[out[-1]]))
        return out[::-1]

    def gathered(self, values: Float[np.ndarray, " joint *rest"]) -> Float[np.ndarray, " joint *rest"]:
        """Sums of a value over each joint and everything below it."""
        out = np.array(values)
        for joint in range(len(self.parents) - 1, 0, -1):
            out[self.parents[joint]] += out[joint]
        return out

    @cached_property
    def centres(self) -> Float[np.ndarray, "joint 3"]:
        """The mean joint of each joint's subtree."""
        return self.gathered(self.joints) / self.counts[:, None]

    @cached_property
    def skin_centres(self) -> Float[np.ndarray, "joint 3"]:
        """The mean vertex of each joint's subtree, or its mean joint where it moves no skin."""
        total = np.zeros((len(self.parents), 3))
        np.add.at(total, self.owner, self.vertices)
        number = self.gathered(np.bincount(self.owner, minlength=len(self.parents)).astype(float))
        return np.where(number[:, None] > 0, self.gathered(total) / np.maximum(number, 1)[:, None], self.centres)

    @cached_property
    def low(self) -> float:
        """Height of the lowest point."""
        return float(self.points[:, 1].min())

    @cached_property
    def counts(self) -> Float[np.ndarray, " joint"]:
        """How many joints each joint's subtree has."""
        return self.gathered(np.ones(len(self.parents)))

    @cached_property
    def _owned(self) -> tuple[Int[np.ndarray, " vertex"], Int[np.ndarray, " bound"]]:
        """Vertices sorted by the joint that owns them, and where each joint's begin (with the end as last entry)."""
        order = np.argsort(self.owner, kind="stable")
        return order, np.searchsorted(self.owner[order], np.arange(len(self.parents) + 1))

    def vertices_of(self, joints: Int[np.ndarray, " some"] | list[int]) -> Int[np.ndarray, " vertex"]:
        """Indices of the vertices that these joints own, in order."""
        order, bounds = self._owned
        parts = [order[bounds[joint] : bounds[joint + 1]] for joint in joints]
        return np.sort(np.concatenate(parts)) if parts else np.zeros(0, int)

    def skin(self, joints: Int[np.ndarray, " some"] | list[int]) -> Float[np.ndarray, "vertex 3"]:
        """The vertices that these joints own, or the joints themselves where they own none."""
        own = self.vertices[self.vertices_of(joints)]
        return own if len(own) else self.joints[joints]

    def moved(self, matrix: Float[np.ndarray, "4 4"]) -> "RestGeometry":
        """The body in another frame."""
        move = lambda x: x @ matrix[:3, :3].T + matrix[:3, 3]  # noqa: E731
        return RestGeometry(self.names, self.parents, move(self.joints), move(self.vertices), self.owner)

    @cached_property
    def tails(self) -> Float[np.ndarray, "joint 3"]:
        """Where bones end: at the mean of the children, or for a leaf as far as its skin reaches."""
        out = np.empty_like(self.joints)
        for joint, head in enumerate(self.joints):
            if self.children[joint]:
                out[joint] = self.joints[list(self.children[joint])].mean(0)
                continue
            reach = self.skin([joint]) - head
            along = reach.mean(0)
            if np.linalg.norm(along) < 1e-6 * self.size:  # no skin, or all around: go on as the parent's bone did
                above = self.parents[joint]
                along = 0.5 * (head - self.joints[above]) if above >= 0 else np.array([0.0, 0.1 * self.size, 0.0])
                out[joint] = head + along
                continue
            along /= np.linalg.norm(along)
            out[joint] = head + along * max(float(np.percentile(reach @ along, 95)), 0.0)
        return out


class ClipPaths(NamedTuple):
    """Where joints and the ends of their bones go in a sample of a file's clips."""

    heads: Float[np.ndarray, "clip frame joint 3"]
    tails: Float[np.ndarray, "clip frame joint 3"]

    def turned(self, rotation: Float[np.ndarray, "3 3"]) -> "ClipPaths":
        """The paths in axes turned by this rotation."""
        return ClipPaths(self.heads @ rotation.T, self.tails @ rotation.T)


SAMPLED_VERTICES = 600  # how many take part in the search for the plane …
MAX_SAMPLED_POINTS = 2400  # … at least four of each joint, and with the joints at most so many
NAMED_PAIR_FACTOR = 0.5  # joints named after opposite sides count as nearer to each other's mirror image by this
BRUTE_FORCE_CHILDREN = 48  # up to here, every child of a joint is compared with every other …
NEAREST_CHILDREN = 16  # … and beyond, with so many that are nearest to its mirror image
MAX_POINT_ERROR = 0.05  # a point farther than this from its mirror image [body size] counts as this far
PLANE_TIE = 0.004  # planes whose mean errors [body size] differ by less are told apart by how well they split the joints
NAME_ALLOWANCE = 0.015  # how much worse [mean error / body size] a plane may be that agrees with the names
MAX_IMAGE_GAP = 0.02  # a joint and its skin this near to another's mirror image [body size] are its twin
MAX_PARTNER_GAP = 0.25  # how far a joint's mirror image may be from its partner [body size]: rest poses are not symmetric


def symmetry_plane(body: RestGeometry) -> tuple[Float[np.ndarray, " 3"], Float[np.ndarray, " 3"], float]:
    """Normal and a point of the vertical plane that best mirrors the body onto itself, and the mean error / size."""
    points = _sample(body)
    tree = cKDTree(points)
    named = _lateral_by_names(body)
    plane_at = lambda angle: _try_plane(points, tree, angle, body.size, body.joints[0])  # noqa: E731
    coarse = [plane_at(angle) for angle in np.radians(np.arange(0, 180, 5))]
    best = min(error for error, _, _ in coarse)
    chosen = [plane for plane in coarse if plane[0] <= best + PLANE_TIE]
    if named is not None:
        agreeing = [plane for plane in coarse if plane[0] <= best + NAME_ALLOWANCE and abs(plane[1] @ named) > 0.95]
        chosen = [min(agreeing, key=lambda plane: plane[0])] if agreeing else chosen
    # A person is nearly flat: mirrored front to back, the joints hardly move. The true plane parts them.
    split = lambda plane: np.abs((body.joints - plane[2]) @ plane[1]).mean()  # noqa: E731
    _, normal, centre = max(chosen, key=split)
    around = np.arctan2(normal[2], normal[0])
    for width in (4.0, 1.0, 0.25):
        fine = [plane_at(around + np.radians(width * k)) for k in (-1, -0.5, 0, 0.5, 1)]
        error, normal, centre = min(fine, key=lambda plane: plane[0])
        around = np.arctan2(normal[2], normal[0])
    return normal, centre, error


def with_mirrored_tree(body: RestGeometry) -> RestGeometry:
    """The body with limbs hung where their mirror images hang (mirrored in z). In some files the right leg is a child of the
    left one, or one wing hangs from the tail: that limb moves with the other, and it is a limb of its own all the same."""
    parents = body.parents.copy()
    for one, other in _mirror_images(body):
        if int(body.parents[other]) in body.path_to(int(body.parents[one]))[:-1]:
            parents[one] = body.parents[other]
    return body if np.array_equal(parents, body.parents) else replace(body, parents=parents)


def _mirror_images(body: RestGeometry) -> list[tuple[int, int]]:
    """Joints off the plane z = 0, each with the joint at its mirror image whose skin is the mirror image, too."""
    flip = np.array([1.0, 1.0, -1.0])
    own = np.array([body.skin([joint]).mean(0) for joint in range(len(body.parents))])
    places = np.concatenate((body.joints, own), 1)
    distance, image = cKDTree(places).query(places * np.tile(flip, 2))
    off = np.minimum(np.abs(body.joints[:, 2]), np.abs(own[:, 2])) > MAX_IMAGE_GAP * body.size
    near = off & off[image] & (distance < MAX_IMAGE_GAP * body.size)
    return [(one, int(image[one])) for one in np.flatnonzero(near).tolist() if one > 0 and image[one] > 0]


def mirror_partners(body: RestGeometry) -> Int[np.ndarray, " joint"]:
    """Each joint's partner when z is mirrored, itself where it has none. The tree is matched from the root down."""
    partner = np.arange(len(body.parents))
    waiting = [(0, 0)]
    while waiting:
        one, other = waiting.pop()
        partner[one], partner[other] = other, one
        waiting += _match(body, body.children[one], body.children[other], same=one == other)
    return partner


def _match(body: RestGeometry, ones: tuple[int, ...], others: tuple[int, ...], same: bool) -> list[tuple[int, int]]:
    """Pair the children of two mirrored joints (or of one joint on the plane) by what each carries, nearest first."""
    pairs = sorted((_mirror_distance(body, a, b), a, b) for a, b in _candidates(body, ones, others, same))
    out, used = [], set()
    for distance, a, b in pairs:
        if a in used or b in used or (a != b and distance > MAX_PARTNER_GAP * body.size):
            continue
        used |= {a, b}
        out.append((a, b))
    if not same:  # what has no partner inside a limb still has a subtree to walk through
        return out
    return out + [(a, a) for a in ones if a not in used]


def _candidates(body: RestGeometry, ones: tuple[int, ...], others: tuple[int, ...], same: bool) -> list[tuple[int, int]]:
    """Which children to compare: all of them, or the nearest where a joint has very many."""
    if max(len(ones), len(others)) <= BRUTE_FORCE_CHILDREN:
        return [(a, b) for i, a in enumerate(ones) for b in (ones[i:] if same else others)]
    if not others:
        return []
    flip = np.array([1.0, 1.0, -1.0])
    place = lambda joints, sign: np.concatenate((body.joints[joints] * sign, body.centres[joints] * sign), 1)  # noqa: E731
    count = min(NEAREST_CHILDREN, len(others))
    _, near = cKDTree(place(list(others), 1.0)).query(place(list(ones), flip), k=range(1, count + 1))
    found = [(a, others[b]) for a, row in zip(ones, near.tolist(), strict=True) for b in row]
    return sorted({(min(a, b), max(a, b)) for a, b in found}) if same else found


def _mirror_distance(body: RestGeometry, a: int, b: int) -> float:
    """How far a and its limb are from being the mirror image of b and its limb."""
    flip = np.array([1.0, 1.0, -1.0])
    heads = np.linalg.norm(body.joints[a] * flip - body.joints[b])
    limbs = np.linalg.norm(body.centres[a] * flip - body.centres[b])
    sizes = abs(body.counts[a] - body.counts[b])
    sides = side_of(body.names[a]), side_of(body.names[b])
    hint = NAMED_PAIR_FACTOR if None not in sides and sides[0] != sides[1] else 1.0
    return hint * (float(heads + limbs) / 2 + 0.01 * body.size * sizes)


def _sample(body: RestGeometry) -> Float[np.ndarray, "point 3"]:
    """Joints, and about equally many vertices from each joint's skin: a sword in one hand must not tilt the plane."""
    each = max(4, SAMPLED_VERTICES // len(body.joints))
    own = [body.vertices_of([joint]) for joint in range(len(body.joints))]
    chosen = [vertices[:: max(1, len(vertices) // each)] for vertices in own]
    points = np.concatenate((body.vertices[np.concatenate(chosen)], np.repeat(body.joints, max(1, each // 4), 0)))
    return points[:: -(-len(points) // MAX_SAMPLED_POINTS)]


def _try_plane(
    points: np.ndarray, tree: cKDTree, angle: float, size: float, root: Float[np.ndarray, " 3"]
) -> tuple[float, np.ndarray, np.ndarray]:
    """Error, normal and centre of the best plane with this direction; its offset follows from the matched points.

    The search begins at the mean point and at the root joint: a sword or the fingers of one hand pull the mean aside.
    """
    normal = np.array([np.cos(angle), 0.0, np.sin(angle)])
    best: tuple[float, np.ndarray, np.ndarray] | None = None
    for offset in ((points @ normal).mean(), float(root @ normal)):
        distance = np.zeros(len(points))
        for _ in range(3):
            image = points - 2 * np.outer(points @ normal - offset, normal)
            distance, nearest = tree.query(image)
            offset = float(np.median((points @ normal + points[nearest] @ normal) / 2))
        error = float(np.minimum(distance / size, MAX_POINT_ERROR).mean())
        if best is None or error < best[0] - 1e-9:
            best = error, normal, normal * offset
    assert best is not None
    return best


def _lateral_by_names(body: RestGeometry) -> Float[np.ndarray, " 3"] | None:
    """The horizontal direction from bones called left to bones called right, if names agree on one."""
    sides = np.array([side_of(name) or "" for name in body.names])
    if (sides == "L").sum() < 2 or (sides == "R").sum() < 2:
        return None
    across = (body.joints[sides == "R"].mean(0) - body.joints[sides == "L"].mean(0)) * [1, 0, 1]
    length = np.linalg.norm(across)
    return across / length if length > 0.01 * body.size else None
