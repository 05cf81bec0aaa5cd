"""The parts of the Compare page that are curves: over temperatures, and of training runs."""

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from ttt_env.app.web.compare.fields import one_of, read
from ttt_env.app.web.compare.part import ComparePart
from ttt_env.app.web.compare.runs import MOST_SHOWN, OVER, chosen_runs, curve, drawn, runs_in
from ttt_env.app.web.compare.softmax import SLIDERS, curves, temperatures
from ttt_env.app.web.house import fields_of
from ttt_env.errors import ParameterError


class Curves(ComparePart):
    """Temperatures and trainings."""

    def routes(self) -> list[Route]:
        """Where they are."""
        return [Route("/compare/softmax", self.softmax), Route("/compare/runs", self.runs)]

    async def softmax(self, request: Request) -> Response:
        """The curves of softmax minimax at the temperatures of the sliders."""
        complaints = []
        try:
            x, o = temperatures(fields_of(request))
        except ParameterError as error:
            complaints, (x, o) = [str(error)], temperatures({})
        ends, chances, worth = await self._house.desk.study(True, curves, x, o)
        return self._page(
            "compare_softmax.html",
            complaints,
            sliders=SLIDERS,
            shown={"x": f"{x:g}", "o": f"{o:g}"},
            ends=ends,
            chances=chances,
            worth=worth,
        )

    async def runs(self, request: Request) -> Response:
        """The curves of the runs that the address names among those in the folder."""
        desk, folder = self._house.desk, self._house.runs
        found, complaints = read(fields_of(request), over=one_of("axis", OVER))
        listed = [] if folder is None else await desk.move(True, runs_in, folder)
        names = request.query_params.getlist("run") if fields_of(request) else []
        try:
            chosen = chosen_runs(listed, names)
        except ParameterError as error:
            complaints, chosen = [*complaints, str(error)], chosen_runs(listed, [])
        shown = [await desk.study(False, curve, run) for run in chosen]
        return self._page(
            "compare_runs.html",
            complaints,
            listed=listed,
            curves=shown,
            chart=drawn(shown, found["over"]),
            most=MOST_SHOWN,
            overs=OVER,
            **found,
        )
