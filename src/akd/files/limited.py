"""Runs a script under limits of memory and file size: ``python limited.py BYTES script.py arguments…``.

A process sets its limits itself, because setting them between fork and exec is not safe in a program with threads. It
imports nothing of akd, to start fast.
"""

import runpy
import sys


def limit(size: int) -> None:
    """No more than this many bytes of memory, nor in any file, and no core dump. Where there are no limits, none is set."""
    try:
        import resource
    except ImportError:  # Windows
        return
    for kind, most in ((resource.RLIMIT_AS, size), (resource.RLIMIT_FSIZE, size), (resource.RLIMIT_CORE, 0)):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (most, hard))
        except (ValueError, OSError):  # macOS has no say in some of them
            continue


if __name__ == "__main__":
    limit(int(sys.argv[1]))
    sys.argv = sys.argv[2:]
    runpy.run_path(sys.argv[0], run_name="__main__")
