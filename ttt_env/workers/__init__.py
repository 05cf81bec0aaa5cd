"""Tasks shared out to processes of this machine or of a Ray cluster."""

from ttt_env.workers.pools import ray_cluster
from ttt_env.workers.work import pickled
from ttt_env.workers.workers import Backend, Progress, Workers
