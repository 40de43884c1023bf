"""Feet and ground: foot traces, stance, foot locking, clearance, balance, flight, and preparing a motion for physics."""
