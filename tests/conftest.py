"""What holds for all tests."""

import os
import signal

# The tests run in one process for each core: more threads of torch in each would only wait for one another.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# A shell makes what it runs in the background ignore Ctrl-C, and with it all programs that the tests start;
# some of these are tested on what they do then.
signal.signal(signal.SIGINT, signal.default_int_handler)
