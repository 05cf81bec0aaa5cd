"""The contenders of `benchmark_envs.py`, their measurement, and the tables and charts of the results."""
