"""Which core dependencies have wheels for which system and Python: the table of docs/install.md.

    python -m experiments.wheels

Asks the package index that pip is configured with, for the newest release within our ranges and for everything that release
needs on that system; nothing is downloaded but metadata. Requirements of requirements are those of the installed releases.
"""

import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path

import tyro
from packaging.requirements import Requirement
from rich.console import Console
from rich.table import Table

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
GLIBC = range(17, 36)
"""Minor versions of glibc 2 whose wheels are accepted: from that of manylinux2014 to that of Ubuntu 22.04."""


@dataclass(frozen=True)
class System:
    """A system that wheels are looked for."""

    name: str
    tags: tuple[str, ...]
    """Platform tags of its wheels."""
    markers: Mapping[str, str]
    """How requirements describe it."""


def linux(machine: str, name: str) -> System:
    tags = tuple(f"manylinux_2_{minor}_{machine}" for minor in reversed(GLIBC)) + (f"manylinux2014_{machine}",)
    return System(name, tags, {"sys_platform": "linux", "platform_system": "Linux", "platform_machine": machine})


SYSTEMS = (
    linux("x86_64", "Linux x86-64"),
    linux("aarch64", "Linux arm64"),
    System(
        "macOS arm64", ("macosx_14_0_arm64",),
        {"sys_platform": "darwin", "platform_system": "Darwin", "platform_machine": "arm64"},
    ),
    System(
        "Windows x86-64", ("win_amd64",), {"sys_platform": "win32", "platform_system": "Windows", "platform_machine": "AMD64"}
    ),
)  # fmt: skip


@dataclass(frozen=True)
class Wheels:
    """What is looked for."""

    pythons: tuple[str, ...] = ("3.11", "3.12", "3.13")
    extras: tuple[str, ...] = ("usd", "fbx", "mujoco", "embree")
    """Extras that are looked for after the core."""
    workers: int = 4
    """Questions to the index at once."""


def core_requirements() -> list[Requirement]:
    """What pyproject.toml asks for without extras."""
    return [Requirement(text) for text in tomllib.loads(PROJECT.read_text())["project"]["dependencies"]]


def extra_requirements(extra: str) -> list[Requirement]:
    """What one of its extras brings."""
    return [Requirement(text) for text in tomllib.loads(PROJECT.read_text())["project"]["optional-dependencies"][extra]]


def needed(requirement: Requirement, system: System, python: str) -> list[Requirement]:
    """A requirement and, further on, all that it needs on a system."""
    environment = {**system.markers, "python_version": python, "python_full_version": f"{python}.0", "extra": ""}
    found: dict[str, Requirement] = {}
    waiting = [requirement]
    while waiting:
        each = waiting.pop()
        if each.name.lower() in found or (each.marker is not None and not each.marker.evaluate(environment)):
            continue
        found[each.name.lower()] = each
        try:
            waiting.extend(Requirement(text) for text in requires(each.name) or [])
        except PackageNotFoundError:  # needed only elsewhere: what it needs is not known here
            continue
    return list(found.values())


def has_wheels(requirements: list[Requirement], system: System, python: str) -> bool:
    """Are there wheels of all these?"""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--no-deps", "--only-binary=:all:"]
    command += ["--ignore-installed", "--target=unused", f"--python-version={python}"]
    command += [f"--platform={tag}" for tag in system.tags] + [f"{each.name}{each.specifier}" for each in requirements]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def missing(requirement: Requirement, system: System, python: str) -> list[str]:
    """Names without a wheel among a requirement and what it needs."""
    wanted = needed(requirement, system, python)
    if has_wheels(wanted, system, python):
        return []
    return [each.name for each in wanted if not has_wheels([each], system, python)]


def cell(requirement: Requirement, system: System, pythons: tuple[str, ...]) -> str:
    """The versions of Python with wheels, and what is missing for the others."""
    lacks = {python: missing(requirement, system, python) for python in pythons}
    good = [python for python in pythons if not lacks[python]]
    bad = [f"{python} lacks {', '.join(names)}" for python, names in lacks.items() if names]
    return "; ".join([*([" ".join(good)] if good else []), *bad])


def rows(wheels: Wheels) -> Iterator[list[str]]:
    """A requirement and its cell for every system."""
    requirements = core_requirements() + [each for extra in wheels.extras for each in extra_requirements(extra)]
    with ThreadPoolExecutor(wheels.workers) as pool:
        asked = [[pool.submit(cell, each, system, wheels.pythons) for system in SYSTEMS] for each in requirements]
        for each, cells in zip(requirements, asked, strict=True):
            yield [str(each), *(found.result() for found in cells)]


def main(wheels: Wheels) -> None:
    """Print the table."""
    table = Table("requirement", *(system.name for system in SYSTEMS), title="Versions of Python with wheels")
    for row in rows(wheels):
        table.add_row(*row)
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Wheels))
