"""What holds for all tests."""

import signal

# A shell makes what it runs in the background ignore Ctrl-C, and with it all programs that the tests start;
# some of these are tested on what they do then.
signal.signal(signal.SIGINT, signal.default_int_handler)
