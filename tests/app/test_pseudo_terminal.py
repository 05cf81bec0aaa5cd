"""The command `ttt` in real terminals, killed and left in every way."""

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
        self.seen, self._waited_to = "", 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.master)

    def wait_for(self, text):
        """Read until `text` appears after what was waited for before."""
        while text not in self.seen[self._waited_to :]:
            assert self._read(), f"no {text!r} after {self.seen[self._waited_to :]!r}"
        self._waited_to = self.seen.index(text, self._waited_to) + len(text)

    def type(self, *lines, prompt="> "):
        """Type each line when the prompt is there."""
        for line in lines:
            self.wait_for(prompt)
            os.write(self.master, line if isinstance(line, bytes) else f"{line}\n".encode())

    def end(self):
        """The exit status, when all has been read."""
        while self._read():
            pass
        return self.process.wait(timeout=_PATIENCE)

    def _read(self):
        """Read what is there; False if nothing comes any more."""
        if not select.select([self.master], [], [], _PATIENCE)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:  # the other end is closed
            return False
        self.seen += data.decode(errors="replace")
        return True


def _take_terminal():
    """Make the pseudo-terminal the one that Ctrl-C is sent from."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_an_evening_at_a_pseudo_terminal(tmp_path):
    """Nonsense, arrow keys, bytes that are not text, hint, undo, a whole game, one given up, Ctrl-D."""
    log = tmp_path / "games.sqlite"
    with Pseudo("play", "person", "person", "--record", log=log) as terminal:
        terminal.type("b2", "\x1b[A\x1b[D", b"\xff\xfe\x07\n", "x" * 2000, "hint", "5", "undo", "0")
        terminal.type("2", "6", "a2", "9", "c2", "b1", "7", "8")
        terminal.type("y", prompt="[Y/n] ")
        terminal.type("4", "resign")
        terminal.type(b"\x04", prompt="[Y/n] ")
        assert terminal.end() == 0
    assert "Traceback" not in terminal.seen
    assert "\x1b[1;31m" in terminal.seen and "\x1b[1;36m" in terminal.seen
    assert terminal.seen.rstrip().endswith("Final score: player A 0, draws 1, player B 1.")
    with GameLog(log) as found:
        assert [record.cells for record in found.records("tictactoe-v0")] == [(4, 0, 2, 6, 3, 5, 1, 7, 8)]


@pytest.mark.slow
def test_ctrl_c_while_an_agent_is_thinking(tmp_path):
    arguments = ["play", "mcts:seconds=100", "--seat", "O", "--game", "qubic-v0"]
    with Pseudo(*arguments, log=tmp_path, NO_COLOR="1") as terminal:
        terminal.wait_for("is thinking")
        os.write(terminal.master, b"\x03")
        assert terminal.end() == 130
    assert "Traceback" not in terminal.seen and "[31m" not in terminal.seen
    assert "interrupted: final score: mcts:seconds=100 0, draws 0, you 0" in terminal.seen


@pytest.mark.slow
def test_a_long_command_shows_on_one_line_what_it_does(tmp_path):
    slow = "mcts:simulations=1000000000,seed=0,solve=false"
    with Pseudo("bench", slow, "random", "minimax", log=tmp_path, NO_COLOR="1", COLUMNS="80") as terminal:
        terminal.wait_for("bench on tictactoe-v0, matches: 0 of 6")
        os.write(terminal.master, b"\x03")
        assert terminal.end() == 130
    assert "interrupted: no result for bench" in terminal.seen
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9?;]*[A-Za-z]", "", terminal.seen))
    assert max(map(len, lines)) <= 80 and "…" not in terminal.seen


@pytest.mark.slow
def test_replay_steps_at_a_pseudo_terminal(tmp_path):
    with Pseudo("replay", "tictactoe-v0:", "4", "1", "0", log=tmp_path) as terminal:
        terminal.type("", "", "b", "q")
        assert terminal.end() == 0
    assert terminal.seen.count("┌") == 4


@pytest.mark.slow
def test_kill_9_loses_no_game_that_was_recorded_whatever_streams_python_makes(tmp_path):
    """Standard output in ASCII, and an input that is closed."""
    log = tmp_path / "games.sqlite"
    command = [sys.executable, *"-m ttt_env.app play random random --rounds 99999 --record".split()]
    environment = os.environ | {"TTT_ENV_GAMES": str(log), "PYTHONUNBUFFERED": "1"}
    environment |= {"PYTHONIOENCODING": "ascii", "LC_ALL": "C", "PYTHONUTF8": "0"}
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, env=environment, preexec_fn=lambda: os.close(0)
    )
    said = ""
    while "Recorded as game 3." not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    process.send_signal(signal.SIGKILL)
    said += process.communicate()[0]
    assert "\x1b" not in said and "+---+---+---+" in said
    with GameLog(log) as found:
        last = max(map(int, re.findall(r"Recorded as game (\d+)\.", said)))
        assert last <= len(found) <= last + 1
        assert all(record.is_over for record in found.records("tictactoe-v0"))
