"""The MCP server, called by fastmcp's own client in this process."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import ttt_env
from tests.support.marks import slow

fastmcp = pytest.importorskip("fastmcp", reason='needs the extra "mcp"')


def talk(conversation: Callable[[Callable[..., Awaitable[Any]]], Awaitable[None]]) -> None:
    """Hold a conversation with a new server."""
    from ttt_env.integrations.mcp import make_server

    async def hold() -> None:
        async with fastmcp.Client(make_server()) as client:

            async def call(tool: str, **arguments: Any) -> Any:
                return (await client.call_tool(tool, arguments)).data

            await conversation(call)

    asyncio.run(hold())


@pytest.mark.slow
def test_game_of_value_keeping_cells_is_not_lost() -> None:
    async def conversation(call: Any) -> None:
        text = await call("new_game", opponent="random", seat="O")
        assert "You are O. X has played" in text and "You are O." in await call("show")
        values = []
        while "The game is over" not in text:
            values_now = await call("values")
            values.append(values_now["position"])
            cell = next(
                cell for cell, value in values_now["cells"].items() if value == values_now["position"]
            )
            text = await call("play", cell=int(cell))
            assert f"You have played {cell}." in text
        order = ["loss", "draw", "win"]
        assert sorted(values, key=order.index) == values and "you have lost" not in text
        assert (await call("show")).startswith("The game is over")
        with pytest.raises(fastmcp.exceptions.ToolError, match="call new_game"):
            await call("play", cell=0)

    talk(conversation)


@pytest.mark.slow
def test_values_equal_solver() -> None:
    async def conversation(call: Any) -> None:
        await call("new_game", opponent="rules")
        await call("play", cell=1)
        description = (await call("show")).partition("draw.")[2]
        free = [int(word) for word in description.partition("Free cells: ")[2].partition(".")[0].split()]
        values = await call("values")
        (other,) = set(range(9)) - {1} - set(free)
        position = ttt_env.get_game("tictactoe-v0").start.play(1).play(other)
        solution = ttt_env.solve("tictactoe-v0")
        words = {1: "win", 0: "draw", -1: "loss"}
        assert values["position"] == words[solution.value_of(position)]
        assert {int(cell): value for cell, value in values["cells"].items()} == {
            cell: words[-solution.value_of(position.play(cell))] for cell in free
        }

    talk(conversation)


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("play", {"cell": 9}, "no cell"),
        ("new_game", {"game": "tictacto-v0"}, "did you mean tictactoe-v0"),
        ("new_game", {"opponent": "minmax"}, "'minmax' arrived as data"),
        slow("new_game", {"opponent": "lookup:policy.npz"}, "policy.npz"),
        ("new_game", {"opponent": "process:ls"}, "process"),
        ("new_game", {"game": "games/own.json"}, "own.json"),
    ],
)
def test_refusal_is_explained_and_changes_nothing(tool: str, arguments: dict[str, Any], message: str) -> None:
    async def conversation(call: Any) -> None:
        await call("play", cell=4)
        before = await call("show")
        with pytest.raises(fastmcp.exceptions.ToolError, match=message):
            await call(tool, **arguments)
        assert await call("show") == before

    talk(conversation)


@pytest.mark.slow
def test_values_of_unsolvable_game_are_unknown() -> None:
    async def conversation(call: Any) -> None:
        await call("new_game", game="mnk-v0:m=8,n=8,k=5", opponent="random")
        values = await call("values")
        assert values["position"] == "unknown" and set(values["cells"].values()) == {"unknown"}

    talk(conversation)
