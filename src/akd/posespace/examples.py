"""Poses that are known of a rig, by which its pose space is made: clips in its own file, or poses that the user gives."""

import torch
from jaxtyping import Float
from torch import Tensor

from akd.character.clips import read_clip
from akd.posespace.denoiser import Poses
from akd.posespace.representation import pose_to_vectors
from akd.rig import Rig

MAX_EXAMPLES = 20
"""Poses that the network is shown: as many as in training."""
MAX_LOST = 0.05
"""Clips whose skin comes out further from the file's than this stretch the body, and are not used [ℓ]."""
MAX_RATE = 30.0
"""Most poses of a second of a clip [1/s]."""


def chosen_examples(vectors: Poses, count: int = MAX_EXAMPLES) -> Float[Tensor, "example joint 3"]:
    """So many of the poses, evenly spaced."""
    return vectors[torch.linspace(0, len(vectors) - 1, min(count, len(vectors))).round().long()]


def own_clip_poses(rig: Rig, *, without: str | None = None, count: int = MAX_EXAMPLES) -> Poses | None:
    """About so many poses of the clips in the rig's own file, the same number of each; none if it has no clips.

    ``without`` is a clip that is left out: one that is to be judged by the others.
    """
    clips = [clip for clip in (rig.origin.file.clips if rig.origin else ()) if not _is_named(clip.name, without)]
    if len(clips) > count:
        clips = [clips[k] for k in torch.linspace(0, len(clips) - 1, count).round().long().tolist()]
    found: list[Poses] = []
    for clip in clips:
        each = max(-(-count // len(clips)), 2)
        read = read_clip(rig, clip.name, min(MAX_RATE, each / max(clip.duration, 1e-3)))
        if read.residual <= MAX_LOST:
            # The last frame of a loop is its first again.
            found.append(pose_to_vectors(read.motion.pose)[:-1].float())
    return chosen_examples(torch.cat(found), count) if found else None


def _is_named(full: str, name: str | None) -> bool:
    """Whether a clip is the one of this name, with or without the armature's name in front."""
    return name is not None and name.lower() in (full.lower(), full.split("|")[-1].lower())
