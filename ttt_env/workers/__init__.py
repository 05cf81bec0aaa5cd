"""Work shared out to processes: loky's executor on this machine, or Ray's pool on a cluster."""

from ttt_env.workers.pool import MAX_WORKERS, Backend, Progress, Workers
