"""From checkpoints to a prior folder that diffusers itself can load, with a model card."""

from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file

from akd.errors import AkdError
from akd.training.data_card import CARD_NAME, SHIPPED_CARD, DataCard
from akd.training.prior.cache import clip_film, normalise_encoder, read_cache
from akd.training.prior.network_init import init_encoder
from akd.training.prior.networks import Vae, build_pipeline, build_vae


def averaged_weights(state: Path) -> dict[str, torch.Tensor]:
    """The averaged weights of a checkpoint."""
    if not state.is_file():
        raise AkdError(f"There is no training state at {state}: train first with `akd prior train`.")
    tensors = load_file(state)
    names = [name.removeprefix("weight.") for name in tensors if name.startswith("weight.")]
    return {name: tensors["weight." + name] + tensors["average." + name].float() for name in names}


def finish_encoder(run: Path, cache: Path) -> Vae:
    """The finished encoder, made once and kept in the run folder as ``frozen/``: all later stages depend on it.

    It is initialised in closed form; if it was trained further, the averaged weights are taken and latents are normalised again.
    """
    from diffusers.models.autoencoders.autoencoder_kl_cogvideox import AutoencoderKLCogVideoX

    folder, state = run / "frozen", run / "encoder" / "state.safetensors"
    if folder.is_dir():
        return AutoencoderKLCogVideoX.from_pretrained(folder)
    vae, clips = build_vae(), read_cache(cache)
    init_encoder(vae, clips)
    if state.is_file():
        weights = averaged_weights(state)
        _load(vae, _part("vae", weights))
        normalise_encoder(vae, clips)
    vae.save_pretrained(folder)
    return vae


def assemble(vae_run: Path, video_run: Path, cache: Path, card: DataCard = SHIPPED_CARD) -> Any:
    """The diffusers pipeline of a run, as far as it is trained."""
    pipe = build_pipeline(words=card.words)
    pipe.vae.load_state_dict(finish_encoder(vae_run, cache).state_dict())
    if _decoder(vae_run).is_file():
        _load(pipe.vae, averaged_weights(_decoder(vae_run)))
    weights = averaged_weights(video_run / "state.safetensors")
    for part in ("text_encoder", "transformer"):
        _load(getattr(pipe, part), _part(part, weights))
    return pipe


def export_prior(vae_run: Path, video_run: Path, cache: Path, folder: Path, card: DataCard, facts: str = "") -> None:
    """Write the prior folder: weights, film settings, data card, model card."""
    assemble(vae_run, video_run, cache, card).save_pretrained(folder)
    clip_film(cache).save(folder / "film.json")
    card.save(folder / CARD_NAME)
    (folder / "README.md").write_text(model_card(card, facts, decoder=_decoder(vae_run).is_file()))


def _decoder(vae_run: Path) -> Path:
    return vae_run / "decoder" / "state.safetensors"


def _part(part: str, weights: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(part + "."): weight for name, weight in weights.items() if name.startswith(part + ".")}


def _load(network: Any, weights: dict[str, torch.Tensor]) -> None:
    """Load weights of some of a network's layers; an unknown name is an error."""
    unknown = network.load_state_dict(weights, strict=False).unexpected_keys
    if unknown:
        raise AkdError(f"The training state has weights that the network lacks ({unknown[0]}): it belongs to another version.")


def model_card(card: DataCard, facts: str, *, decoder: bool) -> str:
    """The text beside the weights; ``facts`` is what was measured, ``decoder`` whether the decoder is trained."""
    held_out, first_seed = " and ".join(card.held_out_plans), f"{card.first_held_out_seed:,}"
    samples = "" if decoder else "\nThe decoder of these weights is not trained yet: samples show noise.\n"
    return f"""---
license: apache-2.0
library_name: diffusers
pipeline_tag: text-to-video
---
# The small video prior of akd

A CogVideoX pipeline (transformer, 3D causal autoencoder, T5 text encoder, scheduler) of about five million parameters. It
scores whether a character *moves* like the prompt says, and is made for nothing else.

**Data.** Clips of procedural creatures from akd itself: all body plans except {held_out}, individuals with seeds below
{first_seed}, all gaits and actions, standing still too; 17 frames of 64 × 64 pixels in the marker look (neutral body, every
limb in a colour of its own), seen from the front right, 15 % without ground. Time is the body's own: frames per second are
12 · √(0.9 m / leg length), so that a walking stride is about twelve frames whatever the size. Captions are generated. No
pictures or videos made by others were used.

**Training.** The encoder is the best linear code of the clips, in closed form. Transformer and text encoder are trained on
its latents (v-prediction, zero terminal SNR, 12 % empty captions); the decoder, which only samples need, comes last. One CPU.

**What it knows.** How limbs of these body plans swing together in these gaits and actions, seen in this look from this side.
**What it does not know.** Natural pictures, other views, objects, faces, more than one creature, anything a caption says
about colour, place or style.

**Use.** `akd` loads it by the name `embedded`. With diffusers alone:
`CogVideoXPipeline.from_pretrained(folder)("a dog walking", num_frames=17, height=64, width=64, max_sequence_length=24)`.
{samples}
{facts}
Licence: Apache-2.0.
"""
