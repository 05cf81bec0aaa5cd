"""A language model behind an OpenAI-compatible chat endpoint as a player, with retries after accidents."""

from __future__ import annotations

import asyncio
import json
import os
import re
import time
import weakref
from collections.abc import Mapping
from concurrent.futures import CancelledError, Future
from contextlib import suppress
from email.utils import parsedate_to_datetime
from functools import partial
from math import isfinite
from threading import Thread
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

from ttt_env.errors import NoVerdictError, ParameterError, PlayerError, brief, extra_for
from ttt_env.rules import Between, Count, Game, Seconds, checked
from ttt_env.text.answers import CUT_OFF, AnswerFormat
from ttt_env.text.prompt import PromptAgent, Reply
from ttt_env.text.wording import BoardStyle

if TYPE_CHECKING:
    from openai import APIStatusError

FIRST_PAUSE, LONGEST_OWN_PAUSE = 0.5, 8.0  # seconds before an attempt; each is twice the one before
LONGEST_PAUSE = 60.0  # seconds that an endpoint may ask for by `Retry-After`; for more, there is no retry
LONGEST_REPLY = 1 << 24  # bytes
_NO_KEY = "none"  # sent to servers that need no key
_MESSAGE_LENGTH = 300  # letters of an endpoint's message that are shown
_CLOSE_TIMEOUT = 5.0  # seconds for open connections to be closed
_LEAST_ERROR, _LEAST_ERROR_OF_SERVER = 400, 500  # of the statuses of HTTP
_RETRIED_STATUSES = (408, 429)  # in addition to server errors


class Accident(Exception):
    """A transient failure that prevented an answer. `pause` is the requested pause in seconds."""

    def __init__(self, message: str, pause: float | None = None) -> None:
        super().__init__(message)
        self.pause = pause


class CutOff(Exception):
    """A reply that was cut off."""


class ChatEndpoint:
    """A client of an endpoint, for any number of threads at once.

    An attempt may take `timeout` seconds in all, from the connection to the last byte. An accident is a
    connection that fails or is cut, a time-out, a status 408, 429 or 500 and above, and a body that is not a
    chat completion. After one there are up to `retries` more attempts, with a pause of `FIRST_PAUSE`, doubled
    each time up to `LONGEST_OWN_PAUSE`, or of the seconds in `Retry-After`, up to `LONGEST_PAUSE`.

    Raises `ImportError` without the extra "llm".
    """

    def __init__(self, url: str, key: str, key_variable: str, timeout: float, retries: int) -> None:
        with extra_for("models need", "llm"):
            from openai import AsyncOpenAI
        self._key, self._key_variable = key, key_variable
        self._key_in_text = re.compile(
            "".join(rf"(?:\\{{0,8}}{re.escape(c)}|\\+u{ord(c):04x})" for c in key or "")
        )
        self._timeout, self._retries = timeout, retries
        self._is_closed = False
        self._new_client = partial(
            AsyncOpenAI, api_key=key or _NO_KEY, base_url=url, timeout=None, max_retries=0
        )
        self._start()

    def _start(self) -> None:
        # Only a task can be ended while it waits for the next byte, so one thread makes all requests.
        self._client = self._new_client()
        started: Future[_Loop] = Future()
        self._thread = Thread(target=_serve, args=(self._client, started), name="endpoint", daemon=True)
        self._thread.start()
        self._loop = started.result()
        self._end = weakref.finalize(self, self._loop.end)

    def close(self) -> None:
        """Close the connections; calls that wait for a reply raise `PlayerError`."""
        self._is_closed = True
        self._end()
        self._thread.join(_CLOSE_TIMEOUT)

    def ask(self, request: Mapping[str, Any], asker: str) -> Reply:
        """The reply to a request for a chat completion.

        Raises `NoVerdictError` after the last attempt, and `PlayerError` for a permanent failure, such as a
        wrong key (401), and after `close`. The messages name `asker` and never the key.
        """
        attempt = 0
        while True:
            attempt += 1
            try:
                if self._is_closed:
                    raise PlayerError(f"{asker} is closed")
                if not self._thread.is_alive():  # in a process that was forked
                    self._start()
                reply = asyncio.run_coroutine_threadsafe(self._reply(request, asker), self._loop.loop)
                try:
                    return reply.result()
                except CancelledError:
                    raise PlayerError(f"{asker} is closed") from None
                except BaseException:
                    reply.cancel()  # Ctrl-C
                    raise
            except Accident as accident:
                own_pause = min(FIRST_PAUSE * 2.0 ** min(attempt - 1, 10), LONGEST_OWN_PAUSE)
                pause = own_pause if accident.pause is None else accident.pause
                if attempt > self._retries or pause > LONGEST_PAUSE:
                    more = f"; it asks for a pause of {pause:.0f} s" if pause > LONGEST_PAUSE else ""
                    tries = f"{attempt} attempt{'s' * (attempt > 1)}"
                    reason = f"gave no answer in {tries}: {self._excerpt(str(accident))}{more}"
                    raise NoVerdictError(asker, None, reason) from None
            time.sleep(pause)

    async def _reply(self, request: Mapping[str, Any], asker: str) -> Reply:
        from openai import APIConnectionError, APIStatusError, OpenAIError

        # The library's errors hold the request, and so the key: no error has one of them as its context.
        failure: Accident | PlayerError
        try:
            async with asyncio.timeout(self._timeout):
                headers, body = await self._body(request)
            return self._read(headers, body, asker)
        except TimeoutError:
            failure = Accident(f"no reply within {self._timeout:g} seconds")
        except APIStatusError as error:
            text = f"status {error.status_code}: {self._excerpt(_message_of(error))}"
            if error.status_code == 401 and not self._key:
                text += f" (the environment variable {self._key_variable} is not set)"
            failure = PlayerError(f"{asker} cannot be asked: {text}")
            if _is_transient(error.status_code):
                failure = Accident(text, _retry_after(error.response.headers))
        except APIConnectionError as error:
            cause: BaseException = error
            while (deeper := cause.__cause__ or cause.__context__) is not None:
                cause = deeper
            failure = Accident(f"{cause} (is the server running?)")
        except OpenAIError as error:
            failure = PlayerError(f"{asker} cannot be asked: {self._excerpt(str(error))}")
        raise failure

    async def _body(self, request: Mapping[str, Any]) -> tuple[Mapping[str, str], bytes]:
        """The headers and the body of a reply whose status is not an error."""
        body = bytearray()
        create = self._client.chat.completions.with_streaming_response.create
        async with create(**request) as response:
            try:
                async for chunk in response.iter_bytes():
                    body += chunk
                    if len(body) > LONGEST_REPLY:
                        raise Accident(f"a reply of more than {LONGEST_REPLY} bytes")
            except (asyncio.CancelledError, Accident):
                raise
            except Exception as error:  # the errors of the library that has read the bytes
                raise Accident(f"the reply was cut off: {error!r}") from None
            return response.headers, bytes(body)

    def _read(self, headers: Mapping[str, str], body: bytes, asker: str) -> Reply:
        try:
            completion = json.loads(body)
        except (ValueError, RecursionError):
            completion = None
        choice = _choice_of(completion)
        reply = None if choice is None else _reply_of(choice)
        if reply is not None:
            return Reply(self._without_key(reply), self._without_key(reply.note))
        status, message = _error_in(completion)
        if status is not None and not _is_transient(status):
            raise PlayerError(f"{asker} cannot be asked: {self._excerpt(message)}")
        reason = message or body.decode("utf-8", "replace")
        raise Accident(
            f"no chat completion (is /v1 missing in the url?): {self._excerpt(reason)}", _retry_after(headers)
        )

    def _excerpt(self, text: str) -> str:
        return self._without_key(" ".join(text.split()))[:_MESSAGE_LENGTH]

    def _without_key(self, text: str) -> str:
        """A whole text of the endpoint, in which the key might be quoted or escaped, without it."""
        return self._key_in_text.sub("[key]", text) if self._key else str(text)


class _Loop(NamedTuple):
    loop: asyncio.AbstractEventLoop
    is_over: asyncio.Event

    def end(self) -> None:
        with suppress(RuntimeError):  # the loop is closed
            self.loop.call_soon_threadsafe(self.is_over.set)


def _serve(client: Any, started: Future[_Loop]) -> None:
    """Run the requests of an endpoint until its loop is ended, and cancel the remaining ones."""

    async def wait() -> None:
        is_over = asyncio.Event()
        started.set_result(_Loop(asyncio.get_running_loop(), is_over))
        await is_over.wait()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await client.close()

    asyncio.run(wait())


def _message_of(error: APIStatusError) -> str:
    """The endpoint's message about an error; the whole body if it has none."""
    text: str = error.response.text
    try:
        return _error_in(json.loads(text))[1] or text
    except (ValueError, RecursionError):
        return text


def _is_transient(status: int) -> bool:
    """True if this status is of a transient error, so that a retry may succeed."""
    return status in _RETRIED_STATUSES or status >= _LEAST_ERROR_OF_SERVER


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds in the header `Retry-After`, a number or a date; None without a valid one."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except (TypeError, ValueError, OverflowError):
            return None
        seconds = max(seconds, 0.0)
    return seconds if isfinite(seconds) and seconds >= 0 else None


def _choice_of(completion: object) -> dict[str, Any] | None:
    """The first choice of a chat completion; None if it has none, or one that has failed."""
    choices = completion.get("choices") if isinstance(completion, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, dict) or choice.get("finish_reason") == "error" or choice.get("error"):
        return None
    return choice


def _error_in(completion: object) -> tuple[int | None, str]:
    """The status and the message of an error in a body with the status 200, as some proxies send it."""
    error = completion.get("error") if isinstance(completion, dict) else None
    if isinstance(error, dict):
        code = error.get("code")
        return code if type(code) is int and code >= _LEAST_ERROR else None, str(error.get("message", ""))
    return None, error if isinstance(error, str) else ""


def _reply_of(choice: dict[str, Any]) -> Reply | None:
    """The reply of a choice; None if it has no message of the protocol."""
    message = choice.get("message")
    if not isinstance(message, dict):
        return None
    refusal, calls = message.get("refusal"), message.get("tool_calls") or message.get("function_call")
    text = _text_of(message.get("content"))
    if text is None or ("content" not in message and not refusal and not calls):
        return None
    if (cut := CUT_OFF.get(str(choice.get("finish_reason")))) is not None:
        raise CutOff(cut)
    note = ""
    parts = message["content"] if isinstance(message.get("content"), list) else []
    if refusal or any(isinstance(part, dict) and part.get("type") == "refusal" for part in parts):
        note = f"a refusal: {refusal}" if isinstance(refusal, str) else "a refusal"
    elif calls:
        note = f"a tool call, and no tool was offered: {json.dumps(calls)}"
    elif not text and not note:
        note = "a message without text"
    return Reply(text, note)


def _text_of(content: object) -> str | None:
    """The text of a message's content: a text, a list of parts, whose texts are joined, or nothing.

    Parts of other kinds, such as reasoning, have no text of the answer. None for what the protocol does not
    know.
    """
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, list):
        return None
    texts: list[str] = []
    for part in content:
        kind, text = (part.get("type"), part.get("text")) if isinstance(part, dict) else ("text", part)
        if not isinstance(kind, str) or (kind == "text" and not isinstance(text, str)):
            return None
        if kind == "text":
            texts.append(str(text))
    return "".join(texts)


_URL = re.compile(r"https?://[^\s/?#@\\]+(/[^\s?#@\\]*)?")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


class ChatAgent(PromptAgent):
    """Plays the cell that a language model behind an OpenAI-compatible chat endpoint names.

    Accidents are not answers: a connection that fails, a reply that is incomplete after `timeout` seconds,
    status 408, 429 or 500 and above, or a body that is not a chat completion. The request is repeated up to
    `retries` times, after 0.5, 1, 2, 4 and then 8 seconds each, or after the seconds in `Retry-After`, up to
    60. If no attempt succeeds, `NoVerdictError` is raised; a permanent failure, such as a wrong key (401) or
    an unknown model (404), raises `PlayerError` at once. Both name the position, and no answer is kept.

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
        timeout: The seconds for a reply.
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
        if not isinstance(url, str) or not _URL.fullmatch(url):
            raise ParameterError(
                "url: expected http://host:port/path or https://…, without a user, a password or a query, "
                "which may contain secrets; so the given one is not shown here. The key is read from an "
                "environment variable"
            )
        self.url, self.model = url, _as_str("model", model)
        self.temperature, self.max_tokens = temperature, max_tokens
        self.system = None if system is None else _as_str("system", system)
        self.timeout, self.retries = timeout, retries
        if not isinstance(key_variable, str) or not _VARIABLE.fullmatch(key_variable):
            raise ParameterError("key_variable: expected the name of an environment variable, not a key")
        self.key_variable = key_variable
        key = os.environ.get(key_variable, "").strip()
        if not (key.isascii() and (key.isprintable() or not key)):
            raise ParameterError(
                f"the key in the environment variable {key_variable} has letters that no key has"
            )
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
    def label(self) -> str:
        """The model and its endpoint."""
        return f"{self.model} at {self.url}"

    @property
    def identity(self) -> str:
        """The model, its endpoint, and all that its answers may depend on."""
        names = ("temperature", "max_tokens", "system")
        settings = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) is not None]
        return ", ".join([f"the model {self.model} at {self.url}", *settings, self._format_text])

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
        try:
            return self._endpoint.ask(request, self.label)
        except CutOff:  # a larger limit may help
            if self.max_tokens is not None:
                request["max_tokens"] = 2 * self.max_tokens
        try:
            return self._endpoint.ask(request, self.label)
        except CutOff as cut:
            limit = f" ({request['max_tokens']} tokens)" if "max_tokens" in request else ""
            raise NoVerdictError(self.label, None, f"{cut}{limit}", "unreadable") from None


def _as_str(name: str, text: object) -> str:
    if not isinstance(text, str):
        raise ParameterError(f"{name}={brief(text)} of ChatAgent: expected a str")
    return text
