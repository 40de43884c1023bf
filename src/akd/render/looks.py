"""The colours a character is filmed in.

*natural*: the asset's own. *figure*: those of the figure that is filmed in its place (see ``figure``). *marker*: a neutral
body and every limb in a colour of its own, so that a gait can be read in a picture of 64 pixels, and a small video model need
not know what a wolf's fur looks like to know how a wolf walks. The colour of a limb depends only on its kind, side and order,
never on the character.
"""

import colorsys
from dataclasses import replace
from typing import Literal

import torch
from jaxtyping import Float
from torch import Tensor

from akd.errors import AkdError
from akd.skeleton import Kind, Limb, Side, Skeleton
from akd.splats import SkinnedSplats, color_from_sh

Look = Literal["natural", "marker", "figure"]
Color = tuple[float, float, float]
"""sRGB in [0, 1]."""
BODY: Color = (0.86, 0.86, 0.86)
PALETTE: dict[tuple[Kind, Side, int], Color] = {
    ("leg", "L", 0): (0.98, 0.84, 0.10),  # yellow
    ("leg", "R", 0): (0.12, 0.30, 0.95),  # blue
    ("leg", "L", 1): (0.90, 0.10, 0.10),  # red
    ("leg", "R", 1): (0.05, 0.62, 0.15),  # green
    ("leg", "L", 2): (0.98, 0.45, 0.02),  # orange
    ("leg", "R", 2): (0.05, 0.78, 0.88),  # cyan
    ("leg", "L", 3): (0.95, 0.25, 0.85),  # magenta
    ("leg", "R", 3): (0.48, 0.12, 0.75),  # violet
    ("arm", "L", 0): (1.00, 0.55, 0.60),  # pink
    ("arm", "R", 0): (0.00, 0.42, 0.45),  # teal
    ("wing", "L", 0): (0.68, 0.92, 0.12),  # lime
    ("wing", "R", 0): (0.08, 0.10, 0.42),  # navy
    ("tail", "C", 0): (0.45, 0.24, 0.08),  # brown
    ("neck", "C", 0): (0.78, 0.62, 0.42),  # sand
    ("head", "C", 0): (0.20, 0.20, 0.22),  # coal
}
SHARPNESS = 4
"""Power on each limb's share of a splat: high enough for a clean seam between limb and body, low enough for no jagged one."""


def limb_color(limb: Limb) -> Color:
    """The limb's colour in the marker look; fins have those of wings, which trained models know."""
    if limb.kind == "spine":
        return BODY
    if limb.kind == "fin":
        limb = replace(limb, kind="wing")
    return PALETTE.get((limb.kind, limb.side, limb.order)) or _further_color(limb)


def marker_colors(skeleton: Skeleton, weights: Float[Tensor, "splat joint"]) -> Float[Tensor, "splat 3"]:
    """Each splat in the colour of the limb that moves it."""
    if not skeleton.limbs:
        raise AkdError("The marker look needs limb labels, and this skeleton has none: label it, or film it in the natural look.")
    member = weights.new_zeros(skeleton.joint_count, len(skeleton.limbs))
    for column, limb in enumerate(skeleton.limbs):
        member[list(limb.joints), column] = 1
    share = (weights.detach() @ member) ** SHARPNESS
    # A splat that hangs on no limb at all is body, too.
    share = torch.cat((share, (1 - weights.detach() @ member.sum(1, keepdim=True)).clamp(min=0) ** SHARPNESS), 1)
    colors = share.new_tensor([*map(limb_color, skeleton.limbs), BODY])
    return (share @ colors) / share.sum(1, keepdim=True)


def look_colors(look: Look, skeleton: Skeleton, skinned: SkinnedSplats) -> Float[Tensor, "splat 3"]:
    """The splats' colours in a look. Natural colours leave out what depends on the direction of view."""
    if look == "marker":
        return marker_colors(skeleton, skinned.weights)
    if look in ("natural", "figure"):
        return color_from_sh(skinned.splats.sh)
    raise AkdError(f"A look is 'natural', 'marker' or 'figure', not {look!r}.")


def _further_color(limb: Limb) -> Color:
    """A colour for limbs beyond the palette (a centipede's tenth leg, a second tail): hues in golden-angle steps never repeat."""
    kinds, sides = ("leg", "arm", "wing", "tail", "neck", "head"), ("L", "R", "C")
    step = (limb.order * len(sides) + sides.index(limb.side)) * len(kinds) + kinds.index(limb.kind)
    return colorsys.hsv_to_rgb(0.07 + 0.381966 * step % 1.0, 0.65, 0.8)
