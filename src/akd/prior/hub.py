"""Models on the Hugging Face hub: is one in the local cache, and can the hub be reached?"""

import re
import socket
from contextlib import suppress
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import getproxies

from akd.errors import AkdError
from akd.prior.folder import INDEX

CONNECT_SECONDS = 1.5
"""How long a first contact with the hub, name resolution included, may take; after that it counts as out of reach."""
HUB_NAME = re.compile(r"[\w.-]+/[\w.-]+")
"""Owner and model."""


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

    found = try_to_load_from_cache(name, INDEX)
    cached = Path(found).parent if isinstance(found, str) else None
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
