"""Where a skin was bound: from matrices that say how a mesh sat on its bones to bones and mesh at rest in the world."""

import numpy as np
from jaxtyping import Float

SAME_POSE = 1e-3  # bones within this part of the skeleton's size count as unmoved
FITTED = 16  # bones tried, each as the one that tells the frame


def bind_frame(
    bind: Float[np.ndarray, "bone 4 4"], pose: Float[np.ndarray, "bone 4 4"], readings: list[Float[np.ndarray, "4 4"]]
) -> Float[np.ndarray, "4 4"]:
    """The map from the frame in which bones were bound to the world, where the file has them in ``pose``.

    Skinning is the same whichever frame is taken, but the rest pose should be where the clips are. So take the frame in
    which most of the bound bones lie on those of the pose. Where the two poses differ there is none, and the nearest of
    the readings that the format allows must do.
    """
    size = np.ptp(pose[:, :3, 3], axis=0).max() + 1e-6

    def distance(frame: np.ndarray) -> float:
        return float(np.median(np.linalg.norm((frame @ bind - pose)[:, :3, 3], axis=-1)))

    tried = np.unique(np.linspace(0, len(bind) - 1, FITTED).astype(int))
    fitted = min(pose[tried] @ np.linalg.pinv(bind[tried]), key=distance)
    return fitted if distance(fitted) < SAME_POSE * size else min(readings, key=distance)
