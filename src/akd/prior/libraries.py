"""The libraries of big video models, imported where they are needed and without what they say at import."""

import logging
from typing import Any

from akd.errors import AkdError


def diffusers_library(source: str) -> Any:
    """diffusers, or a sentence on how to get it; ``source`` is what needs it."""
    # torchao, if it is there, warns of kernels for cards that this machine lacks; that would hide what a command says.
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        import diffusers
        import transformers

        _ = diffusers.DiffusionPipeline, diffusers.ModelMixin, diffusers.TorchAoConfig  # imported at their first use
    except ImportError as error:
        raise AkdError(f"{source} needs packages that are not installed: run `pip install 'akd[prior]'`.") from error
    finally:
        logging.disable(before)
    # Bars for parts that load in a second would only push what a command says off the screen.
    diffusers.utils.logging.disable_progress_bar()
    transformers.utils.logging.disable_progress_bar()
    return diffusers
