"""An independent client of Piskvork's protocol, pygomo-lib, plays random games with one of our engines.

Run as a program of its own, `pygomo_games.py SIZE GAMES PROGRAM ARGUMENT…`, since it leaves its pipes open.
"""

import sys

import numpy as np

from ttt_env import get_game


def main(size: int, n_games: int, program: str, arguments: list[str]) -> None:
    from pygomo import EngineClient  # not installed where the tests are collected

    game, rng = get_game(f"mnk-v0:m={size},n={size},k=5"), np.random.default_rng(0)
    client = EngineClient(program, args=arguments)
    assert client.start(size)
    client.set_time(turn_time_ms=1000)
    for index in range(n_games):
        assert client.restart()
        position, answer = game.start, client.begin() if index % 2 else None
        while True:
            if answer is not None:
                position = position.play(answer.move.row * size + answer.move.col)
            if position.is_over:
                break
            cell = int(rng.choice(position.legal_cells))
            position = position.play(cell)
            if position.is_over:
                break
            answer = client.turn((cell % size, cell // size))
            assert answer is not None, position
    client.quit()
    print(f"{n_games} games")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4:])
