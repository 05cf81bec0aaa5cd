"""Tasks shared out to processes of this machine or of a Ray cluster."""

from ttt_env.workers.pools import pickled, ray_cluster
from ttt_env.workers.workers import Backend, Progress, Workers
