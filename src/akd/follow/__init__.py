"""Motion from a video of the character: the clip, the subject in it, the camera, and the pose of every frame."""
