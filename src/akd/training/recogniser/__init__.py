"""Training of the recogniser (``akd.measure.recognise``) in one command: ``python -m akd.training.recogniser``."""
