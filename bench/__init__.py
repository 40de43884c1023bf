"""Measurements. A bench is a module of this folder with a function ``tables()`` that yields rich tables."""
