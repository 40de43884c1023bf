"""From checkpoints to a prior folder that diffusers itself can load, with a model card."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from akd.errors import AkdError
from akd.prior.folder import read_object
from akd.render.film import FilmSettings
from akd.training.data_card import CARD_NAME, DataCard
from akd.training.prior.cache import read_cache
from akd.training.prior.network_init import init_encoder, init_text_encoder
from akd.training.prior.networks import build_pipeline
from akd.training.prior.video_model import TextToVideoModel, known_words, save_video_model

PIPELINE = "CogVideoXImageToVideoPipeline"
"""The class whose layout the prior has: latents of the first frame beside the noisy ones."""


def averaged_weights(state: Path) -> dict[str, torch.Tensor]:
    """The averaged weights of a checkpoint."""
    if not state.is_file():
        raise AkdError(f"There is no training state at {state}: train first with `akd prior train`.")
    tensors = load_file(state)
    names = [name.removeprefix("weight.") for name in tensors if name.startswith("weight.")]
    return {name: tensors["weight." + name] + tensors["average." + name].float() for name in names}


def fresh_prior(folder: Path, films: Sequence[Path], card: DataCard, words: Path | None = None) -> None:
    """A prior to start from: random networks, the encoder that is best for the films, words near words of the same meaning.

    ``words``: a prior folder whose text encoder knows what words mean.
    """
    pipe = build_pipeline(words=card.words, first_frame=True)
    init_encoder(pipe.vae, read_cache(*films))
    if words is None:
        init_text_encoder(pipe.text_encoder, pipe.tokenizer, card=card)
    else:
        text = known_words(words, json.loads(pipe.tokenizer.backend_tokenizer.to_str()), card)
        pipe.text_encoder.load_state_dict(text, strict=False)  # the table is stored once and tied
    pipe.save_pretrained(folder)
    _name_pipeline(folder)
    card.save(folder / CARD_NAME)


def export_prior(
    start: Path, video: Path, vae: Path, folder: Path, card: DataCard, tokenizer: Mapping[str, Any], film: FilmSettings,
    facts: str = "",
) -> None:  # fmt: skip
    """Write the prior folder: what it started from, with the weights that were trained since, film settings and cards."""
    weights = averaged_weights(video / "state.safetensors")
    model = TextToVideoModel.start_from(start, card, film.frames, tokenizer)
    model.load_state_dict(weights)
    if folder.resolve() != start.resolve():
        shutil.copytree(start, folder, dirs_exist_ok=True)
    save_video_model(model, folder)
    (folder / "tokenizer" / "tokenizer.json").write_text(json.dumps(tokenizer, indent=2, ensure_ascii=False))
    decoder = vae / "decoder" / "state.safetensors"
    if decoder.is_file():
        _replace_decoder(folder / "vae" / "diffusion_pytorch_model.safetensors", averaged_weights(decoder))
    _name_pipeline(folder)
    film.save(folder / "film.json")
    card.save(folder / CARD_NAME)
    (folder / "README.md").write_text(model_card(card, facts, film))


def _name_pipeline(folder: Path) -> None:
    """Say which class of pipelines the network belongs to: the network is what makes it one of image to video."""
    index = read_object(folder / "model_index.json")
    (folder / "model_index.json").write_text(json.dumps(index | {"_class_name": PIPELINE}, indent=2) + "\n")


def _replace_decoder(path: Path, weights: Mapping[str, torch.Tensor]) -> None:
    """Put trained weights of the decoder into the autoencoder's file; an unknown name is an error."""
    stored = load_file(path)
    unknown = set(weights) - set(stored)
    if unknown:
        raise AkdError(f"The training state has weights that the network lacks ({min(unknown)}): it belongs to another version.")
    kept = {name: weights.get(name, value).to(value.dtype).contiguous() for name, value in stored.items()}
    save_file(kept, path, metadata={"format": "pt"})


def model_card(card: DataCard, facts: str, film: FilmSettings) -> str:
    """The text beside the weights; ``facts`` is what was measured."""
    held_out, first_seed = " and ".join(card.held_out_plans), f"{card.first_held_out_seed:,}"
    real = (
        f"""
Real motion: captured people (CMU Graphics Lab Motion Capture Database, mocap.cs.cmu.edu, created with funding from NSF
EIA-0196217) and clips of animated characters under CC0 (Quaternius, Kenney, Mesh2Motion), on their own bodies and on others of
the same build; {len(card.actions)} actions. Whole subjects and families of characters are held out."""
        if card.actions
        else ""
    )
    sides = " and ".join(f"{view.azimuth:g}" for view in film.panel_views(film.view))
    return f"""---
license: apache-2.0
library_name: diffusers
pipeline_tag: image-to-video
---
# The small video prior of akd

A CogVideoX pipeline (transformer, 3D causal autoencoder, T5 text encoder, scheduler) of about five million parameters. It
scores whether a character *moves* like the prompt says, and is made for nothing else. The first frame can be given.

**Data.** Films of procedural creatures from akd itself: all body plans except {held_out}, individuals with seeds below
{first_seed}, all gaits and actions, standing still too.{real}
All films have {film.frames} frames of {film.width} × {film.height} pixels and show figures instead of skin, every limb a rod in
a colour of its own, from {sides} degrees right of the front, side by side. Time is the body's own: frames per second are
{film.fps:g} · √({film.reference_leg} m / leg length), so that a walking stride is about twelve frames whatever the size.
Captions are generated. No pictures or videos made by others were used.

**Made for**: akd, which shows it users' characters as such figures; `reader/` holds a small network that says where the limbs are
in its films. `film.json` holds the film settings,
`training.json` plans, words and actions.
{facts}
"""
