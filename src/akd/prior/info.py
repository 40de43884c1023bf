"""Sizes and costs of a prior without its weights: its networks are built on torch's meta device, which has shapes only.

The configurations of the big models are in ``known_models``, so that nothing has to be downloaded.
"""

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn

from akd.errors import AkdError
from akd.prior.families import FAMILIES, family_class
from akd.prior.family import FilmGrid
from akd.prior.folder import EMBEDDED, EMBEDDED_FOLDERS, INDEX, read_index, read_object
from akd.prior.known_models import KNOWN_MODELS, RENAMED, SCHEDULERS, KnownModel, Part
from akd.prior.libraries import diffusers_library
from akd.prior.memory import GIGABYTE, MemoryTracker, ShapesOnly, WorkCounter, weight_gigabytes
from akd.prior.placement import Residence
from akd.prior.prior import LatentShape, VideoPrior

QUANTIZED_SHARE = 0.53
"""Memory of a network with 8-bit weights, as a share of that in 16 bits: scales, norms and biases stay as they are."""

TEXT_WIDTHS = {
    "encoder_hidden_states": ("text_dim", "text_embed_dim", "caption_channels", "cross_attention_dim"),
    "encoder_hidden_states_2": ("text_embed_2_dim",), "audio_encoder_hidden_states": ("caption_channels",),
    "pooled_projections": ("pooled_projection_dim",),
}  # fmt: skip
"""Entries of networks' configurations that say how wide an embedded sentence is, by the network's argument."""


@dataclass(frozen=True)
class MemoryNeeds:
    """Memory that a model takes on its device, part by part [GB]; measured by ``MemoryTracker``."""

    film: tuple[int, int, int]
    """Frames, height and width."""
    grid: FilmGrid
    network_gigabytes: float
    """Weights of all networks that predict."""
    largest_network_gigabytes: float
    """Weights of the largest of them."""
    vae_gigabytes: float
    text_gigabytes: float
    """Weights of the text encoders, which read in main memory and leave."""
    predict_gigabytes: float
    """What one evaluation of the network holds at its peak besides weights."""
    encode_gigabytes: float
    """What encoding a film and the way back hold at their peak besides weights."""
    look_gigabytes: float = 0.0
    """The same of encoding without a way back, and of decoding in tiles: where motions are fitted to pictures."""

    @property
    def loading_gigabytes(self) -> float:
        """All weights, which are in main memory while the model is loaded."""
        return self.network_gigabytes + self.vae_gigabytes + self.text_gigabytes

    def resting(self, offload: Residence, share: float = 1.0) -> float:
        """Weights on the device while the network predicts; ``share`` is that of quantised weights."""
        if offload == "none":
            return self.vae_gigabytes + share * self.network_gigabytes
        return self.vae_gigabytes + (share * self.largest_network_gigabytes if offload == "model" else 0.0)

    def peak(self, offload: Residence, share: float = 1.0, *, way_back: bool = True) -> float:
        """The most that is needed on the device at once, in one distillation step."""
        waiting = self.resting(offload, share) if offload == "none" else self.vae_gigabytes
        films = self.encode_gigabytes if way_back else self.look_gigabytes
        return max(waiting + films, self.resting(offload, share) + self.predict_gigabytes)


@dataclass(frozen=True)
class PriorInfo:
    """Sizes and costs of a prior and a film for it, computed without its weights."""

    name: str
    network_parameters: int
    vae_parameters: int
    text_parameters: int
    frames: int
    height: int
    width: int
    latents: LatentShape
    tokens: int
    """Tokens of the film, without those of the text."""
    memory: MemoryNeeds
    encode_teraflop: float
    """One encoding and its way back, with what checkpointing computes again."""
    predict_teraflop: float
    """One prediction with classifier-free guidance: two evaluations of the network."""
    few_steps: int | None = None
    """Denoising steps of its few-step versions, as in ``KnownModel``."""

    @property
    def step_teraflop(self) -> float:
        """One distillation step with one draw of noise."""
        return self.encode_teraflop + self.predict_teraflop


def prior_info(
    name: str = EMBEDDED, *, frames: int | None = None, size: tuple[int, int] | None = None, dtype: torch.dtype = torch.bfloat16
) -> PriorInfo:
    """Sizes and costs of a prior, for its own film or one of other frames and (width, height), on a card."""
    try:
        return _counted(name, frames, size, dtype)
    except (AttributeError, TypeError, ValueError, KeyError, RuntimeError) as error:
        reason = (str(error).strip() or type(error).__name__).split("\n")[0][:150].rstrip(".")
        raise AkdError(f"The sizes of {name} cannot be counted from its configuration ({reason}): load it and look.") from error


def _counted(name: str, frames: int | None, size: tuple[int, int] | None, dtype: torch.dtype) -> PriorInfo:
    known = known_model(name)
    prior, text_encoders = _built(name)
    width, height = size or (prior.film.width, prior.film.height)
    film = replace(prior.film, frames=frames or prior.film.frames, width=width, height=height)
    latents = prior.latent_shape(film.frames, film.height, film.width)
    counts = sum(map(parameter_count, prior.family.networks)), parameter_count(prior.family.vae), text_encoders
    size_of_film = film.frames, film.height, film.width
    memory = memory_needs(name, dtype=dtype, film=size_of_film)
    return PriorInfo(
        name, *counts, *size_of_film, latents, _tokens(prior.family.network, latents), memory,
        film_costs(prior, known, size_of_film, dtype).teraflop, _predict_cost(prior, known, latents), known.few_steps,
    )  # fmt: skip


class FilmCosts(NamedTuple):
    """What an autoencoder needs for a film."""

    encode_gigabytes: float
    """Memory of encoding it and the way back to the pixels."""
    look_gigabytes: float
    """Memory of encoding it without a way back, or of decoding one."""
    teraflop: float
    """Work of an encoding and its way back, with what is computed again; weights have no gradient."""


_FILM_COSTS: dict[str, FilmCosts] = {}
"""Several models have the same autoencoder."""


def film_costs(prior: VideoPrior, known: KnownModel, film: tuple[int, int, int], dtype: torch.dtype) -> FilmCosts:
    """Memory and work of an autoencoder, by its class and configuration."""
    key = repr((known.vae, film, dtype, prior.family.spill))
    if key not in _FILM_COSTS:
        with WorkCounter() as work:
            encoding = encode_peak(prior, *film, dtype)
        look = look_peak(prior, *film, dtype, tiles=prior.family.spill)
        _FILM_COSTS[key] = FilmCosts(encoding, look, work.flop / 1e12)
    return _FILM_COSTS[key]


@lru_cache(maxsize=64)
def memory_needs(
    name: str, *, dtype: torch.dtype = torch.bfloat16, film: tuple[int, int, int] | None = None, spill: bool = True
) -> MemoryNeeds:
    """Memory of a model whose configuration is known, for a film (its own by default); ``spill`` as on cards."""
    known = known_model(name)
    prior, text_parameters = _built(name)
    frames, height, width = film or (prior.film.frames, prior.film.height, prior.film.width)
    latents = prior.latent_shape(frames, height, width)
    networks, vae = prior.family.networks, prior.family.vae
    with quiet_casts():
        for part in (*networks, vae):
            part.to(dtype)
    prior.family.spill = spill
    sizes = [weight_gigabytes(network) for network in networks]
    films = film_costs(prior, known, (frames, height, width), dtype)
    return MemoryNeeds(
        (frames, height, width), prior.family.grid, sum(sizes), max(sizes), weight_gigabytes(vae),
        text_parameters * dtype.itemsize / GIGABYTE, predict_peak(prior, known.text, latents, dtype), films.encode_gigabytes,
        films.look_gigabytes,
    )  # fmt: skip


def encode_peak(prior: VideoPrior, frames: int, height: int, width: int, dtype: torch.dtype, device: str = "meta") -> float:
    """Memory that a film, its encoding and the way back hold at most [GB]."""
    with MemoryTracker(device) as tracker:
        video = torch.zeros(1, frames, height, width, 3, device=device, requires_grad=True)
        pixels = (video.permute(0, 4, 1, 2, 3) * 2 - 1).to(dtype)
        latents = prior.family.encode(pixels)
        torch.autograd.backward(latents, torch.ones_like(latents))
    return tracker.peak / GIGABYTE


@torch.no_grad()
def look_peak(prior: VideoPrior, frames: int, height: int, width: int, dtype: torch.dtype, *, tiles: bool = True) -> float:
    """Memory that encoding a film, and decoding one, hold at most [GB]; of tiles only one is decoded, and all are kept."""
    family = prior.family
    with ShapesOnly(fused=True), MemoryTracker("meta") as encoding:
        latents = family.encode(torch.zeros(1, 3, frames, height, width, device="meta", dtype=dtype))
    tile = getattr(family.vae, "tile_sample_min_height", None) if tiles or type(family).in_tiles else None
    if tile is not None:
        cells = max(tile // family.compression[2], 1)
        latents = latents[..., :cells, : max(family.vae.tile_sample_min_width // family.compression[2], 1)]
    with ShapesOnly(fused=True), MemoryTracker("meta") as decoding:
        family.decode(latents)
    film = 3 * frames * height * width * dtype.itemsize
    return max(encoding.peak, decoding.peak + 2 * film) / GIGABYTE


def predict_peak(
    prior: VideoPrior, text: Mapping[str, tuple[int, ...]], latents: LatentShape, dtype: torch.dtype, device: str = "meta"
) -> float:
    """Memory that one evaluation of the network holds at most [GB]."""
    with torch.no_grad(), ShapesOnly(fused=True) if device == "meta" else nullcontext(), MemoryTracker(device) as tracker:
        words = {name: torch.zeros(shape, device=device, dtype=dtype) for name, shape in text.items()}
        z_t = torch.zeros(1, *latents, device=device, dtype=dtype)
        prior.family.predict(z_t, torch.ones(1, device=device), words)
    return tracker.peak / GIGABYTE


@lru_cache(maxsize=4)
def _built(name: str) -> tuple[VideoPrior, int]:
    """A model without weights, and the number of its text encoders' parameters."""
    prior, readers = build_on_meta(known_model(name))
    return prior, sum(map(parameter_count, readers))


@contextmanager
def quiet_casts() -> Iterator[None]:
    """diffusers warns of every cast of a model that names modules to be kept in float32, even if it names none."""
    logger = logging.getLogger("diffusers")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(before)


def known_model(name: str) -> KnownModel:
    """The configuration of a model, from ``KNOWN_MODELS`` or from its folder."""
    name = RENAMED.get(name, name)
    if name in KNOWN_MODELS:
        return KNOWN_MODELS[name]
    folder = EMBEDDED_FOLDERS.get(name, Path(name))
    if not (folder / INDEX).is_file():
        known = ", ".join((*EMBEDDED_FOLDERS, *KNOWN_MODELS))
        raise AkdError(f"Nothing is known about {name!r} without a download: give its folder, or one of {known}.")
    index = read_index(folder)
    family_class(index["_class_name"], name)

    def part(which: str) -> Part:
        config = read_object(folder / which / "config.json")
        if index.get(which, [None, None])[1] is None:
            raise AkdError(f"{folder / INDEX} names no class for {which}: copy the whole folder again.")
        return index[which][1], {key: value for key, value in config.items() if not key.startswith("_")}

    network = part("unet" if "unet" in index else "transformer")
    two = index.get("transformer_2", [None, None])[1] is not None
    options = tuple((name, index[name]) for name in ("boundary_ratio", "expand_timesteps") if name in index)
    readers = tuple(part(name) for name in ("text_encoder", "text_encoder_2") if index.get(name, [None, None])[1] is not None)
    return KnownModel(index["_class_name"], network, part("vae"), readers, _text_shapes(network), options, two)


def _text_shapes(network: Part) -> Mapping[str, tuple[int, ...]]:
    """Shapes of an embedded sentence: as many tokens as known models of that family take, as wide as the network says."""
    kind, config = network
    alike = (known.text for known in KNOWN_MODELS.values() if known.network[0] == kind)
    shapes = dict(next(alike, {"encoder_hidden_states": (1, 77, 1024)}))
    if "max_text_seq_length" in config:
        shapes = {"encoder_hidden_states": (1, config["max_text_seq_length"], 1024)}
    for name, keys in TEXT_WIDTHS.items():
        width = next((config[key] for key in keys if config.get(key) is not None), None)
        if name in shapes and width is not None:
            shapes[name] = (*shapes[name][:-1], width)
    return shapes


def build_on_meta(known: KnownModel) -> tuple[VideoPrior, list[nn.Module]]:
    """The model without weights, and its text encoders."""
    diffusers = diffusers_library("Counting sizes and costs")
    import transformers

    kind, options = SCHEDULERS[known.pipeline]
    with torch.device("meta"):
        network, vae = (_module_class(diffusers, name)(**config) for name, config in (known.network, known.vae))
        second = _module_class(diffusers, known.network[0])(**known.network[1]) if known.two_networks else None
        readers = [_text_encoder(transformers, *part) for part in known.text_encoders]
    parts: dict[str, Any] = {"vae": vae, "scheduler": getattr(diffusers, kind)(**options), **dict(known.options)}
    parts["unet" if known.pipeline == "TextToVideoSDPipeline" else "transformer"] = network
    parts |= {} if second is None else {"transformer_2": second}
    pipeline = getattr(diffusers, known.pipeline)
    empty = {name: None for name in pipeline._get_signature_keys(pipeline)[0] if name not in parts}
    return VideoPrior(FAMILIES[known.pipeline](pipeline(**parts, **empty))), readers


def _module_class(library: Any, name: str) -> type[nn.Module]:
    """A network's class by its name in a folder; anything else of a library is not called."""
    found = getattr(library, name, None)
    if not (isinstance(found, type) and issubclass(found, nn.Module)):
        raise AkdError(f"There is no network {name!r} in {library.__name__}: copy the whole folder again.")
    return found


def _text_encoder(transformers: Any, name: str, config: dict[str, Any]) -> nn.Module:
    kind: Any = _module_class(transformers, name)
    return kind(kind.config_class(**config))


def parameter_count(network: nn.Module) -> int:
    """Number of trained values of a network."""
    return sum(parameter.numel() for parameter in network.parameters())


def _tokens(network: Any, latents: LatentShape) -> int:
    across = network.config.get("patch_size") or 1
    in_time = network.config.get("patch_size_t") or 1
    if isinstance(across, (tuple, list)):
        in_time, across, _ = across
    return (latents.frame // in_time) * (latents.row // across) * (latents.column // across)


def _predict_cost(prior: VideoPrior, known: KnownModel, latents: LatentShape) -> float:
    dtype = prior.family.network.dtype
    text = {name: torch.zeros(shape, device="meta", dtype=dtype) for name, shape in known.text.items()}
    with WorkCounter() as counter, ShapesOnly(), torch.no_grad():
        prior.family.predict(torch.empty(1, *latents, device="meta", dtype=dtype), torch.ones(1, device="meta"), text)
    return 2 * counter.flop / 1e12
