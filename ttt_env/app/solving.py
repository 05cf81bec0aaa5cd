"""`ttt solve`: a proof with its progress, also of a search that was interrupted, in words and as JSON."""

from pathlib import Path
from typing import Any

from ttt_env.app.console import ProgressLine, progress_line
from ttt_env.errors import GameTooLargeError, ProofError
from ttt_env.proofs.proof import Proof, ProofProgress, prove
from ttt_env.render.text import draw_text
from ttt_env.render.words import RESULTS
from ttt_env.rules.game import SEATS, Game, Position
from ttt_env.rules.sizes import ENUMERABLE_CELLS, is_enumerable


def check_can_be_saved(game: Game) -> None:
    """Raise `GameTooLargeError` for a game of which there is no tablebase, before anything is searched."""
    if not is_enumerable(game):
        raise GameTooLargeError(
            f"{game.name} has {game.n_cells} cells: the values of all positions can be saved for games of "
            f"up to {ENUMERABLE_CELLS}. Without --save the game is searched"
        )


def save_proof(proof: Proof, path: Path) -> None:
    """Write a proof and its strategies. Raises `ProofError` if the value is not known."""
    if proof.value is None:
        raise ProofError(f"the value is not proved, so nothing is written to {path}")
    with progress_line("solve, the strategies") as line:
        proof.save(path, lambda n_positions: line.say(f"{n_positions:,} positions"))


class InterruptibleProof:
    """A search for the value of a position, which a budget or Ctrl-C may end before the value is proved."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self.is_interrupted = False
        self._last: ProofProgress | None = None
        can_lose = position.ply > 0 or position.game.misere
        self._bounds = (-1 if can_lose else 0, 1)

    def run(
        self, nodes: int | None, seconds: float | None, checkpoint: Path | None, line: ProgressLine
    ) -> Proof:
        """The proof, or what was proved before Ctrl-C: `is_interrupted` tells them apart."""

        def report(progress: ProofProgress) -> None:
            self._last = progress
            if progress.seat != self.position.to_move:  # asked only once the mover is known not to win
                self._bounds = (self._bounds[0], 0)
            line.say(f"does {progress.seat} win? {progress.nodes:,} nodes")

        try:
            return prove(
                self.position.game,
                self.position,
                nodes=nodes,
                seconds=seconds,
                progress=report,
                checkpoint=checkpoint,
            )
        except KeyboardInterrupt:
            self.is_interrupted = True
            last = self._last
            return Proof(
                self.position, self._bounds, (), last.nodes if last else 0, last.seconds if last else 0.0
            )

    def told(self, proof: Proof) -> str:
        """The result of the proof, in words."""
        position, seat = proof.position, proof.position.to_move
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

    def to_dict(self, proof: Proof) -> dict[str, Any]:
        """The result of the proof for JSON: `value` and `bounds` are the mover's, 1, 0 or −1."""
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
