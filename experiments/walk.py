"""The way of one command through the modules: ``python -m experiments.walk FILE "a fox walking"`` (docs/architecture.md).

Runs ``akd animate FILE PROMPT --track`` with one iteration under a profile hook and lists the modules of akd in the order in
which they are first entered, with how often the package changes from one to the next.
"""

import sys
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import FrameType
from typing import Any

import akd


class Walk:
    """A profile hook that notes modules of akd when a function of theirs is first called."""

    def __init__(self) -> None:
        self.root = str(Path(akd.__file__).parent)
        self.modules: dict[str, None] = {}

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code.co_name != "<module>":
            self.visit(frame.f_code.co_filename)

    def visit(self, file: str) -> None:
        if file.startswith(self.root):
            self.modules.setdefault(".".join(Path(file[len(self.root) + 1 :]).with_suffix("").parts))


def package(module: str) -> str:
    """The room of a module: its package, or for the values at the top level the module itself."""
    return module.split(".")[0]


def walked(command: Callable[[], None]) -> list[str]:
    """Modules in the order in which a command enters them."""
    walk = Walk()
    sys.setprofile(walk)
    try:
        command()
    finally:
        sys.setprofile(None)
    return list(walk.modules)


def main() -> None:
    from akd.cli import main as command

    file, prompt = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder:
        sys.argv = ["akd", "animate", file, prompt, "--track", "--iterations", "1", "--out", f"{folder}/run"]
        modules = walked(command)
    room = ""
    for module in modules:
        print(f"{package(module) if package(module) != room else '':12s} {module}")
        room = package(module)
    changes = sum(package(one) != package(other) for one, other in pairwise(modules))
    print(f"{len(modules)} modules, {changes} changes of package")


if __name__ == "__main__":
    main()
