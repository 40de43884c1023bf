"""``python -m experiments`` lists the experiments with one line each; ``python -m experiments NAME …`` runs some of them.

An experiment is a module of this package with ``tables()``, which yields rich tables, or with a ``main`` of its own; those with
options are run as ``python -m experiments.NAME``.
"""

import ast
import importlib
import pkgutil
import runpy
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

import experiments


def main(names: list[str]) -> None:
    """List all experiments, or run those that are named, with their default options."""
    console = Console(highlight=False)
    if not names:
        console.print(listing())
    for name in names:
        module = importlib.import_module(f"experiments.{name}")
        if hasattr(module, "tables"):
            for table in module.tables():
                console.print(table)
        else:
            console.rule(name)
            sys.argv = [name]
            sys.modules.pop(f"experiments.{name}")  # or runpy warns that the module is imported already
            runpy.run_module(f"experiments.{name}", run_name="__main__")


def listing() -> Table:
    """Name and first line of the docstring of every experiment, read without importing it."""
    table = Table("experiment", "what it measures, and where it is shown", box=None, pad_edge=False)
    for info in sorted(pkgutil.iter_modules(experiments.__path__), key=lambda info: info.name):
        if not info.name.startswith("_"):
            table.add_row(f"experiments.{info.name}", first_line(Path(experiments.__path__[0]), info.name))
    return table


def first_line(folder: Path, name: str) -> str:
    """The first line of a module's or package's docstring."""
    path = folder / name / "__init__.py" if (folder / name).is_dir() else folder / f"{name}.py"
    return (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]


if __name__ == "__main__":
    main(sys.argv[1:])
