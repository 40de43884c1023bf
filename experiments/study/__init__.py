"""Studies of distillation: seeded, resumable, every row on disk as soon as it is known.

    python -m experiments.study creatures|rigs|ablations|estimators|cost|controls|profile

They make the tables of docs/distill.md: the success tables (creatures, rigs), controls, ablations, cost, gradient and curves
(estimators), and where the time goes (profile).
"""
