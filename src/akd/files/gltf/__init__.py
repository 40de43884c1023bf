"""glTF and GLB: read, and written without touching what was there."""

