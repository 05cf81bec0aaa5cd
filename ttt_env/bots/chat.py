"""A language model behind an OpenAI-compatible chat endpoint as a player, asked by OpenAI's client."""

from __future__ import annotations

import json
import os
import re
from functools import partial
from typing import Annotated, Any

from ttt_env.errors import NoVerdictError, ParameterError, PlayerError, extra_for
from ttt_env.rules import Between, Count, Game, Seconds, checked
from ttt_env.text.answers import CUT_OFF, AnswerFormat
from ttt_env.text.prompt import PromptAgent, Reply
from ttt_env.text.wording import BoardStyle

_NO_KEY = "none"  # sent to servers that need no key
_MESSAGE_LENGTH = 300  # letters of an endpoint's message that are shown
_RETRIED_STATUSES = (408, 409, 429)  # by the client, in addition to server errors
_SERVER_ERROR = 500
_URL = re.compile(r"https?://[^\s/?#@\\]+(/[^\s?#@\\]*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class ChatAgent(PromptAgent):
    """Plays the cell that a language model behind an OpenAI-compatible chat endpoint names.

    The client asks again up to `retries` times after an accident: a connection that fails, `timeout` seconds
    without a byte, or a status 408, 409, 429 or 500 and above. It pauses for the seconds in `Retry-After`, or
    for half a second at first and twice as long each time, up to 8. If no attempt succeeds, or the reply is
    not a chat completion, `NoVerdictError` is raised; a permanent failure, such as a wrong key (401) or an
    unknown model (404), raises `PlayerError` at once. Both name the position, and no answer is kept.

    The reply is the text in `content`, read by the rule of `AnswerFormat`; separate fields for reasoning are
    ignored. A reply cut off at the token limit or by a filter is requested once more, with twice the
    `max_tokens` if given; cut off again, it loses a game and ends an analysis. If a reply makes no legal
    move, the reason says whether it was a refusal, a tool call, or without text.

    Args:
        game: The game, or its id.
        url: The base of the endpoint, such as `http://localhost:8000/v1`.
        model: The name of the model there.
        temperature: The temperature of sampling; by default the endpoint's.
        max_tokens: The most tokens of a reply; by default the endpoint's.
        system: A system prompt; by default none.
        key_variable: The environment variable with the API key, which is never shown, saved, or copied with
            the agent.
        timeout: The seconds to wait for the endpoint.
        retries: The most further attempts after an accident.
        board: The drawing of the board, as in `PromptAgent`.
        answer: The form of an answer, as in `PromptAgent`.

    Raises:
        ParameterError: The url has a user, password or query, which may contain secrets (it is not shown), or
            another argument is invalid.
        ImportError: The extra "llm" is not installed.

    Example:
        >>> ChatAgent("tictactoe-v0", "http://localhost:8000/v1", "my-model", temperature=0)
        <ChatAgent my-model at http://localhost:8000/v1 of tictactoe-v0>

    """

    @checked
    def __init__(
        self,
        game: Game | str,
        url: str,
        model: str,
        *,
        temperature: Annotated[float, Between(0)] | None = None,
        max_tokens: Count | None = None,
        system: str | None = None,
        key_variable: str = "OPENAI_API_KEY",
        timeout: Seconds = 600.0,
        retries: Annotated[int, Between(0)] = 5,
        board: BoardStyle = "grid",
        answer: str | AnswerFormat = "[{cell}]",
    ) -> None:
        super().__init__(game, self._reply_of_model, board=board, answer=answer)
        if not _URL.fullmatch(url):
            raise ParameterError(
                "url: expected http://host:port/path or https://…, without a user, a password or a query, "
                "which may contain secrets; so the given one is not shown here. The key is read from an "
                "environment variable"
            )
        self.url, self.model, self.system = url, model, system
        self.temperature, self.max_tokens = temperature, max_tokens
        self.timeout, self.retries = timeout, retries
        if not _VARIABLE.fullmatch(key_variable):
            raise ParameterError("key_variable: expected the name of an environment variable, not a key")
        self.key_variable = key_variable
        key = os.environ.get(key_variable, "").strip()
        if not (key.isascii() and (key.isprintable() or not key)):
            raise ParameterError(
                f"the key in the environment variable {key_variable} has letters that no key has"
            )
        with extra_for("models need", "llm"):
            from openai import OpenAI
        self._key = key
        self._client = OpenAI(api_key=key or _NO_KEY, base_url=url, timeout=timeout, max_retries=retries)

    def __repr__(self) -> str:
        return f"<ChatAgent {self.model} at {self.url} of {self.game.name}>"

    def __reduce__(self) -> tuple[Any, ...]:
        settings = ("temperature", "max_tokens", "system", "key_variable", "timeout", "retries", "board")
        keywords = {name: getattr(self, name) for name in settings} | {"answer": self.answer_format}
        return partial(ChatAgent, self.game, self.url, self.model, **keywords), ()

    @property
    def label(self) -> str:
        """The model and its endpoint."""
        return f"{self.model} at {self.url}"

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _reply_of_model(self, prompt: str) -> Reply:
        messages = [{"role": "user", "content": prompt}]
        if self.system is not None:
            messages.insert(0, {"role": "system", "content": self.system})
        request: dict[str, Any] = {"model": self.model, "messages": messages}
        if self.temperature is not None:
            request["temperature"] = self.temperature
        if self.max_tokens is not None:
            request["max_tokens"] = self.max_tokens
        ending, reply = self._complete(request)
        if ending in CUT_OFF:  # a larger limit may help
            if self.max_tokens is not None:
                request["max_tokens"] = 2 * self.max_tokens
            ending, reply = self._complete(request)
        if ending in CUT_OFF:
            limit = f" ({request['max_tokens']} tokens)" if "max_tokens" in request else ""
            raise NoVerdictError(self.label, None, f"{CUT_OFF[ending]}{limit}", "unreadable")
        return reply

    def _complete(self, request: dict[str, Any]) -> tuple[str, Reply]:
        """The reason why the completion of a request has ended, and its reply."""
        from openai import APIConnectionError, APIStatusError, APITimeoutError, OpenAIError

        if self._client.is_closed():
            raise PlayerError(f"{self.label} is closed")
        # The errors of the client may quote the key, so they are not shown as the cause of others.
        try:
            response = self._client.chat.completions.with_raw_response.create(**request)
        except APITimeoutError:
            raise self._no_answer(f"no reply within {self.timeout:g} seconds") from None
        except APIConnectionError as error:
            raise self._no_answer(f"{error.__cause__ or error} (is the server running?)") from None
        except APIStatusError as error:
            text = self._excerpt(f"status {error.status_code}: {error.response.text}")
            if error.status_code in _RETRIED_STATUSES or error.status_code >= _SERVER_ERROR:
                raise self._no_answer(text) from None
            if error.status_code == 401 and not self._key:
                text += f" (the environment variable {self.key_variable} is not set)"
            raise PlayerError(f"{self.label} cannot be asked: {text}") from None
        except OpenAIError as error:
            raise PlayerError(f"{self.label} cannot be asked: {self._excerpt(str(error))}") from None
        try:
            choice = json.loads(response.content)["choices"][0]
            if choice.get("error") or choice.get("finish_reason") == "error":
                raise ValueError("the endpoint failed half-way")
            text, note = _text_and_note(choice["message"])
        except (ValueError, LookupError, TypeError, AttributeError):
            reason = f"no chat completion (is /v1 missing in the url?): {response.text}"
            raise self._no_answer(reason) from None
        return str(choice.get("finish_reason")), Reply(self._without_key(text), self._without_key(note))

    def _no_answer(self, reason: str) -> NoVerdictError:
        return NoVerdictError(self.label, None, f"gave no answer: {self._excerpt(reason)}")

    def _excerpt(self, text: str) -> str:
        return self._without_key(" ".join(text.split()))[:_MESSAGE_LENGTH]

    def _without_key(self, text: str) -> str:
        return text.replace(self._key, "[key]") if self._key else text


def _text_and_note(message: dict[str, Any]) -> tuple[str, str]:
    """The text of a message, and what is to be said where it has none.

    The content is a text, or a list of parts, whose texts are joined; parts of other kinds, such as
    reasoning, have no text of the answer. Raises `LookupError` or `TypeError` for another message.
    """
    refusal, calls = message.get("refusal"), message.get("tool_calls") or message.get("function_call")
    content = message.get("content") if refusal or calls else message["content"]
    parts = content if isinstance(content, list) else [{"type": "text", "text": content or ""}]
    text = "".join(part["text"] for part in parts if part["type"] == "text")
    if refusal:
        return text, f"a refusal: {refusal}"
    if any(part["type"] == "refusal" for part in parts):
        return text, "a refusal"
    if calls:
        return text, f"a tool call, and no tool was offered: {json.dumps(calls)}"
    return text, "" if text else "a message without text"
