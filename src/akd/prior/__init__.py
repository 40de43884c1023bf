"""Video models as distillation needs them, and the small one that ships inside. The only room that imports diffusers."""

