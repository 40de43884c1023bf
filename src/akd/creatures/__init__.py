"""Embedded characters: body plans that a seed or a sentence turns into finished rigs, their motions, and the words for both.

Shape: ``plan`` has the types plans are declared with and ``plans`` the declarations; ``body`` draws an individual and places its
joints and tubes, ``surface`` and ``remesh`` make one closed mesh of them, ``skin`` gives it weights and colours, and ``build``
puts the rig together. Motion: ``targets``, ``gait_targets`` and the actions say what the body does, ``body_ik`` solves for a
motion, and ``gaits`` is the interface. Words: ``words`` turns a sentence into a character, ``captions`` describes motions.
"""
