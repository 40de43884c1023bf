"""Everything that trains: films, the video model, the pose space."""
