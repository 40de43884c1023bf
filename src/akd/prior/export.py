"""From training states to a prior folder, which diffusers itself can load."""

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import load_file

from akd.errors import AkdError
from akd.prior.cache import read_cache
from akd.prior.embedded import small_pipeline, small_vae
from akd.prior.latents import normalise_encoder
from akd.prior.model_card import model_card
from akd.render.film_settings import FilmSettings

if TYPE_CHECKING:
    from diffusers import AutoencoderKLCogVideoX, CogVideoXPipeline
    from torch import nn


def averaged_weights(state: Path) -> dict[str, torch.Tensor]:
    """The averaged weights of a training state."""
    if not state.is_file():
        raise AkdError(f"There is no training state at {state}: train first with `akd prior train`.")
    tensors = load_file(state)
    start = "average."
    return {name[len(start) :]: tensors["weight." + name[len(start) :]] + ahead.float() for name, ahead in tensors.items() if name.startswith(start)}


def finish_encoder(run: Path, cache: Path) -> "AutoencoderKLCogVideoX":
    """Freeze the trained encoder: averaged weights, latents of unit size, kept as ``vae/`` in the run folder."""
    from diffusers.models.autoencoders.autoencoder_kl_cogvideox import AutoencoderKLCogVideoX

    folder = run / "frozen"
    if folder.is_dir():
        return AutoencoderKLCogVideoX.from_pretrained(folder)
    vae = small_vae()
    weights = averaged_weights(run / "encoder" / "state.safetensors")
    _put(vae, {name.removeprefix("vae."): weight for name, weight in weights.items() if name.startswith("vae.")})
    normalise_encoder(vae, read_cache(cache))
    vae.save_pretrained(folder)
    return vae


def assemble(vae_run: Path, video_run: Path, cache: Path) -> "CogVideoXPipeline":
    """The pipeline of a run, as far as it is trained."""
    pipe = small_pipeline()
    pipe.vae.load_state_dict(finish_encoder(vae_run, cache).state_dict())
    decoder = vae_run / "decoder" / "state.safetensors"
    if decoder.is_file():
        _put(pipe.vae, averaged_weights(decoder))
    weights = averaged_weights(video_run / "state.safetensors")
    for part in ("text_encoder", "transformer"):
        _put(getattr(pipe, part), {name.removeprefix(part + "."): w for name, w in weights.items() if name.startswith(part + ".")})
    return pipe


def export_prior(vae_run: Path, video_run: Path, cache: Path, folder: Path, facts: str = "") -> None:
    """Write the prior folder: weights in half precision, film settings, model card."""
    pipe = assemble(vae_run, video_run, cache).to(torch.float16)
    pipe.save_pretrained(folder)
    FilmSettings.load(cache / "film.json").save(folder / "film.json")
    (folder / "README.md").write_text(model_card(facts))


def _put(network: "nn.Module", weights: dict[str, torch.Tensor]) -> None:
    """Load weights of some of a network's layers; a name that is not there is an error."""
    unknown = network.load_state_dict(weights, strict=False).unexpected_keys
    if unknown:
        raise AkdError(f"The training state holds weights the network does not have ({unknown[0]}): it belongs to another version.")
