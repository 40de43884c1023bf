"""The control skeleton: one clean tree out of a file's bones.

Game rigs are often not one tree. Feet and shins hang off the armature so that an inverse-kinematics solver could pull
them, and baked animation keeps them at the leg; helper bones without skin lie anywhere. We keep the bones that deform,
look for each bone without a deforming parent where it really belongs, and drop the rest.

A link from child c to a candidate parent q is good when c's head stays where q carries it in the file's own clips, and
when it lies near q's bone. Both are lengths, so they add up to one cost.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from akd.errors import AkdError
from akd.mesh import vertex_areas
from akd.rig import FileRig

MIN_WEIGHT = 0.01  # a bone whose strongest weight is below this deforms nothing
MIN_ROOT_SKIN = 0.02  # a root that moves less than this share of the skin is a helper that a few weights leaked to
MANY_BONES = 50  # in rigs with more, a root may own less: half of an even share
MAX_HELD_DRIFT = 0.005  # a link whose ends part by less than this [body size] in the clips holds
MIN_LOOSE_DRIFT = 0.02  # a link whose ends part by more than this [body size] in the clips is no joint
GAP_WEIGHT = 0.1  # cost of distance at rest, relative to drift in the clips
CLIP_FRAMES = 48  # instants, over all clips, at which links are tried …
CLIP_SAMPLES = 48 * 512  # … and at most so many matrices for the bones of a large rig
MAX_BONES = 4096  # time and memory are known up to here; characters have tens to hundreds


@dataclass(frozen=True, eq=False)
class ControlTree:
    """Which bones of a file drive its skin, as one tree."""

    bones: Int[np.ndarray, " joint"]
    """The file's bone behind each joint, parents first."""
    parents: Int[np.ndarray, " joint"]
    joint_of_bone: Int[np.ndarray, " bone"]
    """The joint each of the file's bones moves with; −1 for those above the root, which stay where they are."""
    notes: tuple[str, ...]


def control_tree(file: FileRig) -> ControlTree:
    """Find the tree of joints in a file's bones."""
    count = len(file.names)
    if count > MAX_BONES:
        raise AkdError(f"A character has at most {MAX_BONES} bones, and this file has {count}: remove those that move nothing.")
    links = _Links(file)
    deforming = file.weights.max(0, initial=0) > MIN_WEIGHT if file.weights.any() else np.ones(count, bool)
    joints = deforming | _needed_between(file, deforming, links)
    parent = _choose_parents(file, joints, links)
    kept = joints | np.isin(np.arange(count), parent[joints])
    root = _drop_stray_roots(parent, kept, links.skin)
    order = _parents_first(parent, kept, root)
    joint = np.full(count, -1)
    joint[order] = np.arange(len(order))
    parents = np.array([-1 if bone == root else joint[parent[bone]] for bone in order])
    nearest = _nearest(file.parents, kept)
    moved = [file.names[b] for b in order if b != root and parent[b] != nearest[b]]
    listed = ", ".join(moved[:6]) + (f" and {len(moved) - 6} more" if len(moved) > 6 else "")
    notes = (f"Attached to the bones they belong to: {listed}.",) if moved else ()
    return ControlTree(np.array(order), parents, _follow(file, joint, kept), notes)


def every_bone(file: FileRig) -> ControlTree:
    """The file's own tree, every bone a joint: for skeletons that are clean already."""
    count = len(file.names)
    return ControlTree(np.arange(count), file.parents, np.arange(count), ())


def _needed_between(file: FileRig, deforming: Bool[np.ndarray, " bone"], links: "_Links") -> Bool[np.ndarray, " bone"]:
    """Bones without skin that hold deforming ones together: where several branch off, or where the clips bend."""
    needed = np.zeros(len(file.names), bool)
    if deforming.all():
        return needed
    carries = deforming.copy()
    for bone in reversed(range(len(file.names))):
        if file.parents[bone] >= 0:
            carries[file.parents[bone]] |= carries[bone]
    nearest, below = _nearest(file.parents, deforming), _children(file.parents, carries)
    for bone in np.flatnonzero(carries & ~deforming).tolist():
        above = int(nearest[bone])
        if above >= 0:
            needed[bone] = len(below[bone]) > 1 or max(links.drift_from(b, above) for b in below[bone]) > MAX_HELD_DRIFT
    return needed


class _Links:
    """The cost of links between bones, one row per child, computed when needed: most bones keep their parent."""

    def __init__(self, file: FileRig) -> None:
        self.heads = file.rest[:, :3, 3]
        points = np.concatenate((self.heads, file.mesh.vertices))
        self.size = max(float(np.linalg.norm(np.ptp(points, axis=0))), 1e-12)
        self.skin = (vertex_areas(file.mesh) @ file.weights) if file.weights.any() else np.ones(len(file.names))
        self.floor = points[:, 1].min()
        self.moved = _sample_clips(file) @ np.linalg.inv(file.rest) if file.clips else None
        self.owned = np.nonzero(file.weights > 1 / 3)
        self.vertices = file.mesh.vertices

    def drift(self, child: int) -> Float[np.ndarray, " bone"]:
        """How far the child's head strays, on average, from where each other bone would carry it in the clips."""
        if self.moved is None:
            return np.zeros(len(self.heads))
        carried = self.moved @ np.append(self.heads[child], 1.0)
        return np.linalg.norm(carried - carried[:, child, None], axis=-1).mean(0) / self.size

    def drift_from(self, child: int, other: int) -> float:
        """The same for one other bone."""
        if self.moved is None:
            return 0.0
        carried = self.moved[:, [other, child]] @ np.append(self.heads[child], 1.0)
        return float(np.linalg.norm(carried[:, 0] - carried[:, 1], axis=-1).mean() / self.size)

    def gap(self, child: int) -> Float[np.ndarray, " bone"]:
        """How far the child's head is at rest from every bone's head or skin."""
        out = np.linalg.norm(self.heads - self.heads[child], axis=-1)
        vertex, bone = self.owned
        np.minimum.at(out, bone, np.linalg.norm(self.vertices - self.heads[child], axis=-1)[vertex])
        return out / self.size

    def cost(self, child: int) -> Float[np.ndarray, " bone"]:
        """The price of each bone as the child's parent."""
        return self.drift(child) + GAP_WEIGHT * self.gap(child)

    def holds(self, hub: int, child: int, other: int) -> bool:
        """Whether this helper carries the child about as well as another bone would in the clips; without clips, a helper
        on the ground is taken for a handle."""
        if self.moved is not None:
            return self.drift_from(child, hub) < max(MAX_HELD_DRIFT, 1.5 * self.drift_from(child, other))
        return bool(self.heads[hub, 1] > self.floor + 0.1 * self.size)


def _choose_parents(file: FileRig, deforming: Bool[np.ndarray, " bone"], links: _Links) -> Int[np.ndarray, " bone"]:
    """The parent of every deforming bone: the file's where it deforms and holds, else the one that costs least."""
    parent = _nearest(file.parents, deforming)
    for bone in np.flatnonzero(deforming & (parent >= 0)).tolist():
        if links.drift_from(bone, int(parent[bone])) > MIN_LOOSE_DRIFT and _has_better_parent(bone, parent, deforming, links):
            parent[bone] = -1
    tree = _component(parent, deforming)
    orphans = np.flatnonzero(deforming & (parent < 0)).tolist()
    main = max(orphans, key=lambda o: links.skin[tree == o].sum())

    # A helper between several parts (a body bone without skin of its own) is a joint if it holds them best.
    helpers = _nearest(file.parents, ~deforming)
    hub = int(helpers[main])
    held = [o for o in orphans if o != main and helpers[o] == hub and hub >= 0]
    held = [o for o in held if links.holds(hub, o, _offer(o, tree, links)[1])]
    if held:
        parent[[*held, main]] = hub
        tree[np.isin(tree, [*held, main])] = hub
        tree[hub] = hub
        main = hub
    taken = {main, *held}
    best = {o: _offer(o, tree, links) for o in orphans if o not in taken and parent[o] < 0}
    while best:
        bone = min(best, key=lambda o: (best[o][0], o))
        home = parent[bone] = best.pop(bone)[1]
        own = int(tree[home])
        tree[tree == bone] = own
        if own in best and tree[best[own][1]] == own:  # what it would have hung on hangs on it now
            best[own] = _offer(own, tree, links)
    return parent


def _offer(bone: int, tree: Int[np.ndarray, " bone"], links: _Links) -> tuple[float, int]:
    """The least cost at which an orphan finds a parent outside its own tree, and that parent."""
    cost = np.where((tree >= 0) & (tree != tree[bone]), links.cost(bone), np.inf)
    return float(cost.min()), int(np.argmin(cost))


def _has_better_parent(bone: int, parent: np.ndarray, deforming: np.ndarray, links: _Links) -> bool:
    """Is there a bone outside this one's subtree that holds it at least twice as well as its parent does?"""
    inside = np.zeros(len(parent), bool)
    inside[bone] = True
    for other in range(bone, len(parent)):
        inside[other] |= parent[other] >= 0 and inside[parent[other]]
    cost = links.cost(bone)
    return bool(cost[deforming & ~inside].min(initial=np.inf) < 0.5 * cost[parent[bone]])


def _component(parent: Int[np.ndarray, " bone"], kept: Bool[np.ndarray, " bone"]) -> Int[np.ndarray, " bone"]:
    """The orphan at the top of each bone's tree; −1 for bones that are not kept. Parents come before children."""
    top = np.full(len(parent), -1)
    for bone in np.flatnonzero(kept):
        top[bone] = bone if parent[bone] < 0 else top[parent[bone]]
    return top


def _drop_stray_roots(parent: Int[np.ndarray, " bone"], kept: Bool[np.ndarray, " bone"], skin: Float[np.ndarray, " bone"]) -> int:
    """The root; a bone on top with a single child and hardly any skin is a helper, not a hip."""
    count = int(kept.sum())
    least = MIN_ROOT_SKIN if count <= MANY_BONES else min(MIN_ROOT_SKIN, 0.5 / count)  # each of many bones owns little
    while True:
        root = next(int(b) for b in np.flatnonzero(kept) if parent[b] < 0)
        children = np.flatnonzero(kept & (parent == root))
        if len(children) != 1 or skin[root] > least * skin.sum():
            return root
        kept[root] = False
        parent[children[0]] = -1


def _parents_first(parent: Int[np.ndarray, " bone"], kept: Bool[np.ndarray, " bone"], root: int) -> list[int]:
    """All kept bones from the root down, depth first, in the file's order."""
    order, stack, below = [], [root], _children(parent, kept)
    while stack:
        bone = stack.pop()
        order.append(bone)
        stack.extend(reversed(below[bone]))
    return order


def _follow(file: FileRig, joint: Int[np.ndarray, " bone"], kept: Bool[np.ndarray, " bone"]) -> Int[np.ndarray, " bone"]:
    """Every bone moves with its nearest kept ancestor; one that has skin but no such ancestor, with the root."""
    out, nearest = joint.copy(), _nearest(file.parents, kept)
    for bone in np.flatnonzero(~kept).tolist():
        ancestor = nearest[bone]
        out[bone] = joint[ancestor] if ancestor >= 0 else (0 if file.weights[:, bone].any() else -1)
    return out


def _nearest(parents: Int[np.ndarray, " bone"], wanted: Bool[np.ndarray, " bone"]) -> Int[np.ndarray, " bone"]:
    """Each bone's nearest proper ancestor that is wanted, −1 if there is none. Parents come before children."""
    out = np.full(len(parents), -1)
    for bone, above in enumerate(parents.tolist()):
        if above >= 0:
            out[bone] = above if wanted[above] else out[above]
    return out


def _children(parents: Int[np.ndarray, " bone"], kept: Bool[np.ndarray, " bone"]) -> list[list[int]]:
    """The kept bones below each bone, in the file's order."""
    out: list[list[int]] = [[] for _ in parents]
    for bone in np.flatnonzero(kept & (parents >= 0)).tolist():
        out[parents[bone]].append(bone)
    return out


def _sample_clips(file: FileRig) -> Float[np.ndarray, "frame bone 4 4"]:
    """World matrices at a few instants of each clip."""
    assert file.sample is not None
    frames = min(CLIP_FRAMES, max(CLIP_SAMPLES // len(file.names), 4))
    each = max(2, frames // len(file.clips))
    chosen = file.clips[:: max(1, len(file.clips) * 2 // frames)]
    return np.concatenate([file.sample(clip.name, np.linspace(0, clip.duration, each)) for clip in chosen])
