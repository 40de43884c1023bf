"""``python -m experiments.study NAME …``."""

from experiments.study.command import main

main()
