"""`ttt solve`: a proof with its progress, and the tablebase of a solved game."""

from pathlib import Path

from rich.console import Console

from ttt_env.analysis.proof import Proof, ProofProgress, prove
from ttt_env.analysis.solution import solve
from ttt_env.render.text import draw_text
from ttt_env.rules.game import SEATS, Game, Position

_WORDS = {1: "wins", 0: "draws", -1: "loses"}


def solve_and_tell(
    game: Game, position: Position, nodes: int | None, seconds: float | None, console: Console
) -> None:
    """Prove the value of the position within the budget and print what is known."""
    with console.status("compiling, the first time …") as status:

        def report(progress: ProofProgress) -> None:
            status.update(
                f"does {progress.seat} win? {progress.width} moves of it in each position, "
                f"{progress.nodes:,} nodes, {progress.seconds:.0f} s"
            )

        proof = prove(game, position, nodes=nodes, seconds=seconds, progress=report)
    console.print(told(proof), highlight=False, markup=False, soft_wrap=True)


def told(proof: Proof) -> str:
    """What a proof says, in words."""
    position, seat = proof.position, proof.position.to_move
    lines = [f"{position.game.name}, {seat} to move:", draw_text(position), ""]
    if proof.value is None:
        least, most = (_WORDS[bound] for bound in proof.bounds)
        lines.append(
            f"Unknown: the budget was too small. At the least {seat} {least}, at the most it {most}."
        )
    elif proof.value == 0:
        lines.append("A draw, if both play their best.")
    else:
        winner = seat if proof.value == 1 else SEATS[1 - SEATS.index(seat)]
        lines.append(f"{winner} wins, if both play their best.")
    if proof.principal_variation:
        lines.append(f"Best play: {' '.join(map(str, proof.principal_variation))}")
    lines.append(f"{proof.nodes:,} nodes, {proof.seconds:.2f} s")
    return "\n".join(lines)


def save_tablebase(game: Game, path: Path, console: Console) -> None:
    """Solve every position of the game and write the values, which `lookup:PATH` plays from."""
    path.parent.mkdir(parents=True, exist_ok=True)
    solve(game).save(path)
    console.print(
        f"All positions saved as {path} ({path.stat().st_size:,} bytes): play from it as lookup:{path}",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
