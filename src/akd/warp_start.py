"""Starting Warp without a word on the terminal."""

import os

import warp as wp


def start_warp() -> None:
    """Initialise Warp silently: it reports from C that a machine has no CUDA, and only the command line may print."""
    wp.config.log_level = wp.LOG_ERROR
    stderr = os.dup(2)
    try:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)
            wp.init()
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
