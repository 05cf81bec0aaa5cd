"""The files and databases on disk."""

from ttt_env.storage.archive import Arrays, ArraySpec, array_names, read_arrays, save_arrays, supports_of
from ttt_env.storage.files import as_file_name, file_errors, open_regular, reason, write_atomically
from ttt_env.storage.game_file import game_from_dict, game_to_dict, load_game
from ttt_env.storage.parsing import parse_json, parse_toml, text_of
