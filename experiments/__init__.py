"""Measurements. A bench is a module of this folder with ``tables()``, which yields rich tables, or with a ``main`` of its own."""

