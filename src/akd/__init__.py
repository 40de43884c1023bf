"""akd: a 3D character and a sentence in, an animation on the character's own skeleton out."""


__version__ = "0.1.0"
