"""Breaks overlong lines of prose in Markdown pages, which readers of a diff or a terminal have to scroll through.

    python tools/wrap_pages.py docs/*.md            # change the pages
    python tools/wrap_pages.py --check docs/*.md    # only name them

Tables, code, headings and short lines stay as they are; code and links in the text are never broken. The page looks the same.
"""

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

WIDTH = 130  # characters, as in the code
TOLERATED = 140  # a line a little longer is left alone, so that pages change only where it helps
ATOM = re.compile(r"(?:`[^`]*`|!?\[[^\]]*\]\([^)]*\)|\S)+")
FENCE = re.compile(r"\s*(```|~~~)")
ITEM = re.compile(r"(\s*)([-*+]|\d+\.)(\s+)")
NO_START = re.compile(r"([-+*>#=|]|\d+[.)])")  # what would begin a list, a heading or a quotation at the start of a line


def wrapped(lines: list[str]) -> Iterator[str]:
    """A paragraph or a list's item in lines of at most ``WIDTH``; those of an item are indented like its text."""
    item = ITEM.match(lines[0])
    indent = " " * (item.end() if item else len(lines[0]) - len(lines[0].lstrip()))
    start = lines[0][: item.end()] if item else indent
    out, empty = start, True
    for atom in ATOM.findall(" ".join([lines[0][len(start) :], *(line.strip() for line in lines[1:])])):
        if not empty and len(out) + 1 + len(atom) > WIDTH and not NO_START.match(atom):
            yield out
            out, empty = indent, True
        out += atom if empty else f" {atom}"
        empty = False
    yield out


def wrapped_page(text: str) -> str:
    """A page with the paragraphs broken anew that have an overlong line."""
    out, group, code = list[str](), list[str](), False

    def finish() -> None:
        out.extend(wrapped(group) if any(len(line) > TOLERATED for line in group) else group)
        group.clear()

    for line in text.splitlines():
        if FENCE.match(line):
            code = not code
        prose = line.strip() and not (code or FENCE.match(line) or line.lstrip().startswith(("|", "#", "<", "!!!", ">")))
        if not prose or ITEM.match(line):
            finish()
        if prose:
            group.append(line)
        else:
            out.append(line)
        if line.endswith(("  ", "\\")):  # a line break that is meant
            finish()
    finish()
    return "\n".join(out) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", nargs="+", type=Path)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if a page has overlong lines")
    options = parser.parse_args()
    texts = {page: page.read_text(encoding="utf-8") for page in options.pages}
    overlong = {page: wrapped_page(text) for page, text in texts.items() if wrapped_page(text) != text}
    for page, text in overlong.items():
        print(page)
        if not options.check:
            page.write_text(text, encoding="utf-8")
    sys.exit(1 if options.check and overlong else 0)


if __name__ == "__main__":
    main()
