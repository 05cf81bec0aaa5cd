"""`ttt text`: a game as a language model sees it, played by hand."""

from collections.abc import Callable, Iterable

from ttt_env.render.words import signed
from ttt_env.text import TextEnv


def converse(env: TextEnv, replies: Iterable[str], say: Callable[[str], object]) -> int:
    """Play one game by these replies, telling all texts and, at the end, the rewards; returns the exit code.

    That is 1 if the replies end before the game does.
    """
    say(env.reset())
    for line in replies:
        say(env.reply(line.rstrip("\n")))
        if env.done:
            break
    regrets = " ".join("?" if regret is None else str(regret) for regret in env.info["regret"])
    say(f"\nReward: {signed(env.total_reward, 2)}. Value given away by each move: {regrets or 'none'}.")
    return 0 if env.done else 1
