"""Where limbs are in a film of a figure, read from its latents by a small network.

A prior's film of a figure shows each limb from two sides in a colour of its own, so places in space can be read from it. The
reader does that in one pass, for films of the prior as well as for true ones. A fit of the trajectory to these places finds its
way where a fit to pictures ends in the nearest wrong pose (docs/log.md). The reader knows no actions and hears no sentence.
"""

from pathlib import Path
from typing import NamedTuple

import torch
from jaxtyping import Float
from safetensors.torch import load_file
from torch import Tensor, nn

from akd.prior.embedded.transformer import positions
from akd.prior.schedule import Latents
from akd.render.figure import POINT_COUNT

FILE = "reader/reader.safetensors"
"""Its weights in a prior's folder."""
WIDTH, HEADS, LAYERS, PATCH = 128, 4, 4, 3
CELL_FRAMES = 2
"""Frames of a cell; the first cell holds the first frame alone."""
ROWS = POINT_COUNT + 1
"""Points of all limbs, and the place where the camera looks."""


class Reading(NamedTuple):
    """What a film shows, in sizes of the figure."""

    points: Float[Tensor, "film frame point 3"]
    """Every limb's points, from where the camera looks; of limbs that the body lacks they mean nothing."""
    path: Float[Tensor, "film frame 3"]
    """Where the camera looks: its way over the ground since the first frame, and its height above the ground."""


class FigureReader(nn.Module):
    """Latents of films to places of limbs."""

    def __init__(self, channels: int, tokens_per_cell: int) -> None:
        super().__init__()
        self.enter = nn.Conv2d(channels, WIDTH, PATCH, PATCH)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(WIDTH, HEADS, 4 * WIDTH, 0.0, nn.functional.gelu, batch_first=True, norm_first=True)
            for _ in range(LAYERS)
        )
        self.norm = nn.LayerNorm(WIDTH)
        self.leave = nn.Linear(tokens_per_cell * WIDTH, CELL_FRAMES * ROWS * 3)

    def forward(self, latents: Latents) -> Reading:
        cells, rows, columns = latents.shape[2], latents.shape[3] // PATCH, latents.shape[4] // PATCH
        tokens = self.enter(latents.transpose(1, 2).flatten(0, 1)).flatten(2).transpose(1, 2)
        tokens = tokens.reshape(len(latents), -1, WIDTH) + positions(WIDTH, cells, rows, columns).to(latents)
        for block in self.blocks:
            tokens = block(tokens)
        cell = self.norm(tokens).reshape(len(latents), cells, -1)
        frames = self.leave(cell).unflatten(2, (CELL_FRAMES, ROWS, 3)).flatten(1, 2)[:, CELL_FRAMES - 1 :]
        step, height = frames[:, :, -1] * frames.new_tensor((1.0, 0.0, 1.0)), frames[:, :, -1, 1]
        way = torch.cat((torch.zeros_like(step[:, :1]), step[:, 1:]), 1).cumsum(1)
        return Reading(frames[:, :, :-1], torch.stack((way[..., 0], height, way[..., 2]), -1))


def load_reader(folder: Path | str) -> FigureReader | None:
    """The reader of a prior's folder, if it has one."""
    path = Path(folder) / FILE
    if not path.is_file():
        return None
    weights = {name: value.float() for name, value in load_file(path).items()}
    channels, tokens = weights["enter.weight"].shape[1], weights["leave.weight"].shape[1] // WIDTH
    reader = FigureReader(channels, tokens)
    reader.load_state_dict(weights)
    return reader.requires_grad_(False).eval()
