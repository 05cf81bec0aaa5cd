"""The command `ttt` in real terminals, interrupted and killed."""

import fcntl
import os
import pty
import re
import select
import signal
import subprocess
import sys
import termios

import pytest

from ttt_env.storage.game_log import GameLog

_PATIENCE = 600  # seconds


class Pseudo:
    """The command `ttt` behind a real pseudo-terminal."""

    def __init__(self, *arguments, log, **environment):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "ttt_env.app", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=_take_terminal,
            env=os.environ | {"TERM": "xterm-256color", "TTT_ENV_GAMES": str(log)} | environment,
        )
        os.close(slave)
        self.output, self._waited_to = "", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def wait_for(self, text):
        """Read until `text` appears after the last text that was waited for."""
        while text not in self.output[self._waited_to :]:
            assert self._read(), f"no {text!r} after {self.seen[self._waited_to :]!r}"
        self._waited_to = self.output.index(text, self._waited_to) + len(text)

    def type(self, *lines, prompt="> "):
        """Type each line when the prompt appears."""
        for line in lines:
            self.wait_for(prompt)
            os.write(self.master, line if isinstance(line, bytes) else f"{line}\n".encode())

    def end(self):
        """Read all remaining output and return the exit status."""
        while self._read():
            pass
        return self.process.wait(timeout=_PATIENCE)

    def _read(self):
        """Read what is available; False if nothing comes any more."""
        if not select.select([self.master], [], [], _PATIENCE)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return False
        self.output += data.decode(errors="replace")
        return True


def _take_terminal():
    """Make the pseudo-terminal the controlling one, which sends Ctrl-C."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_session_with_bad_input_and_every_command(tmp_path):
    """Nonsense, arrow keys, bytes that are not text, a hint, an undo, a whole game, a resignation, Ctrl-D."""
    log = tmp_path / "games.sqlite"
    with Pseudo("play", "person", "person", "--record", log=log) as terminal:
        terminal.type("b2", "\x1b[A\x1b[D", b"\xff\xfe\x07\n", "x" * 2000, "hint", "5", "undo", "0")
        terminal.type("2", "6", "a2", "9", "c2", "b1", "7", "8")
        terminal.type("y", prompt="[Y/n] ")
        terminal.type("4", "resign")
        terminal.type(b"\x04", prompt="[Y/n] ")
        assert terminal.end() == 0
    assert "Traceback" not in terminal.output
    assert "\x1b[1;31m" in terminal.output and "\x1b[1;36m" in terminal.output
    assert terminal.output.rstrip().endswith("Final score: player A 0, draws 1, player B 1.")
    with GameLog(log) as recorded:
        assert [record.cells for record in recorded.records("tictactoe-v0")] == [(4, 0, 2, 6, 3, 5, 1, 7, 8)]


@pytest.mark.slow
def test_ctrl_c_while_agent_is_thinking(tmp_path):
    arguments = ["play", "mcts:seconds=100", "--seat", "O", "--game", "qubic-v0"]
    with Pseudo(*arguments, log=tmp_path, NO_COLOR="1") as terminal:
        terminal.wait_for("is thinking")
        os.write(terminal.master, b"\x03")
        assert terminal.end() == 130
    assert "Traceback" not in terminal.output and "[31m" not in terminal.output
    assert "interrupted: final score: mcts:seconds=100 0, draws 0, you 0" in terminal.output


@pytest.mark.slow
def test_progress_of_long_command_fits_on_one_line(tmp_path):
    slow = "mcts:simulations=1000000000,seed=0,solve=false"
    with Pseudo("bench", slow, "random", "minimax", log=tmp_path, NO_COLOR="1", COLUMNS="80") as terminal:
        terminal.wait_for("bench on tictactoe-v0, matches: 0 of 6")
        os.write(terminal.master, b"\x03")
        assert terminal.end() == 130
    assert "interrupted: no result for bench" in terminal.output
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9?;]*[A-Za-z]", "", terminal.output))
    assert max(map(len, lines)) <= 80 and "…" not in terminal.output


@pytest.mark.slow
def test_replay_steps_in_pseudo_terminal(tmp_path):
    with Pseudo("replay", "tictactoe-v0:", "4", "1", "0", log=tmp_path) as terminal:
        terminal.type("", "", "b", "q")
        assert terminal.end() == 0
    assert terminal.output.count("┌") == 4


@pytest.mark.slow
def test_kill_9_loses_no_recorded_game(tmp_path):
    """Standard output in ASCII, and an input that is closed."""
    log = tmp_path / "games.sqlite"
    command = [sys.executable, *"-m ttt_env.app play random random --rounds 99999 --record".split()]
    environment = os.environ | {"TTT_ENV_GAMES": str(log), "PYTHONUNBUFFERED": "1"}
    environment |= {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=lambda: os.close(0)
    )
    output = ""
    while "Recorded as game 3." not in output:
        line = process.stdout.readline()
        assert line, output
        output += line
    process.send_signal(signal.SIGKILL)
    output += process.communicate()[0]
    assert "\x1b" not in output and "+---+---+---+" in output
    with GameLog(log) as recorded:
        last = max(map(int, re.findall(r"Recorded as game (\d+)\.", output)))
        assert last <= len(recorded) <= last + 1
        assert all(record.is_over for record in recorded.records("tictactoe-v0"))
