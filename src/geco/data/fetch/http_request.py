"""One request for a file: verified TLS, redirects that stay safe; a failure is worth another try or told in one
line.
"""

from __future__ import annotations

import functools
import ssl
from http.client import HTTPException, HTTPMessage, HTTPResponse
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, HTTPSHandler, OpenerDirector, Request, build_opener

from geco import __version__
from geco.errors import DataError

__all__ = ["Lost", "NothingMissing", "Stale", "check_address", "looks_like_a_page", "request", "version"]

LOCAL = ("localhost", "127.0.0.1", "::1")
BUSY = (408, 425, 429, 500, 502, 503, 504)


class Lost(Exception):
    """The connection was lost or the server is busy: worth another try."""


class Stale(Lost):
    """What is here does not fit what the server has: ask for the whole file."""


class NothingMissing(Exception):
    """What is here is the whole file."""


def check_address(url: str) -> None:
    """Refuse an address that is not https; http only on this machine.

    Example:
        >>> check_address("http://example.org/a.zip")
        Traceback (most recent call last):
        geco.errors.DataError: http://example.org/a.zip is not a safe address; only https is used, and http on this
            machine
    """
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in LOCAL):
        raise DataError(f"{url} is not a safe address; only https is used, and http on this machine")


class _Redirects(HTTPRedirectHandler):
    """Follow redirects, but never to an address that is less safe."""

    def redirect_request(
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> Request | None:
        check_address(newurl)
        if urlsplit(req.full_url).scheme == "https" and urlsplit(newurl).scheme != "https":
            raise DataError(f"{req.full_url} leads to {newurl}, which is not https")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


@functools.cache
def _opener() -> OpenerDirector:
    """Reading the system's certificates takes a tenth of a second, so once."""
    return build_opener(HTTPSHandler(context=ssl.create_default_context()), _Redirects)


def request(url: str, start: int, version: str | None, timeout: float) -> HTTPResponse:
    """Return the answer to a request for a file, from byte ``start`` on if the server still has the version and knows
    ranges.

    Args:
        url: of the file.
        start: bytes that are here already; without a version they are asked for again.
        version: the mark the server gave with them, see `version`.
        timeout: seconds to wait for an answer.
    """
    check_address(url)
    headers = {"User-Agent": f"geco/{__version__}"}
    if start and version:
        headers |= {"Range": f"bytes={start}-", "If-Range": version}
    try:
        response: HTTPResponse = _opener().open(Request(url, headers=headers), timeout=timeout)
        return response
    except HTTPError as error:
        with error:
            raise _answer(url, start, error) from None
    except (OSError, HTTPException) as error:
        reason = error.reason if isinstance(error, URLError) else error
        if isinstance(reason, ssl.SSLCertVerificationError):
            raise DataError(
                f"the certificate of {url} is not valid ({reason.verify_message}); not downloading from there"
            ) from error
        raise Lost(f"the server is not reached ({reason or type(reason).__name__})") from error


def _answer(url: str, start: int, error: HTTPError) -> Exception:
    if error.code == 416:
        whole = error.headers.get("Content-Range", "").endswith(f"/{start}")
        return NothingMissing() if whole else Stale("the server has no such part of the file")
    if error.code in BUSY:
        return Lost(f"the server answers {error.code} {error.reason}")
    return DataError(f"{url} answers {error.code} {error.reason}; the file may have moved")


def version(response: HTTPResponse) -> str | None:
    """Return the server's mark of this version of the file, if it has one that allows to continue: a strong ETag or a
    date.
    """
    etag = response.headers.get("ETag", "W/")
    return etag if not etag.startswith("W/") else response.headers.get("Last-Modified")


def looks_like_a_page(response: HTTPResponse) -> bool:
    """Tell whether the answer is a web page: a sign-in, a notice, an error, where a file should be."""
    if response.headers.get_content_type() in ("text/html", "application/xhtml+xml"):
        return True
    try:
        head = response.peek(512)[:512] if response.status == 200 else b""
    except (OSError, HTTPException) as error:
        raise Lost(f"the connection was lost ({error or type(error).__name__})") from error
    return head.lstrip(b"\xef\xbb\xbf \r\n\t").lower().startswith((b"<!doctype html", b"<html"))
