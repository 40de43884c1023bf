"""Where a prior is and whether it is whole: folders and hub names are checked before any library is loaded."""

import json
import re
import socket
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from akd.errors import AkdError

INDEX = "model_index.json"
EMBEDDED, EMBEDDED_ACTIONS = "embedded", "embedded-actions"
"""The small models inside the package: one for gaits, whose films show skin, one for all else, whose films show figures."""
EMBEDDED_FOLDERS = {EMBEDDED: Path(__file__).parent / "weights", EMBEDDED_ACTIONS: Path(__file__).parent / "actions"}
EMBEDDED_FOLDER = EMBEDDED_FOLDERS[EMBEDDED]
NETWORKS = ("transformer", "transformer_2", "unet", "vae", "text_encoder", "text_encoder_2", "image_encoder", "connectors")
"""Parts of a pipeline that have weights."""
PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl")
"""Suffixes of weights that run code when they are read."""
MAX_HEADER_BYTES = 100_000_000
"""Longest header that the safetensors format allows."""
CONNECT_SECONDS = 1.5
"""How long a first contact with the hub, name resolution included, may take; after that it counts as out of reach."""
SAME_OWNERS = {"THUDM": "zai-org", "zai-org": "THUDM"}
"""Owners on the hub that were renamed, both ways: their models are the same."""
SAME_PIPELINES = {"WanDMDPipeline": "WanPipeline"}
"""Pipelines of other libraries over parts that diffusers has: FastVideo's few-step Wan models."""
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
"""Owner and model."""


def read_object(path: Path) -> dict[str, Any]:
    """A JSON file that holds an object."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise AkdError(f"{path} cannot be read ({error.strerror}): copy the whole folder again.") from error
    except ValueError as error:
        raise AkdError(f"{path} is not JSON ({error}): copy the whole folder again.") from error
    if not isinstance(value, dict):
        raise AkdError(f"{path} holds a {type(value).__name__} instead of an object: copy the whole folder again.")
    return value


def read_index(folder: Path) -> dict[str, Any]:
    """A pipeline's ``model_index.json``: its class and the [library, class] of each part."""
    if not (folder / INDEX).is_file():
        raise AkdError(f"The folder {folder} has no {INDEX}, so it is no diffusers pipeline: name one that is.")
    index = read_object(folder / INDEX)
    if not isinstance(index.get("_class_name"), str):
        raise AkdError(f"{folder / INDEX} names no pipeline, _class_name is {index.get('_class_name')!r}: copy the folder again.")
    for part in (*NETWORKS, "scheduler", "tokenizer"):
        entry = index.get(part, [None, None])
        if not (isinstance(entry, list) and len(entry) == 2 and all(name is None or isinstance(name, str) for name in entry)):
            raise AkdError(f"{folder / INDEX} has {entry!r} for {part} instead of a library and a class: copy the folder again.")
    return index | {"_class_name": SAME_PIPELINES.get(index["_class_name"], index["_class_name"])}


def check_weights(folder: Path, index: Mapping[str, Any], unneeded: Iterable[str] = ()) -> None:
    """Refuse a folder in which a network's configuration or weights are missing, pickled or cut off."""
    for part in NETWORKS:
        if part not in unneeded and index.get(part, [None, None])[1] is not None:
            read_object(folder / part / "config.json")
            for file in _weight_files(folder / part):
                _check_complete(file)


def _weight_files(folder: Path) -> list[Path]:
    files = sorted(folder.glob("*.safetensors"))
    for listing in folder.glob("*.safetensors.index.json"):
        shards = read_object(listing).get("weight_map", {})
        missing = sorted(set(shards.values()) - {file.name for file in files}) if isinstance(shards, dict) else [listing.name]
        if missing:
            raise AkdError(f"The folder {folder} lacks {missing[0]}, which {listing.name} lists: copy the whole folder again.")
    if files:
        return files
    pickled = sorted(file.name for file in folder.iterdir() if file.suffix in PICKLED)
    if pickled:
        raise AkdError(
            f"The weights {folder / pickled[0]} are pickled, and reading them can run any code: if you trust them, convert"
            f" them with `python -c \"from diffusers import DiffusionPipeline as D; D.from_pretrained('{folder.parent}',"
            f" use_safetensors=False).save_pretrained('{folder.parent}-safe')\"`."
        )
    raise AkdError(f"The folder {folder} has no weights (*.safetensors): copy the whole folder again.")


def _check_complete(file: Path) -> None:
    """A safetensors file is 8 bytes (length of the header), the header (JSON) and the tensors, whose ends the header gives."""
    size = file.stat().st_size
    with file.open("rb") as stream:
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, MAX_HEADER_BYTES):
            raise AkdError(f"The weights {file} are cut off or no safetensors ({size:,} bytes): copy the file again.")
        try:
            header = json.loads(stream.read(length))
            end = max((entry["data_offsets"][1] for name, entry in header.items() if name != "__metadata__"), default=0)
        except (ValueError, AttributeError, TypeError, KeyError, IndexError) as error:
            raise AkdError(f"The weights {file} are no safetensors, their header is broken: copy the file again.") from error
    if size != 8 + length + end:
        raise AkdError(f"The weights {file} have {size:,} bytes instead of {8 + length + end:,}: copy the file again.")


def locate(name: str) -> tuple[Path | None, bool]:
    """The cached folder of a model on the hub, if there is one, and whether the hub can be reached.

    A model that is neither in the cache nor within reach is refused here, in a second: the libraries that download would try for
    half a minute and then give another reason.
    """
    if not HUB_NAME.fullmatch(name):
        raise AkdError(f"There is no folder {name!r}, and it is no name on the hub (owner/model): check it, or use 'embedded'.")
    try:
        from huggingface_hub import constants, try_to_load_from_cache
    except ImportError as error:
        raise AkdError(f"The model {name} needs packages that are not installed: run `pip install 'akd[prior]'`.") from error

    owner, _, model = name.partition("/")
    names = (name, f"{SAME_OWNERS[owner]}/{model}") if owner in SAME_OWNERS else (name,)
    found = next((path for path in (try_to_load_from_cache(each, INDEX) for each in names) if isinstance(path, str)), None)
    cached = None if found is None else Path(found).parent
    reachable = not constants.HF_HUB_OFFLINE and can_connect(constants.ENDPOINT)
    if cached is None and not reachable:
        host = urlsplit(constants.ENDPOINT).hostname
        reason = "HF_HUB_OFFLINE is set" if constants.HF_HUB_OFFLINE else f"{host} cannot be reached"
        raise AkdError(f"There is no folder {name!r}, no such model in the cache, and {reason}: go online, or give a folder.")
    return cached, reachable


def can_connect(address: str, seconds: float = CONNECT_SECONDS) -> bool:
    """Whether something listens at a URL, or at the proxy that leads to it."""
    target = urlsplit(getproxies().get(urlsplit(address).scheme) or address)
    place = (target.hostname, target.port or (443 if target.scheme == "https" else 80))
    answered: list[bool] = []

    def connect() -> None:
        with suppress(OSError):
            socket.create_connection(place, timeout=seconds).close()
            answered.append(True)

    # Name resolution has no timeout of its own, so it waits in a thread, which is left behind if it takes too long.
    attempt = Thread(target=connect, daemon=True)
    attempt.start()
    attempt.join(seconds)
    return bool(answered)
