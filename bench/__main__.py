"""``python -m bench [name …]``: run the benches of this folder, all of them unless some are named, and print their tables."""

import importlib
import pkgutil
import sys

from rich.console import Console

import bench


def main(names: list[str]) -> None:
    console = Console()
    for module in sorted(info.name for info in pkgutil.iter_modules(bench.__path__)):
        if module.startswith("_") or (names and module not in names):
            continue
        tables = getattr(importlib.import_module(f"bench.{module}"), "tables", None)
        for table in tables() if tables else ():
            console.print(table)


if __name__ == "__main__":
    main(sys.argv[1:])
