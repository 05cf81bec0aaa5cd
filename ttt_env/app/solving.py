"""`ttt solve`: a proof with its progress, in words and as JSON, also of an interrupted search."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import typer

from ttt_env.app.console import (
    STANDARD_OUTPUT,
    Interrupted,
    ProgressLine,
    check_ending,
    check_outputs,
    print_json,
    progress_line,
)
from ttt_env.app.options import TICTACTOE, GameOption, JsonOption, option
from ttt_env.errors import NotationError, ParameterError, ProofError
from ttt_env.proofs.proof import Proof, prove
from ttt_env.proofs.prover import ProofProgress
from ttt_env.proofs.strategy import check_has_strategies
from ttt_env.render.text import draw_text
from ttt_env.rules import Count, Game, Position, Seconds, other_seat


def solve(
    game: GameOption = TICTACTOE,
    position: Annotated[
        str | None, option("POSITION", "position to solve, such as X../.O./...; by default the empty board")
    ] = None,
    nodes: Annotated[Count | None, option("N", "stop after this many positions")] = None,
    seconds: Annotated[Seconds | None, option("SECONDS", "stop after this many seconds")] = None,
    proof_file: Annotated[
        Path | None,
        option(
            "FILE",
            "write the proof, with its strategies, to this file (.npz), for games without gravity; "
            "this can take longer than the search",
            "--proof",
        ),
    ] = None,
    checkpoint: Annotated[
        Path | None, option("FILE", "save the search to this file, and resume from it")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove who wins under best play.

    Ctrl-C ends the search and prints what is proved so far. The exit code is 3 if the value is still unknown.
    """
    start = game.start if position is None else _unfinished(position, game)
    _check_files(game, proof_file, checkpoint)
    with progress_line("solve") as line:
        search = Search.run(start, nodes, seconds, checkpoint, line)
    if as_json:
        print_json(search.to_dict())
    else:
        typer.echo(search.text())
    if search.interrupt is not None:
        raise Interrupted.by(search.interrupt)
    if proof_file is not None:
        save_proof(search.proof, proof_file)
        if not as_json:
            typer.echo(f"Proof saved as {proof_file}; the agent strategy:{proof_file} plays it")
    if search.proof.value is None:
        raise typer.Exit(3)


def _check_files(game: Game, proof_file: Path | None, checkpoint: Path | None) -> None:
    if STANDARD_OUTPUT in (proof_file, checkpoint):
        raise ParameterError("--proof and --checkpoint need a file, not standard output")
    if proof_file is not None:
        check_has_strategies(game)
        check_ending("--proof", proof_file, {".npz": "the proof"})
    check_outputs(proof_file, checkpoint)


def _unfinished(text: str, game: Game) -> Position:
    """The position of a text. Raises `ParameterError` if the game is over there."""
    try:
        position = Position.parse(text, game)
    except NotationError as error:
        raise ParameterError(f"--position: {error}") from None
    if position.is_over:
        ending = f"{position.winner} has won" if position.winner else "it is a draw"
        raise ParameterError(f"--position: the game is over in {position}: {ending}")
    return position


def save_proof(proof: Proof, path: Path) -> None:
    """Write a proof and its strategies. Raises `ProofError` if the value is not known."""
    if proof.value is None:
        raise ProofError(f"the value is not proved, so {path} is not written: raise --nodes or --seconds")
    with progress_line("solve, the strategies") as line:
        proof.save(path, lambda n_positions: line.say(f"{n_positions:,} positions"))


class Search(NamedTuple):
    """The proof from a search for the value of a position, and the Ctrl-C that ended the search, if any."""

    proof: Proof
    interrupt: KeyboardInterrupt | None = None

    @classmethod
    def run(
        cls,
        position: Position,
        nodes: int | None,
        seconds: float | None,
        checkpoint: Path | None,
        line: ProgressLine,
    ) -> Self:
        """Search a position; a budget or Ctrl-C may end this before the value is proved."""
        game, bounds = position.game, (0 if position.game.is_monotone and not position.ply else -1, 1)
        so_far = Proof(position, bounds, (), 0, 0.0)

        def report(progress: ProofProgress) -> None:
            nonlocal so_far
            # The question is about the other seat only once the mover is known not to win.
            most = so_far.bounds[1] if progress.seat == position.to_move else 0
            so_far = Proof(position, (bounds[0], most), (), progress.nodes, progress.seconds)
            line.say(f"does {progress.seat} win? {progress.nodes:,} positions")

        try:
            return cls(
                prove(game, position, nodes=nodes, seconds=seconds, progress=report, checkpoint=checkpoint)
            )
        except KeyboardInterrupt as interrupt:
            return cls(so_far, interrupt)

    def text(self) -> str:
        """The result in words."""
        proof, position, seat = self.proof, self.proof.position, self.proof.position.to_move
        lines = [self._verdict(), "", f"{position.game.name}, {seat} to move:", draw_text(position)]
        if proof.principal_variation:
            lines.append(proof.best_play)
        lines.append(f"{proof.nodes:,} positions searched, {proof.seconds:.2f} s")
        return "\n".join(lines)

    def _verdict(self) -> str:
        proof, seat = self.proof, self.proof.position.to_move
        if proof.value is None:
            reason = "the budget was too small" if self.interrupt is None else "the search was interrupted"
            bound = {(0, 1): f" {seat} at least draws.", (-1, 0): f" {seat} at most draws."}
            return f"Undecided: {reason}.{bound.get(proof.bounds, '')}"
        if proof.value == 0:
            return "A draw under best play."
        winner = seat if proof.value == 1 else other_seat(seat)
        return f"{winner} wins under best play."

    def to_dict(self) -> dict[str, Any]:
        """The result for JSON: `value` and `bounds` are the mover's, 1, 0 or −1."""
        proof = self.proof
        return {
            "game": proof.position.game.name,
            "position": str(proof.position),
            "to_move": proof.position.to_move,
            "value": proof.value,
            "bounds": list(proof.bounds),
            "principal_variation": list(proof.principal_variation),
            "nodes": proof.nodes,
            "seconds": proof.seconds,
            "interrupted": self.interrupt is not None,
        }
