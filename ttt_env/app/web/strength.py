"""How strong an agent is, in a line; and the presets from easy to perfect."""

from dataclasses import dataclass

from ttt_env.analysis.evaluation import exploitability
from ttt_env.analysis.solution import solve
from ttt_env.app.advice import is_solved
from ttt_env.app.web.roster import Roster
from ttt_env.errors import PolicyError, TttEnvError
from ttt_env.rules.game import Game
from ttt_env.rules.sizes import MASK_CELLS

LEVELS = ("Easy", "Medium", "Hard", "Perfect")
_NOTHING = 1e-9


@dataclass(frozen=True)
class Preset:
    """An agent by how hard it is to play against."""

    level: str
    seat: str


def presets(game: Game) -> tuple[Preset, ...]:
    """The levels of this game, the easiest first: nobody is called perfect whose play is not proved to be."""
    if is_solved(game):
        seats = ["random", "epsilon:minimax,epsilon=0.3", "epsilon:minimax", "minimax"]
    elif game.n_cells <= MASK_CELLS:
        seats = ["random", "mcts:simulations=300", "mcts:simulations=5000,playout=win-block"]
    else:
        seats = ["random"]
    return tuple(Preset(level, seat) for level, seat in zip(LEVELS, seats, strict=False))


def moved_over(seat: str, before: Game, after: Game) -> str:
    """Who sits there when another game begins: a preset stays on its level, as far as there is one."""
    offered = presets(after)
    for number, preset in enumerate(presets(before)):
        if preset.seat == seat:
            return offered[min(number, len(offered) - 1)].seat
    return seat


def strength(roster: Roster, seat: str, game: Game, edition: int = 0) -> str:
    """In words what the best opponent gets out of the agent of a seat, exactly, or why that is not known.

    See `Roster.edition`, which makes the same question another one.
    """
    if not is_solved(game):
        return "strength unknown: too many positions to look at each"
    try:
        found = exploitability(roster.fixed(seat, game), game)
    except PolicyError:
        return "strength unknown: no policy says how it plays; a seed makes one of it"
    except (TttEnvError, ImportError) as error:
        return str(error)
    if found.nash_conv < _NOTHING:
        return "gives nothing away"
    value = solve(game).value
    return f"gives away {found.as_x + value:.3f} as X, {found.as_o - value:.3f} as O"
