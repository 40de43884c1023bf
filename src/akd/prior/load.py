"""Priors by name: a folder, a model on the hub, or the one inside the package."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch

from akd.creatures.action_list import FIRST_EDITION
from akd.errors import AkdError
from akd.prior.download import Tell, download, folder_licence
from akd.prior.embedded.family import embedded_family
from akd.prior.families import family_class
from akd.prior.family import Family, FilmGrid
from akd.prior.folder import EMBEDDED, EMBEDDED_FOLDERS, INDEX, check_weights, locate, read_index
from akd.prior.hardware import Dtype, Hardware, Offload, Quantize
from akd.prior.libraries import diffusers_library
from akd.prior.placement import place
from akd.prior.plan import DTYPES, Plan, is_small, plan_prior
from akd.prior.prior import VideoPrior
from akd.prior.reader import load_reader
from akd.prior.variants import check_variants, finish_pipeline, network_parts
from akd.render.film import FilmSettings

TOKENIZER_PACKAGES = {
    "accelerate": "accelerate", "sentencepiece": "sentencepiece", "protobuf": "google.protobuf", "ftfy": "ftfy",
    "tiktoken": "tiktoken",
}  # fmt: skip
"""Packages that loading big models and some of their tokenizers needs, and the module by which each is found."""
NEEDED_BY = {
    "T5Tokenizer": ("sentencepiece", "protobuf"), "T5TokenizerFast": ("sentencepiece", "protobuf"), "WanPipeline": ("ftfy",),
    "WanImageToVideoPipeline": ("ftfy",), "WanVACEPipeline": ("ftfy",),
}  # fmt: skip
"""Those packages by the class of a tokenizer or a pipeline."""
LARGEST_FILM = (257, 768, 1360)
"""Frames (LTX), height and width (CogVideoX 1.5) of the largest films that a known model was trained on."""


def load_prior(
    name: str = EMBEDDED, *, device: str = "auto", dtype: Dtype = "auto", offload: Offload = "auto", film: str | None = None,
    quantize: Quantize = "auto", way_back: bool = True, tell: Tell | None = None, **more: Any,
) -> VideoPrior:  # fmt: skip
    """A video model, ready; small CogVideoX models such as the embedded one run without diffusers (``akd.prior.embedded``).

    What is not said is chosen by the memory that is free (see ``Hardware``, whose further fields are options, too, and ``plan``).
    ``way_back``: whether gradients will go through the autoencoder. ``tell`` hears what was chosen for a big model, what a
    download costs and what was changed.
    """
    wanted = Hardware(str(device), dtype, offload, film, quantize, **more)
    plan = plan_prior(name, wanted, way_back=way_back)
    if not is_small(name):
        _tell(tell, plan.sentence)
    return load_planned(plan, tell)


def load_planned(plan: Plan, tell: Tell | None = None) -> VideoPrior:
    """The model of a plan."""
    name = plan.name
    check_variants(plan)
    folder, online = find_prior(name)
    index = _index_on_hub(name) if folder is None else read_index(folder)
    family = family_class(index["_class_name"], name)
    if folder is None or online:
        check_packages(name, index)
        folder = _called(name, download, name, index, family.unneeded, tell)
    check_weights(folder, index, family.unneeded)
    if not plan.known and not Path(name).is_dir():  # now its configuration is here
        plan = replace(plan_prior(str(folder), plan.wanted, way_back=plan.way_back), name=name)
        _tell(tell, plan.sentence)
    made: Family | None = None
    if plan.is_plain:
        made = embedded_family(folder, index, dtype=DTYPES[plan.dtype], device=plan.device)
    if made is None:
        check_packages(name, index)
        if Path(name).is_dir():
            _tell(tell, folder_licence(folder, index))
        made = family(_pipeline(str(folder), index, plan, family.unneeded))
        place(made, torch.device(plan.device), plan.offload, spread=plan.wanted.spread)
    prior = _prior(made, folder, tell)
    prior.batch = plan.batch
    return prior if plan.film is None else prior.with_film(dict(zip(("frames", "height", "width"), plan.film, strict=True)))


def _tell(tell: Tell | None, sentence: str | None) -> None:
    if tell is not None and sentence is not None:
        tell(sentence)


def check_reachable(name: str) -> None:
    """Refuse at once a model that is missing, gated or out of reach, or whose packages are missing."""
    folder, _ = find_prior(name)
    index = _index_on_hub(name) if folder is None else read_index(folder)
    family_class(index["_class_name"], name)
    if folder is None:
        check_packages(name, index)


def check_packages(name: str, index: Mapping[str, Any]) -> None:
    """Refuse a model whose tokenizer needs packages that are missing, before anything is downloaded."""
    classes = index["_class_name"], str(index.get("tokenizer", [None, None])[1])
    needed = ["accelerate", *(package for kind in classes for package in NEEDED_BY.get(kind, ()))]
    missing = [package for package in needed if not _installed(TOKENIZER_PACKAGES[package])]
    if missing:
        raise AkdError(f"{name} needs packages that are missing: run `pip install {' '.join(missing)}`.")


def _prior(family: Family, folder: Path, tell: Tell | None) -> VideoPrior:
    """A family's model with what its folder says about films and training."""
    film = folder / "film.json"
    prior = VideoPrior(family, FilmSettings.load(film) if film.is_file() else clamped_film(family.film, family.grid, tell))
    prior.reader = load_reader(folder)
    card = folder / "training.json"
    prior.trained_on_captions = card.is_file()
    if prior.trained_on_captions:
        prior.known_actions, prior.known_modifiers = _seen(card)
    return prior


def clamped_film(film: FilmSettings, grid: FilmGrid, tell: Tell | None = None) -> FilmSettings:
    """Film settings within what any known model was trained on: configurations on the hub hold sizes that no card can take."""
    if film.width * film.height <= LARGEST_FILM[1] * LARGEST_FILM[2] and film.frames <= LARGEST_FILM[0]:
        return film
    # Such sizes stand for "any": CogVideoX 1.5 says 300 × 300 cells and was trained on wide films.
    large = film.width * film.height > LARGEST_FILM[1] * LARGEST_FILM[2]
    sides = LARGEST_FILM[1:] if large else (film.height, film.width)
    frames, height, width = grid.nearest(min(film.frames, LARGEST_FILM[0]), *sides)
    if tell is not None:
        said = f"{film.frames} frames of {film.width} × {film.height}"
        tell(f"Its configuration says films of {said}; {frames} frames of {width} × {height} are used, --film says others.")
    return replace(film, frames=frames, height=height, width=width)


def _seen(card: Path) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Actions and modifiers that a prior's training showed. A card without them is of the first edition, whose captions drew
    their adverbs at random."""
    try:
        stored = json.loads(card.read_text(encoding="utf-8"))
        return tuple(map(str, stored.get("actions", FIRST_EDITION))), tuple(map(str, stored.get("modifiers", ())))
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise AkdError(f"{card} is not the card of a training: it must be a JSON object, with its actions if any.") from error


def find_prior(name: str) -> tuple[Path | None, bool]:
    """The folder of a prior, if it is on this machine, and whether the hub is to be asked about it."""
    folder = EMBEDDED_FOLDERS.get(name, Path(name))
    if folder.is_dir():
        return folder, False
    if name in EMBEDDED_FOLDERS:
        raise AkdError("This copy of akd came without its own prior: name a folder with one, or train it with `akd prior train`.")
    return locate(name)


def _index_on_hub(name: str) -> dict[str, Any]:
    from huggingface_hub import hf_hub_download

    return read_index(Path(_called(name, hf_hub_download, name, INDEX)).parent)


def _pipeline(source: str, index: Mapping[str, Any], plan: Plan, unneeded: Iterable[str]) -> Any:
    diffusers = diffusers_library(f"The model {source}")
    # The class itself, because diffusers' general one forgets which parts may be given.
    kind = getattr(diffusers, index["_class_name"])

    def load() -> Any:
        parts = {name: None for name in unneeded if index.get(name, [None, None])[1] is not None}
        parts |= network_parts(source, index, plan)
        pipe = kind.from_pretrained(
            source, dtype=DTYPES[plan.dtype], use_safetensors=True, trust_remote_code=False, **parts
        )
        finish_pipeline(pipe, plan)
        return pipe

    return _called(source, load)


def _called(source: str, function: Any, *args: Any, **options: Any) -> Any:
    """The result of a function that reads a model; what goes wrong is said in one sentence with its cure."""
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    try:
        return function(*args, **options)
    except AkdError:
        raise
    except GatedRepoError as error:
        raise AkdError(f"The model {source} is gated: accept its terms on its page, then run `hf auth login`.") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise AkdError(f"There is no folder and no model {source!r} on the hub: check the name, or use 'embedded'.") from error
    except (ImportError, OSError, ValueError, TypeError, KeyError, AttributeError, RuntimeError) as error:
        raise AkdError(_reason(source, error)) from error


def _reason(source: str, error: Exception) -> str:
    said = str(error).lower()
    missing = [name for name, module in TOKENIZER_PACKAGES.items() if name in said and not _installed(module)]
    if missing:
        return f"The tokenizer of {source} needs the package {missing[0]}, which is missing: run `pip install {missing[0]}`."
    cure = "copy the whole folder again" if Path(source).is_dir() else "try again, or download it and give its folder"
    return f"The model {source} could not be loaded ({_first_line(error)}): {cure}."


def _installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).split("\n")[0][:150].rstrip(".:")
