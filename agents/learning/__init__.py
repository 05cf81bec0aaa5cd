"""What `agents.selfplay` and `agents.training` stand on: opponents, evaluation, recipes, files."""
