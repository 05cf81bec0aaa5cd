"""What `benchmark_envs.py` times, and how it prints and draws the results."""
