"""Training of the embedded video prior, from filmed clips to a diffusers folder."""
