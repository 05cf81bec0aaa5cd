"""A language model behind a chat endpoint as a player."""

import os
import re
from functools import partial
from typing import Any, Self

from ttt_env.errors import ParameterError, shown
from ttt_env.rules import Game, as_integer, as_number, as_positive
from ttt_env.text.answers import AnswerFormat
from ttt_env.text.players.endpoint import ChatEndpoint
from ttt_env.text.players.prompt import PromptAgent, Reply
from ttt_env.text.wording import BoardStyle

_URL = re.compile(r"https?://[^\s/?#@\\]+(/[^\s?#@\\]*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class ChatAgent(PromptAgent):
    """Plays what a language model behind an OpenAI-compatible chat endpoint replies.

    `url` is the base of the endpoint, such as `http://localhost:8000/v1`, and `model` the name that it knows
    the model by. `temperature`, `max_tokens` and `system`, a prompt before the one of the position, are
    left to the endpoint where they are None. `board` and `answer` are as in `PromptAgent`.

    The key is read from the environment variable `key_variable` whenever a connection is made. It is shown
    and kept nowhere, and travels with no copy of the agent.

    An accident is no answer of the model: a connection that fails, a reply that is not complete `timeout`
    seconds after the question, the statuses 408, 429 and those from 500 on, and a body that is no chat
    completion. The question is then asked again, up to `retries` times, after 0.5, 1, 2, 4 and then every 8
    seconds, or after as many as the endpoint asks for by `Retry-After`, up to 60. Where that does not help,
    `NotJudgedError` is raised, and `PlayerError` at once for what another attempt cannot mend, such as a
    wrong key (401) or an unknown model (404). Both name the position, and no answer is kept.

    The texts of `content` are the reply, read by the rule of `AnswerFormat`; fields for reasoning beside it
    are not looked at. Where it names no free cell the reason says so if it was cut off at the limit of
    tokens, if it was a refusal or a tool call, and if there was no text.

    Raises `ParameterError` for a url with a user, a password or a query, which may contain secrets, and does
    not show it; `ImportError` without the extra "llm".
    """

    def __init__(
        self,
        game: Game | str,
        url: str,
        model: str,
        *,
        temperature: float | None = None,
        max_tokens: int | None = None,
        system: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        timeout: float = 600.0,
        retries: int = 5,
        board: BoardStyle = "grid",
        answer: str | AnswerFormat = "[{cell}]",
    ) -> None:
        super().__init__(game, self._reply_of_model, board=board, answer=answer, errors="raise")
        owner = "ChatAgent"
        self.url, self.model = _checked_url(url), _as_str("model", model)
        self.temperature = None if temperature is None else as_number("temperature", temperature, owner)
        self.max_tokens = None if max_tokens is None else as_integer("max_tokens", max_tokens, owner, 1)
        self.system = None if system is None else _as_str("system", system)
        self.timeout = as_positive("timeout", timeout, owner)
        self.retries = as_integer("retries", retries, owner, 0)
        if not isinstance(key_variable, str) or not _VARIABLE.fullmatch(key_variable):
            raise ParameterError("key_variable: the name of an environment variable is needed, not a key")
        self.key_variable = key_variable
        key = _key_in(key_variable)
        self._endpoint = ChatEndpoint(self.url, key, key_variable, self.timeout, self.retries)

    def __repr__(self) -> str:
        return f"<ChatAgent {self.model} at {self.url} of {self.game.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        settings = ("temperature", "max_tokens", "system", "key_variable", "timeout", "retries", "board")
        keywords = {name: getattr(self, name) for name in settings} | {"answer": self.answer_format}
        return partial(ChatAgent, self.game, self.url, self.model, **keywords), ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def identity(self) -> str:
        """The model, its endpoint, and all that its answers may depend on."""
        names = ("temperature", "max_tokens", "system")
        given = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) is not None]
        return ", ".join([f"the model {self.model} at {self.url}", *given, self._shown_as])

    def close(self) -> None:
        """Close the connections."""
        self._endpoint.close()

    def _reply_of_model(self, prompt: str) -> Reply:
        messages = [{"role": "user", "content": prompt}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": self.system})
        request: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.temperature is not None:
            request["temperature"] = self.temperature
        if self.max_tokens is not None:
            request["max_tokens"] = self.max_tokens
        return self._endpoint.ask(request, repr(self))


def _key_in(variable: str) -> str:
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and (key.isprintable() or not key)):
        raise ParameterError(f"the key in the environment variable {variable} has letters that no key has")
    return key


def _checked_url(url: object) -> str:
    if isinstance(url, str) and _URL.fullmatch(url):
        return url
    raise ParameterError(
        "url: http://host:port/path or https://… is needed, without a user, a password or a query, in which "
        "secrets may stand; so the one given is not shown here. The key is read from an environment variable"
    )


def _as_str(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ParameterError(f"{name}={shown(text)} of ChatAgent: a str is needed")
    return text
