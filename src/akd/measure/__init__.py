"""The metrics of motion, one pure function each, and the report that gathers them.

``evaluation`` (every number of one motion, and a verdict), ``smoothness`` (jerk, loop error, amount of motion), ``success`` (is
it a good walk or run?), ``rigging`` (skin weights and skeletons against an artist's), ``wording`` (numbers as sentences),
``report`` and ``plots`` (the page). The judges: ``body`` and ``signals`` (what they see), ``recognise``, ``actions`` with
``action_values``, ``asked`` (what a sentence wants), ``judge`` (both, and a verdict), ``realism`` (would an eye agree?).
Contact is measured in ``akd.contact.measures``, gait in ``akd.gait.measures``, tracking in
``akd.physics.measures``. Arrays are numpy, lengths are leg lengths ℓ, y is up.
"""
