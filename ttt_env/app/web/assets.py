"""The files beside the pages: styles, scripts, pictures. Browsers keep them, and never an old one."""

import os
from functools import cache
from hashlib import sha256
from importlib.resources import files

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_PACKAGE, _FOLDER = "ttt_env.app.web", "static"
_KEPT = "public, max-age=31536000, immutable"
_ASKED_AGAIN = "no-cache"  # kept, and used once the server says that it is still the same


@cache
def edition() -> str:
    """A text that is another one whenever the content of one of the files is."""
    digest = sha256()
    for file in sorted(files(_PACKAGE).joinpath(_FOLDER).iterdir(), key=lambda file: file.name):
        digest.update(f"{file.name}\n".encode() + file.read_bytes())
    return digest.hexdigest()[:12]


class Assets(StaticFiles):
    """Answers with the files, under `edition()` as files that never change.

    The pages name them so: a visitor's next page asks for none of them again, and after an update of this
    package for all. What a script imports lies under the same edition.
    """

    def __init__(self) -> None:
        super().__init__(packages=[(_PACKAGE, _FOLDER)])

    async def get_response(self, path: str, scope: Scope) -> Response:  # noqa: D102
        first, _, rest = path.partition(os.sep)
        is_edition = first == edition()
        response = await super().get_response(rest if is_edition else path, scope)
        response.headers["cache-control"] = _KEPT if is_edition else _ASKED_AGAIN
        return response
