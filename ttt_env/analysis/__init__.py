"""Analysis of games and agents: values of positions, strength and certificates of agents."""
