"""What the game is. No framework, nothing drawn, nobody playing."""
