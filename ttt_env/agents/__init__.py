"""The classical and the learned ways to play, each an `Agent` registered under its name."""
