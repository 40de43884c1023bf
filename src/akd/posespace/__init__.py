"""The pose space: which poses can this rig plausibly take?

One network for all rigs. ``representation`` says how poses and rigs are written, ``rig_batch`` turns rigs into network inputs,
``network`` is the model and ``denoiser`` the model conditioned on one rig. On it stand ``validity`` (collisions and ranges),
``solving`` (inverse kinematics), ``walking`` (paths between keyframes), ``scoring`` and ``limits``. ``space.PoseSpace`` brings
them together and is what other rooms use. Training lives in ``akd.training.posespace``.
"""

