"""Which way a body faces: its symmetry plane gives the line; feet, names, clips and shape vote for the direction."""

import numpy as np
from jaxtyping import Float

from akd.character.symmetry import ClipPaths, RestGeometry, says, side_of


def facing_matrix(ahead: Float[np.ndarray, " 3"], centre: Float[np.ndarray, " 3"]) -> Float[np.ndarray, "4 4"]:
    """Map this forward direction to +X and this point to the origin; Y stays up."""
    up = np.array([0.0, 1.0, 0.0])
    out = np.eye(4)
    out[:3, :3] = np.stack((ahead, up, np.cross(ahead, up)))
    out[:3, 3] = -out[:3, :3] @ centre
    return out


def forward_votes(
    body: RestGeometry,
    pairs: list[tuple[list[int], list[int]]],
    paths: ClipPaths | None,
    prescribed: Float[np.ndarray, " 3"] | None,
) -> float:
    """Positive if the body faces +X, negative if −X.

    ``pairs`` lists the joints of both legs of every pair, from the body outwards; ``paths`` is where the joints go in
    the clips, the same number of frames each; ``prescribed`` is the direction that the file format wants.
    """
    feet = [leg for pair in pairs for leg in pair]
    votes = 2.5 * _side_names(body) + 2.0 * _end_names(body) + 1.5 * _toes(body, feet) + 0.5 * _high_end(body)
    if paths is not None and pairs:
        left, right = (np.stack([_foot_path(paths, pair[side]) for pair in pairs], 2) for side in (0, 1))
        votes += 2.0 * _swing(left, right)
    if prescribed is not None:
        votes += 0.4 * float(prescribed[0])
    return votes


def _side_names(body: RestGeometry) -> float:
    """Bones called right should be at +Z when facing +X."""
    sides = np.array([{"R": 1.0, "L": -1.0}.get(side_of(name) or "", 0.0) for name in body.names])
    known = (sides != 0) & (np.abs(body.joints[:, 2]) > 0.01 * body.size)
    return float((sides * np.sign(body.joints[:, 2]))[known].mean()) if known.any() else 0.0


def _end_names(body: RestGeometry) -> float:
    """Heads and noses are in front of the middle, tails behind."""
    middle = body.joints[:, 0].mean()
    ahead = [body.joints[j, 0] - middle for j, name in enumerate(body.names) if says(name, "front")]
    behind = [middle - body.joints[j, 0] for j, name in enumerate(body.names) if says(name, "tail")]
    if not ahead + behind:
        return 0.0
    return float(np.clip(np.mean(ahead + behind) / (0.1 * body.size), -1, 1))


def _toes(body: RestGeometry, feet: list[list[int]]) -> float:
    """What stands on the ground lies in front of the shin above it."""
    leans = []
    for leg in feet:
        skin = body.skin(leg)
        level = (skin[:, 1] - skin[:, 1].min()) / max(np.ptp(skin[:, 1]), 1e-12)
        foot, shin = skin[level < 0.1, 0], skin[(level > 0.15) & (level < 0.4), 0]
        if len(foot) and len(shin):
            leans.append(foot.mean() - shin.mean())
    return float(np.clip(np.mean(leans) / (0.02 * body.size), -1, 1)) if leans else 0.0


def _foot_path(paths: ClipPaths, leg: list[int]) -> Float[np.ndarray, "clip frame 3"]:
    """Where the foot goes, seen from the root: the last joint, or the end of a leg that is one bone."""
    foot = (paths.heads if len(leg) > 1 else paths.tails)[:, :, leg[-1]]
    return foot - paths.heads[:, :, 0]


def _swing(left: Float[np.ndarray, "clip frame pair 3"], right: Float[np.ndarray, "clip frame pair 3"]) -> float:
    """Correlation of forward speed and height of the feet: a walker lifts a foot to bring it forward and pulls it back
    along the ground. Clips count by how much the feet of a pair alternate, which those of a jump or a fall do not."""
    left, right = (path - path.mean(1, keepdims=True) for path in (left, right))
    apart, together = ((x[..., 0] ** 2).sum((1, 2)) for x in (left - right, left + right))
    alternating = apart / np.maximum(apart + together, 1e-30)
    feet = np.concatenate((left, right), 2)
    speed = np.diff(feet[..., 0], axis=1)
    height = (feet[:, 1:, :, 1] + feet[:, :-1, :, 1]) / 2
    spread = np.sqrt((speed**2).sum((1, 2)) * (height**2).sum((1, 2)))
    total = (alternating**2 * spread).sum()
    return float(np.clip(4 * (alternating**2 * (speed * height).sum((1, 2))).sum() / total, -1, 1)) if total > 0 else 0.0


def _high_end(body: RestGeometry) -> float:
    """Long bodies carry the head higher than the tail."""
    along = body.joints[:, 0] - body.joints[:, 0].mean()
    up = body.joints[:, 1] - body.joints[:, 1].mean()
    spread = np.sqrt((along**2).mean() * (up**2).mean())
    return float((along * up).mean() / spread) if spread > 0 else 0.0
