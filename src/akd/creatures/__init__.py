"""Embedded characters: body plans that a seed or a sentence turns into finished rigs, their gaits, and the words for both.

``plan`` is the language plans are declared in and ``plans`` the declarations; ``individual`` draws one animal of a plan,
``body`` places its joints and flesh, ``flesh`` and ``remesh`` make one closed surface of it, ``skin`` and ``paint`` give
that surface weights and colours, and ``build`` puts the rig together. ``words`` reads a sentence.
"""

