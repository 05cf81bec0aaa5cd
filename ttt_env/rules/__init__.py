"""The games: rules alone, without frameworks, drawings or agents. Other rooms import them from here."""

from ttt_env.rules.boards import Boards, Masks, pack_masks, playable, set_masks, supported
from ttt_env.rules.catalogue import (
    CATALOGUE,
    checked_rules,
    game_names,
    get_game,
    parameters_of_game,
    register_game,
)
from ttt_env.rules.checks import (
    as_generator,
    as_integer,
    as_options,
    as_seat,
    items_of,
    one_of,
)
from ttt_env.rules.game import (
    SEATS,
    Game,
    Position,
    Seat,
    as_cell,
    cells_of,
    check_game,
    illegal_move_message,
    other_seat,
    random_position,
)
from ttt_env.rules.notation import GameRecord
from ttt_env.rules.parameters import (
    Between,
    Count,
    Seconds,
    Seed,
    Share,
    check_fields,
    checked,
    checked_value,
    declared,
)
from ttt_env.rules.shapes import Coordinates
from ttt_env.rules.sizes import (
    BOARD_CELLS,
    MAX_SEED,
    check_coded,
    check_enumerable,
    is_enumerable,
    is_instant,
    is_interactive,
    is_tabulated,
    n_placements,
)
from ttt_env.rules.specs import check_names, split_items, split_spec, strip_brackets, with_parameters
from ttt_env.rules.symmetry import canonical, canonical_boards, motions, same_boards, symmetries
