"""The command line: the only place that prints. Heavy modules are imported where they are used, so that help is instant."""

import sys

TYPE_CHECKING = False  # the name that type checkers know; importing typing takes long enough to be stopped

if TYPE_CHECKING:
    from typing import NoReturn

DESCRIPTION = "A 3D character and a sentence in, an animation on the character's own skeleton out."
EXTRAS = {"mujoco": "mujoco", "diffusers": "prior", "transformers": "prior", "accelerate": "prior", "av": "video", "cv2": "video"}
"""Which extra brings a module that a command may lack."""
MISTAKE, STOPPED, UNHEARD = 2, 130, 1
"""Exit codes: something the user can mend; Ctrl-C; nobody reads what is printed."""


def main() -> None:
    """Run a command; a mistake of the user's ends in one sentence, and Ctrl-C at any moment in none.

    Nothing is imported before, for that takes long enough to be stopped.
    """
    stopped = False
    try:
        import atexit
        import signal

        def stop(*_: object) -> None:
            nonlocal stopped
            stopped = True
            raise KeyboardInterrupt

        if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
            signal.signal(signal.SIGINT, stop)
            atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # the interpreter takes a while to end
        _run()
    except KeyboardInterrupt:
        _leave(STOPPED)
    except BrokenPipeError:
        _leave(UNHEARD)
    except Exception as error:
        if stopped:  # modules that are stopped while they are imported say so in their own ways
            _leave(STOPPED)
        sentence = _sentence(error)
        if sentence is None:
            raise
        _say(sentence)
        _leave(MISTAKE)


def _run() -> None:
    import tyro

    from akd.cli.commands import COMMANDS

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal without ℓ still shows the rest
    tyro.extras.subcommand_cli_from_dict(COMMANDS, prog="akd", description=DESCRIPTION)
    if sys.stdout is not None:
        sys.stdout.flush()


def _sentence(error: Exception) -> str | None:
    """What to say of an error that the user can mend; None for one of ours."""
    from akd.errors import AkdError

    if isinstance(error, AkdError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name in EXTRAS:
        return f"this needs {error.name}: pip install 'akd[{EXTRAS[error.name]}]'."
    if isinstance(error, MemoryError):
        return "Memory ran out: close other programs, or ask for less at once."
    if isinstance(error, OSError) and error.strerror:
        where = f"{error.filename} cannot be used: " if error.filename is not None else "The system refuses: "
        return f"{where}{error.strerror}; check the path, the permissions and the space that is left."
    return None


def _say(sentence: str) -> None:
    from akd.cli.console import print_error

    print_error(sentence)


def _leave(code: int) -> "NoReturn":
    """End without another word, even if the pipe that is printed to is closed or its disk is full."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError:
        import os

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)
