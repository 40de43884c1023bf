"""Training of the pose space: poses of our creatures and of distilled motions, augmentation, batches, the training itself."""

