"""Which way does a body face? Its symmetry plane gives the line; feet, names and shape vote for the direction."""

import numpy as np
from jaxtyping import Float

from akd.anatomy.body import Body
from akd.anatomy.names import says, side_of


def forward_votes(body: Body, feet: list[list[int]], prescribed: Float[np.ndarray, " 3"] | None) -> float:
    """Positive if the body faces +X, negative if −X. ``feet`` lists the joints of every leg, from the body outwards."""
    votes = 2.5 * _side_names(body) + 2.0 * _end_names(body) + 1.5 * _toes(body, feet) + 0.5 * _high_end(body)
    if prescribed is not None:
        votes += 0.4 * float(prescribed[0])
    return votes


def _side_names(body: Body) -> float:
    """Bones called right should be at +Z when facing +X."""
    sides = np.array([{"R": 1.0, "L": -1.0}.get(side_of(name) or "", 0.0) for name in body.names])
    known = (sides != 0) & (np.abs(body.joints[:, 2]) > 0.01 * body.size)
    return float((sides * np.sign(body.joints[:, 2]))[known].mean()) if known.any() else 0.0


def _end_names(body: Body) -> float:
    """Heads and noses are in front of the middle, tails behind."""
    middle = body.joints[:, 0].mean()
    ahead = [body.joints[j, 0] - middle for j, name in enumerate(body.names) if says(name, "front")]
    behind = [middle - body.joints[j, 0] for j, name in enumerate(body.names) if says(name, "tail")]
    if not ahead + behind:
        return 0.0
    return float(np.clip(np.mean(ahead + behind) / (0.1 * body.size), -1, 1))


def _toes(body: Body, feet: list[list[int]]) -> float:
    """What stands on the ground lies in front of the shin above it."""
    leans = []
    for leg in feet:
        flesh = body.flesh(leg)
        level = (flesh[:, 1] - flesh[:, 1].min()) / max(np.ptp(flesh[:, 1]), 1e-12)
        foot, shin = flesh[level < 0.1, 0], flesh[(level > 0.15) & (level < 0.4), 0]
        if len(foot) and len(shin):
            leans.append(foot.mean() - shin.mean())
    return float(np.clip(np.mean(leans) / (0.02 * body.size), -1, 1)) if leans else 0.0


def _high_end(body: Body) -> float:
    """Long bodies carry the head higher than the tail."""
    along = body.joints[:, 0] - body.joints[:, 0].mean()
    up = body.joints[:, 1] - body.joints[:, 1].mean()
    spread = np.sqrt((along**2).mean() * (up**2).mean())
    return float((along * up).mean() / spread) if spread > 0 else 0.0
