"""How commands print: all text of tables, sentences, progress bars and errors passes here.

Names of files, clips and joints come from anywhere. They are printed as they are: nothing in them is markup, and characters
that would steer the terminal are shown escaped.
"""

import json
import sys
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import tyro

File = Annotated[Path, tyro.conf.Positional]
Facing = Annotated[str | None, tyro.conf.arg(help="Where the character faces in its file, if we guess wrong: +x, -x, +z or -z.")]
Height = Annotated[float | None, tyro.conf.arg(help="How tall the character is [m], if the file's units are wrong.")]
PLAIN: dict[str, Any] = {"soft_wrap": True}
"""For sentences with paths in them, which are not broken in two."""
HARMLESS_CONTROLS = {"\n", "\t"}
STEERING_CATEGORIES = {"Cc", "Cs"}
"""Control characters, and halves of characters that no terminal can show."""
DIRECTION_CONTROLS = frozenset("\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""They reorder the text around them."""
AsJson = Annotated[bool, tyro.conf.arg(name="json", help="Print JSON instead of a table.")]


def printable(text: str) -> str:
    """The text with every character that would steer a terminal escaped, as in ``\\x1b``."""
    return "".join(_escaped(letter) for letter in text)


def console():
    """Where tables and sentences go; rich is imported only when something is shown."""
    from rich.console import Console
    from rich.segment import Segment

    class PlainConsole(Console):
        """Strings are escaped before they are laid out in tables; styled texts, which are not strings, when they are drawn."""

        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(printable(text), **options)

        def render(self, renderable: Any, options: Any = None) -> Iterable[Segment]:
            for segment in super().render(renderable, options):
                yield segment if segment.control else Segment(printable(segment.text), segment.style)

    return PlainConsole(highlight=False, markup=False, emoji=False)


def watched(items: Iterable, count: int, what: str, *, quiet: bool = False) -> Iterable:
    """The items, with a progress bar while they are taken."""
    from rich.markup import escape
    from rich.progress import track

    return items if quiet else track(items, total=count, description=escape(printable(what)), console=console(), transient=True)


def print_error(sentence: object) -> None:
    """One sentence on standard error, named after the program."""
    print(printable(f"akd: {sentence}").replace("\n", "\\n"), file=sys.stderr)  # a file's name may have several lines


def _escaped(letter: str) -> str:
    steers = unicodedata.category(letter) in STEERING_CATEGORIES and letter not in HARMLESS_CONTROLS
    return letter.encode("unicode_escape").decode() if steers or letter in DIRECTION_CONTROLS else letter


def print_json(value: object) -> None:
    print(json.dumps(value, indent=2, default=str))


def is_file(text: str) -> bool:
    """Does a word of the command line name a file? A sentence may be longer than any file's name."""
    try:
        return Path(text).is_file()
    except (OSError, ValueError):
        return False
