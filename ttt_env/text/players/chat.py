"""A language model behind a chat endpoint as a player."""

import os
import re
from functools import partial
from typing import Any, Self

from ttt_env.errors import ParameterError, PlayerError, shown
from ttt_env.rules.checks import as_integer, as_number, as_seconds
from ttt_env.rules.game import Game
from ttt_env.text.answers import AnswerFormat
from ttt_env.text.players.prompt import PromptAgent
from ttt_env.text.wording import BoardStyle

_NO_KEY = "none"  # what servers that ask for no key are sent
_URL = re.compile(r"https?://[^\s/?#@\\]+(/[^\s?#@\\]*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_MESSAGE = 300  # letters of an endpoint's message that are shown


class ChatAgent(PromptAgent):
    """Plays as a language model replies that stands behind an OpenAI-compatible chat endpoint.

    `url` is the base of the endpoint, such as `http://localhost:8000/v1`, and `model` the name that it knows
    the model by. `temperature`, `max_tokens` and `system`, a prompt that stands before that of the position,
    are left to the endpoint where they are None. `board` and `answer` are those of `PromptAgent`.

    The key is read from the environment variable `key_variable` whenever a connection is made. It is shown
    and kept nowhere, and travels with no copy of the agent.

    A request that fails, by a full queue (429), an error of the server (500) or after `timeout` seconds, is
    made again up to `retries` times, with pauses. What fails then, or cannot be mended so, such as a wrong
    key (401), is no answer of the model: `PlayerError` is raised, and names the position.

    Raises `ParameterError` for a url with a user, a password or a query, in which secrets may stand, and does
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
        self.timeout = as_seconds("timeout", timeout, owner)
        self.retries = as_integer("retries", retries, owner, 0)
        if not isinstance(key_variable, str) or not _VARIABLE.fullmatch(key_variable):
            raise ParameterError("key_variable: the name of an environment variable is needed, not a key")
        self.key_variable = key_variable
        self._key = _key_in(key_variable)
        self._client = self._connected()

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
        self._client.close()

    def _connected(self) -> Any:
        try:
            from openai import OpenAI
        except ImportError as error:
            raise ImportError('models need the extra "llm": pip install "ttt-env[llm]"') from error
        return OpenAI(
            api_key=self._key or _NO_KEY, base_url=self.url, timeout=self.timeout, max_retries=self.retries
        )

    def _reply_of_model(self, prompt: str) -> str:
        from openai import OpenAIError

        messages = [{"role": "user", "content": prompt}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": self.system})
        request: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.temperature is not None:
            request["temperature"] = self.temperature
        if self.max_tokens is not None:
            request["max_tokens"] = self.max_tokens
        try:
            completion = self._client.chat.completions.create(**request)
            content = completion.choices[0].message.content
        except OpenAIError as error:
            # The library's error is not chained: it holds the request, and so the key.
            raise self._error(error) from None
        except (AttributeError, IndexError, TypeError):
            raise PlayerError(f"{self!r} has sent no chat completion: is /v1 missing in the url?") from None
        return self._without_key(content or "")

    def _error(self, error: Exception) -> PlayerError:
        from openai import APIStatusError, APITimeoutError

        if isinstance(error, APITimeoutError):
            message = f"no reply within {self.timeout:g} seconds"
        else:
            message = " ".join(str(error.__cause__ or error).split())
        if isinstance(error, APIStatusError) and error.status_code == 401 and not self._key:
            message += f" (the environment variable {self.key_variable} is not set)"
        return PlayerError(f"{self!r} cannot be asked: {self._without_key(message)[:_MESSAGE]}")

    def _without_key(self, text: str) -> str:
        """A text of the endpoint, in which the key might be quoted, without it."""
        return text.replace(self._key, "[key]") if self._key else text


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
