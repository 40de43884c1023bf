"""A body: joints and flesh in one frame, with what several questions about it need."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int


@dataclass(frozen=True, eq=False)
class Body:
    """A control skeleton and its mesh while their meaning is being found. Y is up; X and Z are not yet settled."""

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
        """Flesh and joints together; joints alone where there is no mesh."""
        return np.concatenate((self.vertices, self.joints))

    @cached_property
    def subtree(self) -> list[np.ndarray]:
        """For each joint, itself and everything below it."""
        below = np.eye(len(self.parents), dtype=bool)
        for joint in range(len(self.parents) - 1, 0, -1):
            below[self.parents[joint]] |= below[joint]
        return [np.flatnonzero(row) for row in below]

    def flesh(self, joints: Int[np.ndarray, " some"] | list[int]) -> Float[np.ndarray, "vertex 3"]:
        """The vertices that these joints own, or the joints themselves where they own none."""
        own = self.vertices[np.isin(self.owner, joints)]
        return own if len(own) else self.joints[joints]

    def children(self, joint: int) -> list[int]:
        return np.flatnonzero(self.parents == joint).tolist()

    def moved(self, matrix: Float[np.ndarray, "4 4"]) -> "Body":
        """The body in another frame."""
        move = lambda x: x @ matrix[:3, :3].T + matrix[:3, 3]  # noqa: E731
        return Body(self.names, self.parents, move(self.joints), move(self.vertices), self.owner)

    @cached_property
    def tails(self) -> Float[np.ndarray, "joint 3"]:
        """Where bones end: at the mean of the children, or for a leaf as far as its flesh reaches."""
        out = np.empty_like(self.joints)
        for joint, head in enumerate(self.joints):
            children = self.children(joint)
            if children:
                out[joint] = self.joints[children].mean(0)
                continue
            reach = self.flesh([joint]) - head
            along = reach.mean(0)
            if np.linalg.norm(along) < 1e-6 * self.size:  # no flesh, or all around: go on as the parent's bone did
                above = self.parents[joint]
                along = 0.5 * (head - self.joints[above]) if above >= 0 else np.array([0.0, 0.1 * self.size, 0.0])
                out[joint] = head + along
                continue
            along /= np.linalg.norm(along)
            out[joint] = head + along * max(float(np.percentile(reach @ along, 95)), 0.0)
        return out
