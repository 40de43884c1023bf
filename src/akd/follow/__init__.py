"""Motion from a video of the character: the clip, the subject in it, the camera, and the pose of every frame.

``akd.follow`` is also the name of the public function, and Python gives a package the name of its folder as soon as anything in
it is imported; so the package itself can be called, and calls that function.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import Any


class _CallableRoom(ModuleType):
    def __call__(self, *values: Any, **options: Any) -> Any:
        return import_module("akd.pipeline.follow").follow(*values, **options)


sys.modules[__name__].__class__ = _CallableRoom
