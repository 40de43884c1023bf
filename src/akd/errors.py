"""The one exception a user may see."""



class AkdError(Exception):
    """Something the user can mend: one sentence that says what is wrong, the value, and the cure."""
