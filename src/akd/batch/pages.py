"""Pages of a batch from their parts."""

import json
from html import escape
from importlib.resources import files
from string import Template
from typing import Any


def page(name: str, *, title: str, rows: Any, **parts: str) -> str:
    """The page NAME.html with its script, the common style and its data."""
    texts = {key: escape(text) for key, text in parts.items()}
    return Template(_part(f"{name}.html")).substitute(
        title=escape(title), style=_part("page.css"), script=_part(f"{name}.js"), rows=as_script_data(rows), **texts
    )


def as_script_data(value: Any) -> str:
    """JSON that may stand in a script element, whatever texts are in it."""
    return json.dumps(value, separators=(",", ":")).replace("<", "\\u003c")


def _part(name: str) -> str:
    return (files("akd.batch") / "page" / name).read_text(encoding="utf-8")
