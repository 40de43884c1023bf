"""The families, found by the pipeline class that a model's folder names."""

from akd.prior.families.cogvideox import CogVideoX
from akd.prior.families.hunyuan import HunyuanVideo
from akd.prior.families.ltx import LTXVideo
from akd.prior.families.modelscope import ModelScope
from akd.prior.families.wan import Wan
from akd.prior.family import Family

FAMILIES: dict[str, type[Family]] = {
    family.pipeline_class: family for family in (CogVideoX, Wan, LTXVideo, HunyuanVideo, ModelScope)
}
