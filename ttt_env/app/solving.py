"""`ttt solve`: a proof with its progress, also of a search that was interrupted, in words and as JSON."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

import typer

from ttt_env.analysis.solution import solve as solution_of
from ttt_env.app.console import (
    DASH,
    INTERRUPTED,
    STANDARD_OUTPUT,
    JsonOption,
    ProgressLine,
    argument,
    check_outputs,
    option,
    print_json,
    progress_line,
    write_file,
)
from ttt_env.errors import ParameterError, ProofError
from ttt_env.proofs.proof import Proof, prove
from ttt_env.proofs.prover import ProofProgress
from ttt_env.render.text import draw_text
from ttt_env.render.words import RESULTS
from ttt_env.rules import SEATS, Game, Position, check_enumerable, game_names
from ttt_env.storage.models import game_of


def solve(
    game: Annotated[
        str | None,
        argument(
            "GAME",
            "id of the game, or the .json file of one of yours; by default tictactoe-v0",
            autocompletion=game_names,
        ),
    ] = None,
    parameters: Annotated[
        list[str] | None, argument("NAME=VALUE", "parameters of the game, such as m=5 n=5 k=4")
    ] = None,
    named: Annotated[
        str | None,
        option(
            "GAME",
            "another way to name GAME, as in the other commands; give only one",
            "--game",
            autocompletion=game_names,
        ),
    ] = None,
    position: Annotated[
        str | None, option("POSITION", "position to solve, such as X../.O./...; by default the empty board")
    ] = None,
    nodes: Annotated[int | None, option("N", "stop after this many positions")] = None,
    seconds: Annotated[float | None, option("SECONDS", "stop after this many seconds")] = None,
    save: Annotated[
        Path | None, option("FILE", f"write the values of all positions to this file (.npz); {DASH}")
    ] = None,
    proof_file: Annotated[
        Path | None,
        option("FILE", "write the proof, with the strategies that show it, to this file (.npz)", "--proof"),
    ] = None,
    checkpoint: Annotated[
        Path | None, option("FILE", "save the search to this file, and resume from it")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Prove who wins under best play.

    Ctrl-C ends the search, and prints what is proved by then.
    """
    solved = _game_to_solve(game, parameters or [], named)
    start = solved.start if position is None else Position.parse(position, solved)
    if save is not None:
        check_enumerable(solved, "to save the value of each position", "Without --save the game is searched")
        check_outputs(save if save == STANDARD_OUTPUT else None, STANDARD_OUTPUT if as_json else None)
    if STANDARD_OUTPUT in (proof_file, checkpoint):
        raise ParameterError("--proof and --checkpoint name files, which standard output is not")
    check_outputs(proof_file, checkpoint)
    with progress_line("solve") as line:
        search = Search.run(start, nodes, seconds, checkpoint, line)
    if as_json:
        print_json(search.to_dict())
    else:
        typer.echo(search.told(), err=save == STANDARD_OUTPUT)
    if search.is_interrupted:
        raise typer.Exit(INTERRUPTED)
    if proof_file is not None:
        save_proof(search.proof, proof_file)
        if not as_json:
            typer.echo(f"The proof is in {proof_file}: play from it as strategy:{proof_file}")
    if save is not None:
        with progress_line("solve, every position"):
            solution = solution_of(solved)
        write_file(save, solution.save)
        if save != STANDARD_OUTPUT and not as_json:
            size = save.stat().st_size
            typer.echo(f"All positions saved as {save} ({size:,} bytes): play from it as lookup:{save}")


def _game_to_solve(game: str | None, parameters: list[str], named: str | None) -> Game:
    """The game of the argument or of the option --game, with parameters.

    Raises `ParameterError` for both, and for parameters of a game from a file.
    """
    if game is not None and named is not None:
        raise ParameterError(f"two games are named, {game!r} and {named!r}: one is solved")
    text = game or named or "tictactoe-v0"
    if parameters and text.endswith(".json"):
        raise ParameterError(f"{' '.join(parameters)}: a game from a file, {text}, has no parameters")
    return game_of(f"{text}{',' if ':' in text else ':'}{','.join(parameters)}" if parameters else text)


def save_proof(proof: Proof, path: Path) -> None:
    """Write a proof and its strategies. Raises `ProofError` if the value is not known."""
    if proof.value is None:
        raise ProofError(f"the value is not proved, so nothing is written to {path}")
    with progress_line("solve, the strategies") as line:
        proof.save(path, lambda n_positions: line.say(f"{n_positions:,} positions"))


class Search(NamedTuple):
    """A search for the value of a position: what it has proved, also where Ctrl-C has ended it."""

    proof: Proof
    is_interrupted: bool = False

    @classmethod
    def run(
        cls,
        position: Position,
        nodes: int | None,
        seconds: float | None,
        checkpoint: Path | None,
        line: ProgressLine,
    ) -> Self:
        """The search of a position, which a budget or Ctrl-C may end before the value is proved."""
        game, bounds = position.game, (-1 if position.ply or position.game.misere else 0, 1)
        so_far = Proof(position, bounds, (), 0, 0.0)

        def report(progress: ProofProgress) -> None:
            nonlocal so_far
            # It is asked about the other seat only once the mover is known not to win.
            most = so_far.bounds[1] if progress.seat == position.to_move else 0
            so_far = Proof(position, (bounds[0], most), (), progress.nodes, progress.seconds)
            line.say(f"does {progress.seat} win? {progress.nodes:,} nodes")

        try:
            return cls(
                prove(game, position, nodes=nodes, seconds=seconds, progress=report, checkpoint=checkpoint)
            )
        except KeyboardInterrupt:
            return cls(so_far, is_interrupted=True)

    def told(self) -> str:
        """The result in words."""
        proof, position, seat = self.proof, self.proof.position, self.proof.position.to_move
        lines = [f"{position.game.name}, {seat} to move:", draw_text(position), ""]
        if proof.value is None:
            reason = "the search was interrupted" if self.is_interrupted else "the budget was too small"
            least, most = (RESULTS[bound] for bound in proof.bounds)
            lines.append(f"Unknown: {reason}. At the least {seat} {least}, at the most it {most}.")
        elif proof.value == 0:
            lines.append("A draw, if both play their best.")
        else:
            winner = seat if proof.value == 1 else SEATS[1 - SEATS.index(seat)]
            lines.append(f"{winner} wins, if both play their best.")
        if proof.principal_variation:
            lines.append(f"Best play: {' '.join(map(str, proof.principal_variation))}")
        lines.append(f"{proof.nodes:,} nodes, {proof.seconds:.2f} s")
        return "\n".join(lines)

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
            "interrupted": self.is_interrupted,
        }
