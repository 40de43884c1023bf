"""The bytes of a glTF file: the GLB container, data URIs, and files beside it.

A file may name any other file, so addresses are followed only inside the folder of the file that names them.
"""

import base64
import binascii
import json
import re
import struct
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from akd.errors import AkdError
from akd.files.gltf.json_entry import shortened

MAX_FILE_BYTES = 2**31


def file_bytes(path: Path, name: str) -> bytes:
    """The contents of a regular file of bearable size."""
    try:
        if not path.is_file():
            raise AkdError(f"There is no file {name}; please check the path.")
        if path.stat().st_size > MAX_FILE_BYTES:
            raise AkdError(f"{name} is larger than {MAX_FILE_BYTES // 2**30} GiB; please simplify it.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        raise AkdError(f"{name} cannot be read ({type(error).__name__}); please check the path and its permissions.") from error


def glb_chunks(data: bytes, name: str) -> tuple[bytes, bytes]:
    """The JSON and the BIN chunk of a GLB; chunks of other kinds are skipped, as the standard asks."""
    if len(data) < 20:
        raise AkdError(f"{name} ends after {len(data)} bytes, inside its header; please get it again.")
    version, length = struct.unpack_from("<II", data, 4)
    if version != 2 or length > len(data):
        raise AkdError(f"{name} says GLB version {version} and {length} bytes, but has {len(data)}; please get it again.")
    chunks: dict[bytes, bytes] = {}
    start = 12
    while start + 8 <= length:
        size, kind = struct.unpack_from("<I4s", data, start)
        if start + 8 + size > length:
            raise AkdError(f"A chunk of {name} says it has {size} bytes, past the end of the file; please get it again.")
        chunks.setdefault(kind, data[start + 8 : start + 8 + size])
        start += 8 + size
    if b"JSON" not in chunks:
        raise AkdError(f"{name} has no JSON chunk, so it is not a usable GLB file; please export it again.")
    return chunks[b"JSON"], chunks.get(b"BIN\0", b"")


def parsed_json(text: bytes, name: str) -> dict[str, Any]:
    """The JSON object in these bytes."""
    try:
        parsed = json.loads(text.rstrip(b"\0").decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        cause = shortened(str(error))
        raise AkdError(f"{name} is not glTF: its JSON cannot be parsed ({cause}); please export it again.") from error
    if not isinstance(parsed, dict):
        raise AkdError(f"{name} is not glTF: its JSON is {shortened(parsed)}, not an object; please export it again.")
    return parsed


def uri_bytes(uri: str, path: Path) -> bytes:
    """The contents of a data URI, or of a file inside the folder of the file at ``path``."""
    target = uri_target(uri, path)
    return target if isinstance(target, bytes) else file_bytes(target, f"{shortened(uri)}, which {path.name} refers to")


def uri_target(uri: str, path: Path) -> bytes | Path:
    """What a URI in the file at ``path`` leads to: embedded data, or a path inside its folder, where a file may be."""
    if uri[:5].lower() == "data:":
        return _data_uri_bytes(uri, path.name)
    relative = unquote(uri)
    absolute = relative.startswith("/") or any(re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text) for text in (uri, relative))
    if absolute or "\\" in relative or "\0" in relative:
        raise AkdError(f"{path.name} refers to {shortened(uri)}, but only files beside it may be read; please embed that file.")
    folder = path.parent.resolve()
    try:
        target = (folder / relative).resolve()
    except (OSError, RuntimeError, ValueError) as error:
        raise AkdError(f"{path.name} refers to {shortened(uri)}, which is no file name; please embed that file.") from error
    if not target.is_relative_to(folder):
        raise AkdError(f"{path.name} refers to {shortened(uri)}, which is outside its folder; please move that file beside it.")
    return target


def _data_uri_bytes(uri: str, name: str) -> bytes:
    """The contents of a data URI."""
    head, comma, body = uri.partition(",")
    try:
        if not comma:
            raise ValueError("no comma")
        return base64.b64decode(unquote(body), validate=True) if head.endswith(";base64") else unquote(body).encode("latin-1")
    except (binascii.Error, ValueError) as error:
        cause = shortened(str(error))
        raise AkdError(f"{name} has a data URI that cannot be decoded ({cause}); please export it again.") from error
