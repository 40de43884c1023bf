"""The families, found by the pipeline class that a model's folder names."""

from akd.errors import AkdError
from akd.prior.families.cogvideox import CogVideoX, CogVideoXImage
from akd.prior.families.hunyuan import HunyuanVideo
from akd.prior.families.hunyuan15 import HunyuanVideo15, HunyuanVideo15Image
from akd.prior.families.hunyuan_image import HunyuanVideoImage
from akd.prior.families.ltx import LTXCondition, LTXImage, LTXVideo
from akd.prior.families.ltx2 import LTX2, LTX2Image
from akd.prior.families.modelscope import ModelScope
from akd.prior.families.wan import Wan, WanImage
from akd.prior.families.wan_vace import WanVACE
from akd.prior.family import Family

FAMILIES: dict[str, type[Family]] = {
    family.pipeline_class: family
    for family in (
        CogVideoX, CogVideoXImage, Wan, WanImage, WanVACE, LTXVideo, LTXImage, LTXCondition, LTX2, LTX2Image, HunyuanVideo,
        HunyuanVideoImage, HunyuanVideo15, HunyuanVideo15Image, ModelScope,
    )
}  # fmt: skip


def family_class(pipeline: str, source: str) -> type[Family]:
    """The family of a pipeline class; ``source`` is the model that names it, for the error."""
    if pipeline not in FAMILIES:
        raise AkdError(f"{source} is a {pipeline}, no family of video models known here; those are {', '.join(FAMILIES)}.")
    return FAMILIES[pipeline]
