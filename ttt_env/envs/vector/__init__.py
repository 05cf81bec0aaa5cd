"""The vector environment."""
