"""Training with Stable-Baselines3: self-play, opponents, evaluation, recipes, checkpoints."""
