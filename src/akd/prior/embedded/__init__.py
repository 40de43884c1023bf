"""The parts of a small CogVideoX model as plain torch modules on the files of its diffusers folder.

They are equal to the classes of diffusers and transformers by test, and a process that uses them imports neither library.
"""
