"""The page on which agents are compared: the ladder, certificates, temperatures, training runs."""

from starlette.routing import Route

from ttt_env.app.web.compare.certificates import Certificates
from ttt_env.app.web.compare.curves import Curves
from ttt_env.app.web.compare.matches import Matches
from ttt_env.app.web.house import House


class ComparePages:
    """The pages under /compare; they keep nothing between two requests."""

    def __init__(self, house: House) -> None:
        self._parts = Matches(house), Certificates(house), Curves(house)

    def routes(self) -> list[Route]:
        """Where they are."""
        return [route for part in self._parts for route in part.routes()]
