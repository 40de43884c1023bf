"""A clip of one skeleton as a motion of another character."""
