"""From training states to a prior folder, which diffusers itself can load."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from akd.errors import AkdError
from akd.prior.cache import read_cache
from akd.prior.embedded import Vae, small_pipeline, small_vae
from akd.prior.encoder_start import start_encoder
from akd.prior.latents import normalise_encoder
from akd.prior.model_card import model_card
from akd.render.film_settings import FilmSettings


def averaged_weights(state: Path) -> dict[str, torch.Tensor]:
    """The averaged weights of a training state."""
    if not state.is_file():
        raise AkdError(f"There is no training state at {state}: train first with `akd prior train`.")
    tensors = load_file(state)
    names = [name.removeprefix("weight.") for name in tensors if name.startswith("weight.")]
    return {name: tensors["weight." + name] + tensors["average." + name].float() for name in names}


def finish_encoder(run: Path, cache: Path) -> Vae:
    """The encoder that everything after it relies on, made once and kept in the run folder as ``frozen/``.

    It starts in closed form; if it was trained on from there, the averaged weights are taken and the size of latents is set anew.
    """
    from diffusers.models.autoencoders.autoencoder_kl_cogvideox import AutoencoderKLCogVideoX

    folder, state = run / "frozen", run / "encoder" / "state.safetensors"
    if folder.is_dir():
        return AutoencoderKLCogVideoX.from_pretrained(folder)
    vae, clips = small_vae(), read_cache(cache)
    start_encoder(vae, clips)
    if state.is_file():
        weights = averaged_weights(state)
        _put(vae, _below("vae", weights))
        normalise_encoder(vae, clips)
    vae.save_pretrained(folder)
    return vae


def assemble(vae_run: Path, video_run: Path, cache: Path) -> Any:
    """The pipeline of a run, as far as it is trained."""
    pipe = small_pipeline()
    pipe.vae.load_state_dict(finish_encoder(vae_run, cache).state_dict())
    if _decoder(vae_run).is_file():
        _put(pipe.vae, averaged_weights(_decoder(vae_run)))
    weights = averaged_weights(video_run / "state.safetensors")
    for part in ("text_encoder", "transformer"):
        _put(getattr(pipe, part), _below(part, weights))
    return pipe


def export_prior(vae_run: Path, video_run: Path, cache: Path, folder: Path, facts: str = "") -> None:
    """Write the prior folder: weights, film settings, model card."""
    assemble(vae_run, video_run, cache).save_pretrained(folder)
    FilmSettings.load(cache / "film.json").save(folder / "film.json")
    (folder / "README.md").write_text(model_card(facts, decoder=_decoder(vae_run).is_file()))


def _decoder(vae_run: Path) -> Path:
    return vae_run / "decoder" / "state.safetensors"


def _below(part: str, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(part + "."): weight for name, weight in weights.items() if name.startswith(part + ".")}


def _put(network: Any, weights: dict[str, torch.Tensor]) -> None:
    """Load weights of some of a network's layers; a name that is not there is an error."""
    unknown = network.load_state_dict(weights, strict=False).unexpected_keys
    if unknown:
        raise AkdError(f"The training state has weights that the network lacks ({unknown[0]}): it belongs to another version.")
