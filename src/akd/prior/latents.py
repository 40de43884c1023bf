"""Latents of the cached clips, computed once, because encoding costs more than a training step of the transformer."""

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from akd.prior.cache import ClipCache, read_cache, to_network
from akd.prior.clips import ClipLabel
from akd.prior.embedded import Vae


@torch.no_grad()
def normalise_encoder(vae: Vae, clips: ClipCache, count: int = 64) -> None:
    """Change the encoder's last layer so that every channel of its latents has mean 0 and variance 1 over clips."""
    indices = torch.linspace(0, len(clips) - 1, count).long().tolist()
    latents = torch.cat([vae.encode(to_network(clips.video(index)[None])).latent_dist.mean for index in indices])
    mean, std = latents.mean((0, 2, 3, 4)), latents.std((0, 2, 3, 4))
    last = vae.encoder.conv_out.conv
    channels = len(mean)
    last.weight[:channels] /= std.view(-1, 1, 1, 1, 1)
    last.bias[:channels] = (last.bias[:channels] - mean) / std
    last.bias[channels:] -= 2 * std.log()  # the logarithms of the variances go along


@torch.no_grad()
def write_latents(vae: Vae, cache: Path, folder: Path) -> int:
    """Latents of every individual in a cache that has none in the folder yet; returns how many were new."""
    folder.mkdir(parents=True, exist_ok=True)
    new = 0
    for path in dict.fromkeys(path for path, _ in read_cache(cache).rows):
        target = folder / path.name
        if not target.exists():
            videos = torch.from_numpy(np.load(path))
            latents = torch.cat([vae.encode(to_network(video[None])).latent_dist.mean for video in videos])
            part = target.with_name(target.name + ".part")
            with part.open("wb") as file:
                np.save(file, latents.half().numpy())
            part.replace(target)
            new += 1
    return new


def read_latents(cache: Path, folder: Path) -> tuple[Tensor, list[ClipLabel]]:
    """Latents of all clips that have some, and their labels."""
    clips = read_cache(cache)
    have = {path.name: torch.from_numpy(np.load(path)) for path in sorted(folder.glob("*.npy"))}
    labelled = zip(clips.rows, clips.labels, strict=True)
    rows = [(have[path.name][row], label) for (path, row), label in labelled if path.name in have]
    return torch.stack([latents for latents, _ in rows]), [label for _, label in rows]
