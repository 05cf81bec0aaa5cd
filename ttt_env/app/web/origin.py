"""Recognise requests from pages of other sites, and decide which of them are answered."""

from urllib.parse import urlsplit

from starlette.requests import Request

REFUSED = "This is done on the page itself."


def is_foreign(request: Request) -> bool:
    """True if the browser says that a page of another site sent this request.

    Browsers say it in `sec-fetch-site` to this machine's own names and over HTTPS; otherwise in `origin` for
    forms and in `referer` for links, if the other site lets them. A visitor who types an address or opens a
    bookmark is nobody's page, and sends no forms.
    """
    is_form = request.method == "POST"
    site = request.headers.get("sec-fetch-site")
    if site is not None:
        return site != "same-origin" and (is_form or site != "none")
    sender = request.headers.get("origin" if is_form else "referer")
    return sender is not None and _place(sender) != request.headers.get("host")


def _place(address: str) -> str:
    """The name and the port in an address; empty in what is none."""
    try:
        return urlsplit(address).netloc
    except ValueError:
        return ""


def is_whole(request: Request) -> bool:
    """True if the page must come with its parts, however long they take: for browsers without JavaScript.

    A link of another site brings the page without them.
    """
    return request.query_params.get("whole") == "1" and not is_foreign(request)


def is_opened(request: Request) -> bool:
    """True if the request asks for a page to look at, as a link does, not for a picture, script or frame."""
    is_link = request.headers.get("sec-fetch-mode", "navigate") == "navigate"
    is_page = request.headers.get("sec-fetch-dest", "document") == "document"
    return request.method in ("GET", "HEAD") and is_link and is_page
