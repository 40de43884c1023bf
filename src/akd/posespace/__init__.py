"""The pose space: which poses can this rig plausibly take?

One network for all rigs. ``bends`` is how a pose is written, ``features`` what the network is told about a rig, ``data``
where its poses come from, ``network`` and ``training`` the model. ``space.PoseSpace`` is what others use: sample, solve,
project, score, invert, walk, limits.
"""

