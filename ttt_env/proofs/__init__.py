"""Values of positions of large games, proved by search, and the files by which others check them."""
