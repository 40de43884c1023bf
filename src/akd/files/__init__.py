"""Other people's file formats, one module each."""

