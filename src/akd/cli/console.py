"""How commands speak to a terminal."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import tyro

File = Annotated[Path, tyro.conf.Positional]
Facing = Annotated[str | None, tyro.conf.arg(help="Where the character faces in its file, if we guess wrong: +x, -x, +z or -z.")]
Height = Annotated[float | None, tyro.conf.arg(help="How tall the character is [m], if the file's units are wrong.")]
PLAIN: dict[str, Any] = {"soft_wrap": True, "markup": False}
"""For sentences with names in them: what looks like markup is not, and a path is not broken in two."""
AsJson = Annotated[bool, tyro.conf.arg(name="json", help="Print JSON instead of a table.")]


def console():
    """Where tables and sentences go; rich is imported only when something is shown."""
    from rich.console import Console

    return Console(highlight=False)


def watched(items: Iterable, count: int, what: str, *, quiet: bool = False) -> Iterable:
    """The items, with a progress bar while they are taken."""
    from rich.progress import track

    return items if quiet else track(items, total=count, description=what, transient=True)


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2, default=str))


def is_file(text: str) -> bool:
    """Does a word of the command line name a file? A sentence may be longer than any file's name."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
