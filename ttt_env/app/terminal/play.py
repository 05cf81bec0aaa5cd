"""`ttt play`: games of people and agents at a terminal, with commands and a game log."""

import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.text import Text

from ttt_env.agent import Agent, make_agent, quote_reply
from ttt_env.agents.advice import hint
from ttt_env.agents.learned.imitation import ImitationBase
from ttt_env.app.console import Interrupted
from ttt_env.app.options import replay_command
from ttt_env.app.terminal.board import STYLES, board
from ttt_env.errors import ForfeitError, IllegalMoveError, ParameterError
from ttt_env.render.words import cells_text, columns_by_name, parse_cell
from ttt_env.rules import SEATS, Game, GameRecord, Position, Seat, other_seat
from ttt_env.storage.game_log import PERSON, GameLog
from ttt_env.storage.models import label_of


@dataclass(frozen=True)
class Player:
    """A player, with a name, the spec string of an agent or `"person"`, and the agent if it is one."""

    name: str
    spec: str
    agent: Agent | None = None


class PlaySession:
    """The current game of two players, and the score of the earlier ones. The first is X in the first game.

    Nothing changes on an error.
    """

    def __init__(self, game: Game, players: tuple[Player, Player], rng: np.random.Generator) -> None:
        self.game, self.players, self.rng = game, players, rng
        self.wins, self.draws = [0, 0], 0
        self._first_is_o = False
        self.restart()

    def restart(self) -> None:
        """Begin the game again. A game that was not over does not count."""
        self.cells: list[int] = []
        self.resigned_seat: Seat | None = None

    def next_game(self) -> None:
        """Begin the next game, sides swapped."""
        self._first_is_o = not self._first_is_o
        self.restart()

    def player(self, seat: Seat) -> Player:
        """The player on this seat."""
        return self.players[self._number(seat)]

    def _number(self, seat: Seat) -> int:
        return SEATS.index(seat) ^ self._first_is_o

    @property
    def score(self) -> str:
        """The results of finished games, in words."""
        first, second = self.players
        return f"{first.name} {self.wins[0]}, draws {self.draws}, {second.name} {self.wins[1]}"

    @property
    def record(self) -> GameRecord:
        """The moves so far."""
        return GameRecord(self.game, tuple(self.cells))

    @property
    def position(self) -> Position:
        """The current position."""
        return self.record.positions()[-1]

    @property
    def to_move(self) -> Player:
        """The player whose turn it is."""
        return self.player(self.position.to_move)

    @property
    def is_over(self) -> bool:
        """True if the game is finished or a player has resigned."""
        return self.resigned_seat is not None or self.position.is_over

    @property
    def winner(self) -> Seat | None:
        """The seat that has won; None in a draw and during the game."""
        if self.resigned_seat is not None:
            return other_seat(self.resigned_seat)
        return self.position.winner

    def play(self, cell: int) -> None:
        """Make a move for the player whose turn it is. Raises `IllegalMoveError`."""
        self._refuse_if_over()
        self.position.play(cell)
        self.cells.append(cell)
        self._count_if_over()

    def reply(self) -> int:
        """Let the agent whose turn it is move, and return its cell."""
        agent = self.to_move.agent
        assert agent is not None, "a person moves by `play`"
        cell = agent.choose(self.position, self.rng)
        self.play(cell)
        return cell

    def undo(self) -> int:
        """Take back the last move of a person and all after it, and return the number of moves."""
        self._refuse_if_over()
        for ply in reversed(range(len(self.cells))):
            if self.player(SEATS[ply % 2]).agent is None:
                taken_back = len(self.cells) - ply
                del self.cells[ply:]
                return taken_back
        return 0

    def resign(self) -> None:
        """Resign for the player whose turn it is."""
        self._refuse_if_over()
        self.resigned_seat = self.position.to_move
        self._count_if_over()

    def _refuse_if_over(self) -> None:
        if self.is_over:
            raise IllegalMoveError(f"the game {self.record} is over")

    def _count_if_over(self) -> None:
        if not self.is_over:
            return
        if self.winner is None:
            self.draws += 1
        else:
            self.wins[self._number(self.winner)] += 1


Ask = Callable[[str], str]
_HELP = """\
Type a cell {how}, such as {example}, or a word or its letter:
  h hint    what best play would do     u undo   take your last move back
  r resign  give the game up,           n new    begin it again, uncounted
            which is not recorded
  ? help    this text                   q quit   leave, as Ctrl-D does"""
_SHORTCUTS = {"h": "hint", "u": "undo", "r": "resign", "n": "new", "?": "help", "q": "quit", "exit": "quit"}
_YES, _NO = {"", "y", "yes"}, {"n", "no", "q", "quit", "exit"}


class Quit(Exception):
    """Raised when a person wants to stop playing."""


class Terminal:
    """Plays the games of a session with the people at the keyboard.

    `ask` prints a prompt and returns the typed line. Finished games are written to `log`. `games` is the
    number of games; without it people decide after each game whether to play another, and agents alone play
    one.
    """

    def __init__(
        self,
        session: PlaySession,
        console: Console,
        ask: Ask,
        log: GameLog | None = None,
        games: int | None = None,
    ) -> None:
        self.session, self.console, self.ask, self.log = session, console, ask, log
        self._people = [player for player in session.players if player.agent is None]
        self._n_left = games if self._people else games or 1

    def run(self) -> None:
        """Play until a person quits, by a command or Ctrl-D, and print the score.

        Raises `Interrupted` with the score on Ctrl-C.
        """
        try:
            self._print(Text(self.session.game.name, "bold"))
            if self._people:
                self._help()
            if self.log is not None:
                self._print(f"Finished games are recorded in {self.log.path}.")
            self._play_one()
            while self._play_again():
                self.session.next_game()
                self._play_one()
        except (Quit, EOFError):
            self._print("")
        except KeyboardInterrupt as interrupt:
            raise Interrupted.by(interrupt, f"final score: {self.session.score}") from None
        self._print(f"Goodbye. Final score: {self.session.score}.")

    def _print(self, *parts: str | Text) -> None:
        self.console.print(*parts, highlight=False, markup=False, soft_wrap=True)

    def _play_one(self) -> None:
        self._print_seats()
        while not self.session.is_over:
            if self.session.to_move.agent is None:
                self._show()
                prompt = f"{self.session.position.to_move}> "
                while not self._run_command(self.ask(prompt).strip().lower()):
                    pass
            else:
                self._wait_for_agent()
        self._show(numbers=False)
        self._print("")
        self._print(self._result())
        self._print(Text(replay_command(self.session.record), "dim"))
        if self.log is not None and not self.session.resigned_seat:
            x, o = (self.session.player(seat) for seat in SEATS)
            number = self.log.add(self.session.record, x=x.spec, o=o.spec, source="terminal")
            self._print(f"Recorded as game {number}.")
            for player in (x, o):
                agent: object = player.agent
                if isinstance(agent, ImitationBase):
                    agent.refresh()
        self._print(f"Score: {self.session.score}.")

    def _print_seats(self) -> None:
        self._print("")
        parts: list[Text] = []
        for seat in SEATS:
            player = self.session.player(seat)
            who = "You are" if self._people == [player] else f"{player.name} is"
            parts += [Text.assemble(f"{who} ", _stone(seat), ".")]
        self._print(*parts)

    def _show(self, numbers: bool = True) -> None:
        last = self.session.cells[-1] if self.session.cells else None
        self._print("")
        self._print(board(self.session.position, last, numbers, self.console.width))

    def _wait_for_agent(self) -> None:
        seat, name = self.session.position.to_move, self.session.to_move.name
        try:
            with self.console.status(f"{name} is thinking …"):
                cell = self.session.reply()
        except ForfeitError as error:
            self.session.resign()
            self._print("")
            _, outcome, reply = error.forfeit
            self._print(_stone(seat), f"{name} makes no legal move ({outcome}) and loses:")
            self._print(f"  {quote_reply(reply, outcome)}")
            return
        self._print("")
        self._print(_stone(seat), f"{name} plays {cells_text([cell], self.session.game)}.")
        if not self._people and not self.session.is_over:
            self._show(numbers=False)

    def _run_command(self, answer: str) -> bool:
        """Run a typed command; True if the board has to be shown afterwards, as after an empty line."""
        match _SHORTCUTS.get(answer, answer):
            case "":
                pass
            case "hint":
                with self.console.status("looking for the best move …"):
                    sentence = hint(self.session.position)
                self._print(sentence)
                return False
            case "undo":
                if not self.session.undo():
                    self._print("There is no move of yours to take back.")
                    return False
            case "resign":
                self.session.resign()
            case "new":
                self.session.restart()
                self._print_seats()
            case "help":
                self._help()
                return False
            case "quit":
                raise Quit
            case _:
                try:
                    self.session.play(parse_cell(answer, self.session.position))
                except IllegalMoveError as error:
                    self._print(f"{error}.")
                    return False
        return True

    def _help(self) -> None:
        game = self.session.game
        how = "by number or by name" if game.coordinates is None else "by number"
        if columns := [*columns_by_name(game)]:
            how = f"by column, such as {columns[len(columns) // 2]}, {how}"
        legal = game.start.legal_cells
        self._print(_HELP.format(how=how, example=cells_text([legal[len(legal) // 2]], game)))

    def _result(self) -> Text:
        winner, resigned = self.session.winner, self.session.resigned_seat
        if winner is None:
            return Text("A draw.", "bold")
        player = self.session.player(winner)
        if self._people == [player]:
            return Text("You win!", "bold green")
        if len(self._people) == 1:
            return Text("You resign." if resigned else "You lose.", "bold")
        return Text.assemble((f"{player.name} wins", "bold"), " as ", _stone(winner), ".")

    def _play_again(self) -> bool:
        if self._n_left is not None:
            self._n_left -= 1
            return self._n_left > 0
        while True:
            answer = self.ask("Another game, seats swapped? [Y/n] ").strip().lower()
            if answer in _YES | _NO:
                return answer in _YES
            self._print("Type y or n.")


def _stone(seat: Seat) -> Text:
    return Text(seat, STYLES[seat])


def players_for(specs: Sequence[str], seat: Seat | None, game: Game) -> tuple[Player, Player]:
    """X and O of the first game, from two spec strings, or from one, with a person on `seat`.

    Raises `ParameterError` for more than two players, or two players and a seat.
    """
    if len(specs) > 2:
        raise ParameterError(f"play takes your opponent, or two players, X and O; not {len(specs)} players")
    if len(specs) == 2 and seat is not None:
        raise ParameterError("--seat is your seat against one opponent: of two players the first is X")
    if len(specs) == 1:
        specs = [*specs, PERSON] if seat == "O" else [PERSON, *specs]
    names = ["you" if spec == PERSON else label_of(spec) for spec in specs]
    if specs[0] == specs[1]:
        kind = "player" if specs[0] == PERSON else names[0]
        names = [f"{kind} A", f"{kind} B"]
    x, o = (
        Player(name, spec, None if spec == PERSON else make_agent(spec, game))
        for name, spec in zip(names, specs, strict=True)
    )
    return x, o


def play_in_terminal(
    game: Game, players: tuple[Player, Player], seed: int | None, games: int | None, record: bool
) -> None:
    """Play in this terminal; with `record`, finished games are written to the default game log."""
    edit_lines()
    session = PlaySession(game, players, np.random.default_rng(seed))
    with ExitStack() as stack:
        log = stack.enter_context(GameLog()) if record else None
        Terminal(session, Console(), input, log, games).run()


def edit_lines() -> None:
    """Let people edit the lines that `input` reads from a terminal."""
    if sys.stdin.isatty():
        with suppress(ImportError):
            import readline  # noqa: F401 - its import is what does it
