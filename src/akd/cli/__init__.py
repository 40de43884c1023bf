"""The command line: the only place that prints. Heavy modules are imported where they are used, so that help is instant."""

import sys
from collections.abc import Callable
from typing import Any

import tyro

from akd.cli import characters, pose, posespace, prior, retarget, track
from akd.cli.animate import animate
from akd.cli.console import print_error
from akd.errors import AkdError

COMMANDS: dict[str, Callable[..., Any]] = {
    "animate": animate, "creature": characters.creature, "rig": characters.rig, "inspect": characters.inspect,
    "evaluate": characters.evaluate, "convert": characters.convert, "splat": characters.splat, "track": track.track,
    "retarget": retarget.retarget, "prior": prior.prior, "pose": pose.pose, "posespace": posespace.posespace,
}  # fmt: skip
DESCRIPTION = "A 3D character and a sentence in, an animation on the character's own skeleton out."
EXTRAS = {"warp": "physics", "mujoco": "physics", "diffusers": "prior", "transformers": "prior", "safetensors": "prior"}
"""Which extra brings a module that a command may lack."""


def main() -> None:
    """Run a command; a mistake of the user's ends in one sentence."""
    try:
        tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="akd", description=DESCRIPTION)
    except AkdError as error:
        print_error(error)
        sys.exit(2)
    except ModuleNotFoundError as error:
        if error.name not in EXTRAS:
            raise
        print_error(f"this needs {error.name}: pip install 'akd[{EXTRAS[error.name]}]'.")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
