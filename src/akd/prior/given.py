"""What a user gives a model beside a sentence: a picture as first frame or for reference, a film whose motion is followed."""

from pathlib import Path

import torch

from akd.errors import AkdError
from akd.files.video import read_picture, read_video
from akd.prior.family import Condition
from akd.prior.prior import VideoPrior


def given_to(
    prior: VideoPrior, *, image: Path | None = None, control: Path | None = None, reference: Path | None = None
) -> tuple[VideoPrior, Condition | None]:
    """The condition that files stand for, and the prior with the film that fits it."""
    if image is not None and not prior.takes_first_frame:
        raise AkdError("This model takes no first frame: leave out --image, or use an image-to-video model (see docs/prior.md).")
    for option, path, what in (("--control", control, "control film"), ("--reference", reference, "picture for reference")):
        if path is not None and not prior.family.takes_control:
            raise AkdError(f"This model takes no {what}: leave out {option}, or use a Wan VACE model.")
    size = prior.film.height, prior.film.width
    first = None if image is None else read_picture(image, size=size)[None]
    look = None if reference is None else read_picture(reference, size=size, whole=True)[None]
    if control is None and look is None:
        return prior, None if first is None else prior.condition(first)
    if control is None:
        free = torch.full((1, prior.film.frames, *size, 3), 0.5)  # grey means that nothing is said
        return prior, prior.control(free, first, look)
    frames, fps = read_video(control, size=size)
    count, _, _ = prior.family.grid.nearest(min(len(frames), prior.film.frames), *size)
    if count > len(frames):
        count -= prior.family.grid.step
    if count < 1 + prior.family.grid.step:
        raise AkdError(f"The control film {control} has {len(frames)} frames, too few for this model: make it longer.")
    following = prior.with_film({"frames": count, "fps": fps})
    return following, following.control(frames[None, :count], first, look)
