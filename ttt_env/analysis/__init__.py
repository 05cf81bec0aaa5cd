"""What is true about games and agents."""
