"""Runs a script under limits of memory, file size and processor time: ``python limited.py BYTES SECONDS script.py arguments…``.

A process sets its limits itself, because setting them between fork and exec is not safe in a program with threads. It
imports nothing of akd, to start fast.
"""

import runpy
import sys


def limit(size: int, seconds: int) -> None:
    """No more than this many bytes of memory, nor in any file, nor seconds of processor time, and no core dump.

    Where there are no limits, none is set.
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    limits = {resource.RLIMIT_AS: size, resource.RLIMIT_FSIZE: size, resource.RLIMIT_CPU: seconds, resource.RLIMIT_CORE: 0}
    for kind, most in limits.items():
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (most, hard))
        except (ValueError, OSError):  # macOS has no say in some of them
            continue


if __name__ == "__main__":
    limit(int(sys.argv[1]), int(sys.argv[2]))
    sys.argv = sys.argv[3:]
    runpy.run_path(sys.argv[0], run_name="__main__")
