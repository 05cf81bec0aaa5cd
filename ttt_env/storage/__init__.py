"""The files and databases on disk."""
