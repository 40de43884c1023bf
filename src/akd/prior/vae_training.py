"""Training the small autoencoder: on crops first, which cost a quarter as much per pixel, then on whole pictures."""

from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from akd.prior.cache import ClipCache, read_cache
from akd.prior.embedded import small_vae
from akd.prior.training import Trainee, TrainingConfig, train

LIMB_WEIGHT = 3.0
"""Extra weight of fully saturated pixels: in the marker look those are the limbs, which are few and must not be lost."""
EDGE_WEIGHT = 0.5
"""Weight of errors in the differences between neighbouring pixels, which keep outlines sharp."""
KL_WEIGHT = 1e-4
RESCAN = 200
"""Every so many steps the cache is read anew, so that training can begin while clips are still being filmed."""


@dataclass(frozen=True)
class VaeTraining:
    """What the autoencoder is trained on, and how."""

    cache: Path
    """Folder of filmed clips."""
    held_out: Path
    """Folder of clips that only judge."""
    folder: Path
    """Where state and log go."""
    training: TrainingConfig = TrainingConfig(steps=6000, learning_rate=2e-3)
    batch: int = 4
    crop: int = 32
    """Side of the crops [px]."""
    frames: int = 9
    """Frames of a crop."""
    whole: float = 0.1
    """Share of the steps, spread evenly, that see one whole clip instead of crops."""


def train_vae(config: VaeTraining) -> Trainee:
    """Train the autoencoder, or go on."""
    torch.set_num_threads(config.training.threads)
    clips, held = read_cache(config.cache), read_cache(config.held_out)
    every = round(1 / config.whole)

    def loss(vae: nn.Module, step: int, randomness: torch.Generator) -> tuple[Float[Tensor, ""], dict[str, float]]:
        nonlocal clips
        if step % RESCAN == 0:
            clips = read_cache(config.cache)
        videos = whole_clip(clips, randomness) if step % every == every - 1 else crops(clips, config, randomness)
        return reconstruction_loss(vae, videos, randomness)

    def watch(trainee: Trainee) -> dict[str, float]:
        vae = small_vae()
        vae.load_state_dict(vae.state_dict() | trainee.average)
        return {"psnr": reconstruction_psnr(vae, held, 8)}

    return train(small_vae(config.training.seed), loss, config.training, config.folder, watch=watch, watch_every=200)


def reconstruction_loss(
    vae: nn.Module, videos: Float[Tensor, "clip 3 frame height width"], randomness: torch.Generator
) -> tuple[Float[Tensor, ""], dict[str, float]]:
    """Weighted absolute error of pixels and of their differences, and a little pull of the latents toward the unit normal."""
    posterior = vae.encode(videos).latent_dist
    noise = torch.randn(posterior.mean.shape, generator=randomness)
    seen = vae.decode(posterior.mean + posterior.std * noise).sample
    weight = 1 + LIMB_WEIGHT * (videos.amax(1, keepdim=True) - videos.amin(1, keepdim=True)) / 2
    error = seen - videos
    pixels = (weight * error.abs()).mean()
    edges = sum((weight.narrow(axis, 1, error.shape[axis] - 1) * error.diff(dim=axis).abs()).mean() for axis in (2, 3, 4)) / 3
    kl = posterior.kl().sum() / posterior.mean.numel()
    total = pixels + EDGE_WEIGHT * edges + KL_WEIGHT * kl
    return total, {"l1": float(error.detach().abs().mean()), "kl": float(kl.detach())}


@torch.no_grad()
def reconstruction_psnr(vae: nn.Module, held: ClipCache, count: int) -> float:
    """Mean peak signal-to-noise ratio of clips, evenly taken from a cache [dB]."""
    values = []
    for index in torch.linspace(0, len(held) - 1, count).long().tolist():
        video = to_network(held.video(index)[None])
        seen = vae.decode(vae.encode(video).latent_dist.mean).sample.clamp(-1, 1)
        values.append(-10 * torch.log10(((seen - video) / 2).square().mean()))
    return float(torch.stack(values).mean())


def to_network(videos: Tensor) -> Float[Tensor, "clip 3 frame height width"]:
    """Byte pictures, colours last, as the network takes them: −1 to 1, colours first."""
    return videos.permute(0, 4, 1, 2, 3).float() / 127.5 - 1


def whole_clip(clips: ClipCache, randomness: torch.Generator) -> Float[Tensor, "1 3 frame height width"]:
    """One clip."""
    return to_network(clips.video(_draw(len(clips), randomness))[None])


def crops(clips: ClipCache, config: VaeTraining, randomness: torch.Generator) -> Float[Tensor, "clip 3 frame height width"]:
    """Pieces of clips, cut at multiples of 8 pixels and 4 frames, as the latent cells are."""
    pieces = []
    for _ in range(config.batch):
        video = clips.video(_draw(len(clips), randomness))
        frames, height, width, _ = video.shape
        t = 4 * _draw((frames - config.frames) // 4 + 1, randomness)
        y, x = (8 * _draw((side - config.crop) // 8 + 1, randomness) for side in (height, width))
        pieces.append(video[t : t + config.frames, y : y + config.crop, x : x + config.crop])
    return to_network(torch.stack(pieces))


def _draw(count: int, randomness: torch.Generator) -> int:
    return int(torch.randint(count, (1,), generator=randomness))
