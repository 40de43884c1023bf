"""``python -m experiments [name …]``: run the benches of this folder, all of them unless some are named."""

import importlib
import pkgutil
import runpy
import sys

from rich.console import Console

import experiments


def main(names: list[str]) -> None:
    console = Console()
    found = [info.name for info in pkgutil.iter_modules(experiments.__path__) if not info.name.startswith("_")]
    for name in names or sorted(found):
        module = importlib.import_module(f"experiments.{name}")
        if hasattr(module, "tables"):
            for table in module.tables():
                console.print(table)
        elif hasattr(module, "main"):
            console.rule(name)
            sys.argv = [name]
            del sys.modules[module.__name__]  # or runpy warns that it runs what is imported already
            runpy.run_module(f"experiments.{name}", run_name="__main__")


if __name__ == "__main__":
    main(sys.argv[1:])
