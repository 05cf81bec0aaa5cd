"""The top floor: the command line and what it starts. Imports all, imported by none."""
