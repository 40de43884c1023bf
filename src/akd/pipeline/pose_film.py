"""Pose proxies for a video model: the posed character as pictures, masks and depths, and a prior that finishes them.

The proxy video is noised to a chosen level and the prior takes the noise away again: little noise keeps the poses and
repairs the look, much noise keeps only the rough course. Any ``VideoPrior`` will do, CogVideoX too.
"""

from dataclasses import dataclass, replace
from itertools import pairwise

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.files.video import Video
from akd.motion import Motion, resample
from akd.pipeline.control_film import depth_of, mask_of
from akd.prior.prior import VideoPrior
from akd.prior.schedule import add_noise
from akd.reconstruct.skinned import skinned_splats
from akd.render.camera import View
from akd.render.film import FilmSettings, camera_for, film, move_splats
from akd.rig import Rig


@dataclass(frozen=True, eq=False)
class Proxy:
    """A motion as a video model can be shown it."""

    video: Video
    mask: Float[Tensor, "frame height width"]
    """1 where the character is."""
    depth: Float[Tensor, "frame height width"]
    """0 far or empty, 1 near."""


@torch.no_grad()
def proxy_of(rig: Rig, motion: Motion, settings: FilmSettings, view: View | None = None) -> Proxy:
    """Film a motion in the settings of a prior: as it looks, as a mask, and as depths."""
    skinned, view = skinned_splats(rig), view or settings.view
    video = film(rig.skeleton, motion, skinned, settings, view)
    moving = move_splats(rig.skeleton, motion, skinned)
    camera = camera_for(moving, skinned, motion.fps, settings, view)
    return Proxy(video, mask_of(moving, camera), depth_of(moving, camera))


def finish_clip(
    prior: VideoPrior, rig: Rig, motion: Motion, sentence: str, *, strength: float = 0.6
) -> dict[str, Video]:
    """A motion filmed and finished by a prior; by name, with the proxy, its mask and its depth."""
    motion = resample(motion, prior.film.rate(rig.leg_metres))
    frames = prior.film.frames
    if motion.frame_count < frames:
        raise AkdError(f"The prior watches {frames} frames, and this clip has {motion.frame_count}: make it longer.")
    proxy = proxy_of(rig, replace(motion, pose=motion.pose[:frames]), prior.film)
    finished = finish(prior, proxy.video, sentence, strength=strength)
    mask, depth = (part[..., None].expand_as(proxy.video) for part in (proxy.mask, proxy.depth))
    return {"finished": finished, "proxy": proxy.video, "mask": mask, "depth": depth}


def finish(
    prior: VideoPrior, video: Video, sentence: str, *, strength: float = 0.6, steps: int = 20, guidance: float = 5.0,
    negative: str = "", seed: int = 0,
) -> Video:  # fmt: skip
    """The prior's own version of a video: noised to ``strength`` and finished."""
    if not 0 < strength <= 1:
        raise AkdError(f"The strength is the share of noise, above 0 and at most 1, not {strength}.")
    words, without = prior.embed(sentence), prior.embed(negative)
    with torch.no_grad():
        clean = prior.encode(video[None])
    noise = torch.randn(clean.shape, generator=torch.Generator().manual_seed(seed)).to(clean)
    times = torch.linspace(strength, 0, steps + 1, device=clean.device)
    z = add_noise(clean, noise, prior.schedule.level(times[:1]))
    for now, then in pairwise(times):
        guess = prior.denoise(z, now[None], words, without, guidance)
        z = guess.x0 if then == 0 else add_noise(guess.x0, guess.noise, prior.schedule.level(then[None]))
    return prior.decode(z)[0]
