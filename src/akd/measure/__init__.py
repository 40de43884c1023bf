"""The metrics of motion, one pure function each, and the report that gathers them.

``contact`` (skating, slide, penetration, float), ``smoothness`` (jerk, loop, amount), ``gait`` and ``gait_names``
(stride, phases, alternation, names), ``treadmill`` (clips that walk in place), ``tracking`` (physics against its
target), ``rigging`` (weights and skeletons against an artist's). ``trace`` runs a motion once and keeps what they
need; ``evaluate`` calls them all and returns an ``Evaluation``. Arrays are numpy, lengths are leg lengths ℓ, y is up.
"""

