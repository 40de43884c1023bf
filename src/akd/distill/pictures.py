"""How far a film is from another, for fitting a motion to a film that the prior has finished."""

import torch
from jaxtyping import Float
from torch import Tensor

BLUR_START, BLUR_END = 0.09, 0.015
"""Standard deviation of the blur at the first and the last step of a fit, as a share of the picture's width: limbs that are far
from where they should be find their way under a strong blur, and their place under a weak one."""
PICTURE_UNIT = 0.1
"""Difference of a colour that counts like one unit of a latent, so that weights of the other losses keep their meaning."""

Film = Float[Tensor, "frame height width 3"]


def picture_distance(film: Film, target: Film, progress: float, elements: int) -> Float[Tensor, ""]:
    """Half the squared difference of two blurred films, weighed like a sum over so many latents (``elements``).

    ``progress``: 0 at the first step of a fit to 1 at its end.
    """
    sigma = film.shape[2] * BLUR_START ** (1 - progress) * BLUR_END**progress
    apart = blurred(film - target.to(film), sigma) / PICTURE_UNIT
    # A blur makes differences small: they count as much as sharp ones of the same shape.
    return apart.square().mean() * elements / 2 * max(sigma, 1.0)


def blurred(film: Film, sigma: float) -> Film:
    """A film out of focus by this many pixels."""
    reach = max(int(2.5 * sigma), 1)
    steps = torch.arange(-reach, reach + 1, dtype=film.dtype, device=film.device)
    kernel = torch.exp(-0.5 * (steps / max(sigma, 1e-3)) ** 2)
    kernel = kernel / kernel.sum()
    planes = film.permute(0, 3, 1, 2).flatten(0, 1)[:, None]
    for shape, margin in (((1, 1, 1, -1), (reach, reach, 0, 0)), ((1, 1, -1, 1), (0, 0, reach, reach))):
        padded = torch.nn.functional.pad(planes, margin, mode="replicate")
        planes = torch.nn.functional.conv2d(padded, kernel.reshape(shape))
    return planes[:, 0].unflatten(0, (film.shape[0], 3)).permute(0, 2, 3, 1)
