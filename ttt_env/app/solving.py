"""`ttt solve`: a proof with its progress, also of a search that was interrupted, in words and as JSON."""

from pathlib import Path
from typing import Any, NamedTuple, Self

from ttt_env.app.console import ProgressLine, progress_line
from ttt_env.errors import ProofError
from ttt_env.proofs.proof import Proof, prove
from ttt_env.proofs.prover import ProofProgress
from ttt_env.render.text import draw_text
from ttt_env.render.words import RESULTS
from ttt_env.rules import SEATS, Game, Position, check_enumerable


def check_can_be_saved(game: Game) -> None:
    """Raise `GameTooLargeError` for a game without a tablebase, before anything is searched."""
    check_enumerable(game, "to save the value of each position", "Without --save the game is searched")


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
