"""What `benchmark_envs.py` times, and how it tells of it."""
