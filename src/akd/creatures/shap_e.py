"""A neural text-to-3D model in the place of ``words.character``: Shap-E through diffusers.

Nothing is imported or downloaded until the user asks for it by calling ``shap_e_mesh``.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from akd.errors import AkdError
from akd.mesh import Mesh
from akd.rig import Rig

MODEL = "openai/shap-e"


def shap_e_character(
    prompt: str, rig_mesh: Callable[[Mesh], Rig], *, seed: int = 0, steps: int = 64, guidance: float = 15.0, model: str = MODEL
) -> tuple[Rig, str | None]:
    """A sentence to a character, as ``words.character`` does it: a model makes the mesh, ``rig_mesh`` skeleton and weights."""
    return rig_mesh(shap_e_mesh(prompt, seed=seed, steps=steps, guidance=guidance, model=model)), None


def shap_e_mesh(prompt: str, *, seed: int = 0, steps: int = 64, guidance: float = 15.0, model: str = MODEL) -> Mesh:
    """A coloured mesh, Y up, facing +X, standing on y = 0, of height one. Loads the model's weights."""
    pipeline_type, torch = _diffusers()
    try:
        pipeline = pipeline_type.from_pretrained(model)
    except OSError as error:
        raise AkdError(f"The model {model!r} could not be loaded; download it first or name a folder that holds it.") from error
    generator = torch.Generator().manual_seed(seed)
    output = pipeline(prompt, num_inference_steps=steps, guidance_scale=guidance, output_type="mesh", generator=generator)
    return stage_mesh(output.images[0])


def stage_mesh(decoded: Any) -> Mesh:
    """From Shap-E's axes (Z up, front towards −Y) and colour channels to the stage's."""
    vertices = np.asarray(decoded.verts.detach().cpu(), float)
    faces = np.asarray(decoded.faces.detach().cpu(), int)
    channels = [np.asarray(decoded.vertex_channels[name].detach().cpu(), float) for name in "RGB"]
    x, y, z = vertices.T
    upright = np.column_stack((-y, z, -x))
    upright -= (*upright.mean(0)[[0]], upright[:, 1].min(), upright.mean(0)[2])
    height = float(upright[:, 1].max())
    if not np.isfinite(height) or height <= 0:
        raise AkdError("The model returned an empty mesh; try another seed or a simpler prompt.")
    return Mesh(upright / height, faces, np.clip(np.column_stack(channels), 0, 1))


def _diffusers() -> tuple[Any, Any]:
    try:
        import torch
        from diffusers import ShapEPipeline
    except ImportError as error:
        raise AkdError("Text to 3D by Shap-E needs diffusers; install it with: pip install 'akd[prior]'.") from error
    return ShapEPipeline, torch
