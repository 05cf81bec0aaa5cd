"""Many agents against each other."""
