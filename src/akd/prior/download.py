"""Downloads of models: what is needed of a repository, its size and licence said first, safetensors only."""

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from akd.errors import AkdError
from akd.prior.folder import NETWORKS, PICKLED, read_object
from akd.prior.known_models import recognised
from akd.prior.memory import GIGABYTE

Tell = Callable[[str], None]
PLAIN_FILES = (".json", ".txt", ".model", ".jinja", ".safetensors")
"""Suffixes that are downloaded: configurations, vocabularies and weights that cannot run code."""
LICENCES = {
    "THUDM/CogVideoX-2b": "Apache-2.0",
    "THUDM/CogVideoX": "the CogVideoX licence (research; commercial use after registration with its makers)",
    "zai-org/CogVideoX-2b": "Apache-2.0",
    "zai-org/CogVideoX": "the CogVideoX licence (research; commercial use after registration with its makers)",
    "Wan-AI/": "Apache-2.0",
    "Lightricks/LTX-2": "the LTX-2 community licence (free below a yearly revenue that it names)",
    "Lightricks/": "the LTX-Video open weights licence (see its page before commercial use)",
    "hunyuanvideo-community/": "the Tencent Hunyuan community licence (not for the EU, the UK and South Korea)",
    "ali-vilab/": "CC BY-NC 4.0 (no commercial use)",
}
"""Licences by how a name begins, written down from memory of their pages; the longest beginning counts."""
CARD_LICENCE = re.compile(r"^license(?:_name)?:\s*(\S.*?)\s*$", re.MULTILINE)
"""In the head of a model's README.md; its last entry is the most exact one."""


class HubFile(NamedTuple):
    """A file of a repository."""

    name: str
    size: int


def needed_files(files: Collection[HubFile], index: Mapping[str, Any], unneeded: Iterable[str] = ()) -> list[HubFile]:
    """What a pipeline's parts consist of; variants in other numbers, pickled files and parts that nobody needs are left out."""
    parts = [part for part, entry in index.items() if isinstance(entry, list) and entry[1] is not None and part not in unneeded]
    found = [file for file in files if _is_needed(file.name, parts)]
    for part in parts:
        own = [file.name for file in files if file.name.startswith(f"{part}/")]
        if part in NETWORKS and not any(name.endswith(".safetensors") for name in own):
            pickled = any(name.endswith(PICKLED) for name in own)
            reason = "only as pickled files, which can run any code when they are read" if pickled else "not at all"
            raise AkdError(f"The model has the weights of its {part} {reason}: choose another version of it.")
    return found


def _is_needed(name: str, parts: Iterable[str]) -> bool:
    if "/" not in name:
        return name.endswith(".json")
    part, file = name.split("/", 1)
    # diffusers names variants in other numbers as model.fp16.safetensors, and shards as model-00001-of-00002.safetensors.
    variant = file.endswith((".safetensors", ".safetensors.index.json")) and file.split(".safetensors")[0].count(".") > 0
    return part in parts and name.endswith(PLAIN_FILES) and not variant


def licence_of(name: str, said: str | None = None) -> str | None:
    """The licence of a model by its name, or what its page says."""
    known = max((begin for begin in LICENCES if name.startswith(begin)), key=len, default=None)
    return said if known is None else LICENCES[known]


def folder_licence(folder: Path, index: Mapping[str, Any]) -> str | None:
    """What is known of the licence of a model in a folder of this machine, as a sentence: by its own card, or by its network."""
    card = folder / "README.md"
    head = card.read_text(encoding="utf-8", errors="replace").split("\n---", 1)[0] if card.is_file() else ""
    said = CARD_LICENCE.findall(head) if head.startswith("---") else []
    if said:
        return f"The licence of {folder}, as its README.md says: {said[-1]}."
    config = folder / "transformer/config.json"
    if not config.is_file():
        return None
    two = index.get("transformer_2", [None, None])[1] is not None
    name = recognised(index["_class_name"], read_object(config), two_networks=two)
    return None if name is None else f"{folder} is built like {name}, whose licence is {licence_of(name)}."


def download(name: str, index: Mapping[str, Any], unneeded: Iterable[str] = (), tell: Tell | None = None) -> Path:
    """A model's folder in the cache, after a download of what is missing; size and licence are said before."""
    from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache
    from huggingface_hub.utils import enable_progress_bars

    info = HfApi().model_info(name, files_metadata=True)
    files = needed_files([HubFile(each.rfilename, each.size or 0) for each in info.siblings or ()], index, unneeded)
    missing = [file for file in files if not isinstance(try_to_load_from_cache(name, file.name), str)]
    size = sum(file.size for file in missing) / GIGABYTE
    cache = Path(constants.HF_HUB_CACHE)
    check_room(name, size, cache)
    if missing and tell is not None:
        card = info.card_data.get("license") if info.card_data is not None else None
        licence = licence_of(name, card)
        terms = "" if licence is None else f" Its licence: {licence}."
        tell(f"{name}: {size:.1f} GB will be downloaded to {cache}.{terms}")
    enable_progress_bars()
    return Path(snapshot_download(name, allow_patterns=[file.name for file in files]))


def check_room(name: str, gigabytes: float, cache: Path) -> None:
    """Refuse a download that the disk has no room for."""
    folder = next(each for each in (cache, *cache.parents) if each.exists())
    free = shutil.disk_usage(folder).free / GIGABYTE
    if gigabytes > free:
        raise AkdError(
            f"{name} needs {gigabytes:.1f} GB on the disk of {folder}, where {free:.1f} GB are free: make room, or set HF_HOME to"
            " a folder on another disk."
        )
