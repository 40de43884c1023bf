"""Training of the small autoencoder's decoder, which only samples need.

Distillation only encodes, and the transformer is trained on latents, so the encoder (the best linear code of the films, see
``network_init``) comes first and stays fixed. The decoder can be trained further at any time.
"""

from dataclasses import dataclass, field
from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor, nn

from akd.training.loop import TrainingConfig, TrainingState, train
from akd.training.prior.cache import ClipCache, Pixels, read_cache, to_network
from akd.training.prior.networks import CELL_FRAMES, Vae, build_vae

LIMB_WEIGHT = 3.0
"""Extra weight of fully saturated pixels: in the marker look those are the limbs, which are few and must not be lost."""
EDGE_WEIGHT = 0.5
"""Weight of errors in the differences between neighbouring pixels, which keep outlines sharp."""
RESCAN_STEPS = 200
"""Steps between readings of the cache, so that training can begin while clips are still being filmed."""


@dataclass(frozen=True)
class VaeTraining:
    """What the decoder is trained on, and how."""

    films: tuple[Path, ...]
    """Folders of films."""
    held_out: Path
    """Folder of clips for validation only."""
    folder: Path
    """Where state and log go: ``decoder/`` below it."""
    decoder: TrainingConfig = field(default_factory=lambda: TrainingConfig(steps=3000, learning_rate=2e-3))
    batch: int = 4
    crop: int = 32
    """Side of the crops [px]; per pixel they cost a third of whole pictures."""
    frames: int = 9
    """Frames of a crop."""
    whole_every: int = 6
    """Each so many steps see one whole clip instead of crops."""
    whole_from: int = 650
    """From this step on, whole clips only: the networks' normalisation sees the whole picture, and crops mislead it."""


def train_decoder(config: VaeTraining, folder: Path) -> Vae:
    """Train the decoder of an autoencoder's folder further, or resume."""
    from diffusers.models.autoencoders.autoencoder_kl_cogvideox import AutoencoderKLCogVideoX

    held, vae = read_cache(config.held_out), AutoencoderKLCogVideoX.from_pretrained(folder).float()
    vae.encoder.requires_grad_(False)
    vae.decoder.requires_grad_(True)

    def loss(network: nn.Module, videos: Pixels, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        with torch.no_grad():
            latents = vae.encode(videos).latent_dist.mean
        decoded = vae.decode(latents).sample
        return picture_loss(decoded, videos), {"psnr_seen": psnr(decoded, videos)}

    def validate(state: TrainingState) -> dict[str, float]:
        averaged = build_vae()
        averaged.load_state_dict(vae.state_dict() | state.average)
        return {"psnr": held_out_psnr(lambda video: averaged.decode(averaged.encode(video).latent_dist.mean).sample, held)}

    state = config.folder / "decoder"
    train(vae, _on_clips(config, loss), config.decoder, state, validate=validate, validate_every=200).use_average()
    return vae


def _on_clips(config: VaeTraining, loss):  # type: ignore[no-untyped-def]
    """A loss on videos as a loss on steps."""
    clips = read_cache(*config.films)

    def on_step(network: nn.Module, step: int, randomness: torch.Generator) -> tuple[Tensor, dict[str, float]]:
        nonlocal clips
        if step % RESCAN_STEPS == 0:
            clips = read_cache(*config.films)
        whole = step >= config.whole_from or step % config.whole_every == config.whole_every - 1
        return loss(network, whole_clip(clips, randomness) if whole else crops(clips, config, randomness), randomness)

    return on_step


def picture_loss(decoded: Pixels, videos: Pixels) -> Float[Tensor, ""]:
    """Absolute error of pixels, and of their differences in time, height and width; limbs weigh more."""
    weight = 1 + LIMB_WEIGHT * (videos.amax(1, keepdim=True) - videos.amin(1, keepdim=True)) / 2
    error = decoded - videos
    edges = [(weight.narrow(axis, 1, error.shape[axis] - 1) * error.diff(dim=axis).abs()).mean() for axis in (2, 3, 4)]
    return (weight * error.abs()).mean() + EDGE_WEIGHT * torch.stack(edges).mean()


@torch.no_grad()
def psnr(decoded: Pixels, videos: Pixels) -> float:
    """Peak signal-to-noise ratio [dB]."""
    return float(-10 * torch.log10(((decoded.clamp(-1, 1) - videos) / 2).square().mean()))


@torch.no_grad()
def held_out_psnr(reconstruct, held: ClipCache, count: int = 8) -> float:  # type: ignore[no-untyped-def]
    """Mean over clips taken evenly from a cache [dB]."""
    indices = torch.linspace(0, len(held) - 1, count).long().tolist()
    videos = [to_network(held.video(index)[None]) for index in indices]
    return sum(psnr(reconstruct(video), video) for video in videos) / count


def whole_clip(clips: ClipCache, randomness: torch.Generator) -> Pixels:
    """One clip."""
    return to_network(clips.video(_draw(len(clips), randomness))[None])


def crops(clips: ClipCache, config: VaeTraining, randomness: torch.Generator) -> Pixels:
    """Pieces of clips, cut at multiples of 8 pixels and 2 frames, as the latent cells are."""
    pieces = []
    for _ in range(config.batch):
        video = clips.video(_draw(len(clips), randomness))
        frames, height, width, _ = video.shape
        t = CELL_FRAMES * _draw((frames - config.frames) // CELL_FRAMES + 1, randomness)
        y, x = (8 * _draw((side - config.crop) // 8 + 1, randomness) for side in (height, width))
        pieces.append(video[t : t + config.frames, y : y + config.crop, x : x + config.crop])
    return to_network(torch.stack(pieces))


def _draw(count: int, randomness: torch.Generator) -> int:
    return int(torch.randint(count, (1,), generator=randomness))
