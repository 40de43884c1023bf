"""Priors by name: a folder, a name on the hub, or the one inside the package."""

import json
from pathlib import Path
from typing import Any, Literal

import torch

from akd.errors import AkdError
from akd.prior.families import FAMILIES
from akd.prior.prior import VideoPrior
from akd.render.film import FilmSettings

EMBEDDED = "embedded"
EMBEDDED_FOLDER = Path(__file__).parent / "weights"
Offload = Literal["none", "model", "sequential"]


def load_prior(
    name: str = EMBEDDED, *, dtype: torch.dtype = torch.float32, device: str = "cpu", offload: Offload = "none",
    tiling: bool = False, slicing: bool = False,
) -> VideoPrior:  # fmt: skip
    """A video model, ready.

    ``offload`` keeps the parts (*model*) or even single layers (*sequential*) that do not work at the moment in main memory.
    ``tiling`` encodes pictures piece by piece, ``slicing`` one video of a batch after the other: less memory, more time.
    """
    folder = EMBEDDED_FOLDER if name == EMBEDDED else Path(name)
    source = str(folder) if folder.is_dir() else name
    if name == EMBEDDED and not folder.is_dir():
        raise AkdError("This copy of akd came without its own prior: name a folder with one, or train it with `akd prior train`.")
    family = _family(source)
    pipe = _pipeline(source, dtype)
    if offload == "none":
        pipe.to(device)
    elif offload == "model":
        pipe.enable_model_cpu_offload(device=device)
    else:
        pipe.enable_sequential_cpu_offload(device=device)
    if tiling:
        pipe.vae.enable_tiling()
    if slicing:
        pipe.vae.enable_slicing()
    pipe.set_progress_bar_config(disable=True)
    film = folder / "film.json"
    return VideoPrior(FAMILIES[family](pipe), FilmSettings.load(film) if film.is_file() else None)


def _family(source: str) -> str:
    """Which family a folder or a model on the hub belongs to."""
    name = _index(source).get("_class_name", "nothing")
    if name not in FAMILIES:
        raise AkdError(f"{source} is a {name}, no family of video models known here; those are {', '.join(FAMILIES)}.")
    return name


def _index(source: str) -> dict[str, Any]:
    if Path(source).is_dir():
        index = Path(source) / "model_index.json"
        if not index.is_file():
            raise AkdError(f"The folder {source} has no model_index.json, so it is no diffusers pipeline: name one that is.")
        return json.loads(index.read_text())
    from diffusers import DiffusionPipeline

    return _reachable(source, DiffusionPipeline.load_config, source)


def _pipeline(source: str, dtype: torch.dtype) -> Any:
    import diffusers
    import transformers

    # Bars for parts that load in a second would only push what a command says off the screen.
    diffusers.utils.logging.disable_progress_bar()
    transformers.utils.logging.disable_progress_bar()
    return _reachable(source, diffusers.DiffusionPipeline.from_pretrained, source, dtype=dtype)


def _reachable(source: str, function: Any, *args: Any, **options: Any) -> Any:
    """Call something that may need the network, and say in one sentence what to do if it fails."""
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    try:
        return function(*args, **options)
    except GatedRepoError as error:
        raise AkdError(f"The model {source} is gated: accept its terms on its page, then run `hf auth login`.") from error
    except (RepositoryNotFoundError, HFValidationError) as error:
        raise AkdError(f"There is no folder and no model {source!r} on the hub: check the name, or use 'embedded'.") from error
    except (OSError, ValueError) as error:
        raise AkdError(
            f"The model {source} could not be loaded ({_first_line(error)}): go online, or download it and give its folder."
        ) from error


def _first_line(error: Exception) -> str:
    return str(error).strip().split("\n")[0][:150].rstrip(".")
