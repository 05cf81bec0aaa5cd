"""`ttt web`: starting the server, and who can reach it then; or writing the page as files."""

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from ttt_env.errors import extra_for

with extra_for("the web page needs", "web"):
    import uvicorn
    from starlette.applications import Starlette

    from ttt_env.web.export import exported, own_files, write_folder
    from ttt_env.web.server import create_app
    from ttt_env.web.visitors import PromptConnection

from ttt_env.errors import ParameterError
from ttt_env.storage.game_log import GameLog
from ttt_env.web.roster import Roster, named_models

_PATIENCE = 5.0  # seconds for which the first page may take, on a busy machine
_OPEN_TO_ALL = """{host} can be reached from other machines: anyone on the network can play and make this
server compute. There are no passwords, and nothing is encrypted."""


def start(
    host: str,
    port: int,
    models: list[str],
    games: GameLog | None,
    runs: Path | None,
    say: Callable[[str], None],
) -> None:
    """Serve the pages until Ctrl-C; port 0 is any free one.

    Raises `ParameterError` for a model or folder that is not there, `OSError` if the port cannot be had.
    """
    if runs is not None and not runs.is_dir():
        raise ParameterError(f"there is no folder {str(runs)!r}")
    app = create_app(named_models(models), games, runs, is_local=_is_loopback(host))
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.create_server((host, port), family=family) as listening:
        # Without this the second half of an answer waits for the visitor's system to confirm the first.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if not _is_loopback(host):
            say(_OPEN_TO_ALL.format(host=host))
        if games is not None:
            say(f"Finished games are recorded in {games.path}")
        shown = f"[{host}]" if ":" in host else host
        url = f"http://{shown}:{listening.getsockname()[1]}"

        def ready() -> None:
            say(f"Play at {url} (Ctrl-C ends it)")
            app.state.services.sweeper.start()  # while the visitor looks at the first page
            app.state.services.warm_up()

        server = PromptServer(config_of(app, log_level="warning"), ready)
        # Computations that the end of the server cuts off are no errors to report.
        logging.getLogger("uvicorn.error").addFilter(lambda _: not server.should_exit)
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listening])


class PromptServer(uvicorn.Server):
    """Calls `ready` once it has answered with the first page: no visitor waits for what is made but once."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:  # noqa: D102
        await super().startup(sockets)
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                address = self.servers[0].sockets[0].getsockname()[:2]
                reader, writer = await asyncio.open_connection(*address)
                writer.write(b"GET /play HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                await reader.read()
                writer.close()
        self._ready()


def config_of(app: Starlette, **more: Any) -> uvicorn.Config:
    """The configuration with which uvicorn serves the pages.

    Logging stays as the process has it: uvicorn's own settings would close all handlers that there are.
    """
    more = {
        "http": PromptConnection,
        "ws": "none",
        "timeout_graceful_shutdown": 1,
        "log_config": None,
        **more,
    }
    return uvicorn.Config(app, **more)


def export(folder: Path, models: list[str], say: Callable[[str], None]) -> None:
    """Write tic-tac-toe with all certified agents to a folder, as files that any web server can serve.

    Raises `ParameterError` for a model that is not there, or a folder that holds anything but an earlier
    export.
    """
    own_files(folder)  # before anything is computed
    files = exported(Roster(named_models(models)))
    write_folder(folder, files)
    size = sum(map(len, files.values())) / 1e6
    say(f"{len(files)} files ({size:.1f} MB) in {folder}: open {folder / 'index.html'}, or serve the folder.")


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
