"""The adapter for OpenEnv: what clients may request.

The tests need the extra "openenv": `make frameworks-openenv_server` runs them where it is installed, after a
script that plays over the network.
"""

import asyncio
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from typing import Any

import pytest

from ttt_env.errors import (
    EpisodeOrderError,
    IllegalMoveError,
    NotationError,
    ParameterError,
    UnknownAgentError,
)
from ttt_env.text import TextEnv

pytestmark = pytest.mark.skipif(find_spec("openenv") is None, reason='needs the extra "openenv"')


@pytest.fixture
def adapter() -> Any:
    return import_module("ttt_env.integrations.openenv")


class TestActions:
    @pytest.mark.parametrize(
        "fields",
        [
            {},
            {"cell": None},
            {"cell": 4, "reply": "[4]"},
            {"cell": "4"},
            {"cell": True},
            {"reply": 4},
            {"a": 1},
        ],
    )
    def test_action_is_one_cell_or_one_reply(self, adapter: Any, fields: dict[str, Any]) -> None:
        from openenv.core.env_server import WSErrorResponse
        from pydantic import ValidationError

        with pytest.raises(ValidationError) as caught:
            adapter.TttAction(**fields)
        # Errors that OpenEnv cannot serialize end the session of the client.
        assert WSErrorResponse(data={"errors": caught.value.errors()}).model_dump_json()


class TestEnvironment:
    def test_server_gives_outputs_of_text_env(self, adapter: Any) -> None:
        row: Any = {"seed": 5, "play_as": "X", "position": "XO./.../...", "opponent": "random"}
        options: Any = {"reward": "shaped", "illegal": "retry", "board": "line"}
        env = TextEnv("tictactoe-v0", **options)
        served = adapter.TttEnvironment("tictactoe-v0", **options)
        observation = served.reset(**row, prompt="a column of another name")
        assert (observation.text, observation.reward, observation.done, observation.info) == (
            env.reset(**row),
            0.0,
            False,
            env.info,
        )
        for reply in ["no", "[4]", "[99]", "[4]", "[2] or [3]", "[8]", "[0]", "no"]:
            if not env.done:
                observation, text = served.step(adapter.TttAction(reply=reply)), env.reply(reply)
                assert (observation.text, observation.reward, observation.done) == (
                    text,
                    env.reward,
                    env.done,
                )
                assert observation.info == env.info
        assert env.done and served.state.total_reward == env.total_reward

    @pytest.mark.parametrize("reason", ["length", "content_filter"])
    def test_truncated_reply_is_not_read(self, adapter: Any, reason: str) -> None:
        cut_off = adapter.TttAction(reply="If I play [3], O may take", finish_reason=reason)
        served = adapter.TttEnvironment(illegal="retry")
        served.reset(seed=0, play_as="X")
        observation = served.step(cut_off)
        assert (
            observation.info["outcome"] == "unreadable"
            and not observation.done
            and "Try again" in observation.text
        )
        assert served.step(adapter.TttAction(reply="[3]", finish_reason="stop")).info["outcome"] == "played"
        served = adapter.TttEnvironment(illegal="lose")
        served.reset(seed=0, play_as="X")
        observation = served.step(cut_off)
        assert observation.done and observation.reward == -1.0

    def test_state_counts_answers_of_each_game(self, adapter: Any) -> None:
        served = adapter.TttEnvironment()
        assert served.state.model_dump(exclude_defaults=True) == {"game": "tictactoe-v0"}
        served.reset(episode_id="mine", play_as="X")
        served.step(adapter.TttAction(cell=4))
        state = served.state
        assert (state.episode_id, state.step_count, state.seat) == ("mine", 1, "X")
        assert state.position is not None and state.position[5] == "X"
        served.reset()
        assert served.state.step_count == 0 and served.state.episode_id not in (None, "mine")

    @pytest.mark.parametrize(
        "row, error",
        [
            ({"opponent": "lookup:policy.npz"}, ParameterError),
            ({"opponent": "epsilon:sb3:model.zip,epsilon=0.1"}, ParameterError),
            ({"opponent": "mcts"}, ParameterError),
            ({"opponent": ["random", "sb3:model.zip"]}, ParameterError),
            ({"opponent": []}, ParameterError),
            ({"opponent": 4}, ParameterError),
            ({"position": "XXX"}, NotationError),
            ({"position": 4}, NotationError),
            ({"play_as": []}, ParameterError),
            ({"seed": 1.0}, ParameterError),
            ({"episode_id": 4}, ValueError),
        ],
    )
    def test_refused_request_changes_nothing(
        self, adapter: Any, row: dict[str, Any], error: type[Exception]
    ) -> None:
        served = adapter.TttEnvironment("tictactoe-v0", opponents=["minimax"], illegal="raise")
        with pytest.raises(EpisodeOrderError):
            served.step(adapter.TttAction(cell=4))
        served.reset(seed=1, play_as="X")
        before = served.state
        with pytest.raises(error):
            served.reset(**row)
        with pytest.raises(IllegalMoveError):
            served.step(adapter.TttAction(cell=9))
        assert served.state == before
        env = TextEnv("tictactoe-v0")
        env.reset(seed=1, play_as="X")
        assert served.step(adapter.TttAction(cell=4)).text == env.move(4)

    def test_clients_may_name_configured_agents(self, adapter: Any) -> None:
        def first_free(position: Any) -> int:
            return int(position.legal_cells[0])

        served = adapter.TttEnvironment(
            "tictactoe-v0", ["random", "block"], opponents={"first": first_free, "mine": "minimax"}
        )
        for name in ["random", "block", "mine", ["random", "mine"]]:
            served.reset(opponent=name)
        served.reset(opponent="first", play_as="O")
        assert served.state.position == "X../.../..."
        with pytest.raises(ParameterError, match="Allowed: block, first, mine, random"):
            served.reset(opponent="minimax")

    def test_bad_agent_is_refused_at_start(self, adapter: Any) -> None:
        with pytest.raises(UnknownAgentError, match="did you mean minimax"):
            adapter.make_app("tictactoe-v0", opponents=["minmax"])


def send(websocket: Any, kind: str, **data: Any) -> dict[str, Any]:
    websocket.send_json({"type": kind} if kind == "state" else {"type": kind, "data": data})
    answer: dict[str, Any] = websocket.receive_json()
    return answer


class TestApp:
    @pytest.fixture
    def client(self, adapter: Any) -> Iterator[Any]:
        from fastapi.testclient import TestClient

        with TestClient(adapter.make_app("tictactoe-v0", "minimax", max_concurrent_envs=2)) as client:
            yield client

    def test_each_session_has_its_own_game(self, client: Any) -> None:
        with client.websocket_connect("/ws") as one, client.websocket_connect("/ws") as two:
            for each, seat in [(one, "X"), (two, "O")]:
                send(each, "reset", seed=3, play_as=seat)
            position = send(two, "state")["data"]["position"]
            send(one, "step", cell=4)
            assert send(two, "state")["data"]["position"] == position
            assert send(one, "state")["data"]["position"].count(".") == 7
            with client.websocket_connect("/ws") as three:
                assert three.receive_json()["data"]["code"] == "CAPACITY_REACHED"

    @pytest.mark.parametrize(
        "kind, data, code",
        [
            ("reset", {"opponent": "sb3:model.zip"}, "EXECUTION_ERROR"),
            ("reset", {"episode_id": 3}, "VALIDATION_ERROR"),
            ("step", {"cell": 10, "reply": "[1]"}, "VALIDATION_ERROR"),
            ("step", {}, "VALIDATION_ERROR"),
        ],
    )
    def test_refusal_keeps_session_open(
        self, client: Any, kind: str, data: dict[str, Any], code: str
    ) -> None:
        with client.websocket_connect("/ws") as session:
            send(session, "reset", seed=3, play_as="X")
            before = send(session, "state")
            assert send(session, kind, **data)["data"]["code"] == code
            assert send(session, "state") == before
            assert send(session, "step", cell=4)["data"]["observation"]["info"]["regret"] == [0]

    def test_http_refusal_is_explained(self, client: Any) -> None:
        answer = client.post("/reset", json={"opponent": "lookup:policy.npz"})
        assert answer.status_code == 422 and "lookup:policy.npz" in answer.json()["detail"]
        answer = client.post("/step", json={"action": {"cell": 4}})
        assert answer.status_code == 422 and "/ws" in answer.json()["detail"]

    def test_disconnected_client_is_not_a_failure(self, adapter: Any) -> None:
        incoming = iter(
            [{"type": "websocket.connect"}, {"type": "websocket.receive", "text": '{"type": "close"}'}]
        )
        sent = []

        async def receive() -> dict[str, Any]:
            return next(incoming)

        async def send(message: dict[str, Any]) -> None:
            sent.append(message["type"])
            if message["type"] == "websocket.close":
                raise OSError

        scope: dict[str, Any] = {"type": "websocket", "path": "/ws", "headers": [], "query_string": b""}
        asyncio.run(adapter.make_app()(scope, receive, send))
        assert sent == ["websocket.accept", "websocket.close"]


class TestCommand:
    def test_server_listens_only_to_this_machine(self, adapter: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        called: dict[str, Any] = {}
        monkeypatch.setattr(adapter.uvicorn, "run", lambda app, **address: called.update(address))
        adapter.main([])
        assert called == {"host": "127.0.0.1", "port": 8000}

    @pytest.mark.parametrize(
        "arguments, message",
        [
            (["minmax"], "did you mean minimax"),
            (["--game", "tictacto-v0"], "did you mean tictactoe-v0"),
            (["--port", "65536"], "port=65536"),
            (["--sessions", "0"], "greater than or equal to 1"),
        ],
    )
    def test_bad_argument_is_named(
        self, adapter: Any, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
    ) -> None:
        with pytest.raises(SystemExit):
            adapter.main(arguments)
        assert message in capsys.readouterr().err
