"""Video diffusion models as priors: loading, text, encoding, prediction and noise schedule; one module per family."""

