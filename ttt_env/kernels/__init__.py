"""All compiled code. Importing a module of this room imports numba."""
