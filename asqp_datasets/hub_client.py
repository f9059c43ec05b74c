"""Talking to the Hugging Face Hub: ids, tries, downloads, and errors of one line that never hold a token.

Tokens are found and kept by ``huggingface_hub`` alone: ``hf auth login`` or ``HF_TOKEN``.
"""

from __future__ import annotations

import errno
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from asqp_datasets.errors import AsqpError, DataError, UsageError, first_line

T = TypeVar("T")

WAITS = (1.0, 2.0, 4.0, 8.0)
"""Seconds between tries; a longer ``Retry-After`` is obeyed up to :data:`LONGEST_WAIT`."""

LONGEST_WAIT = 60.0

_ID = re.compile(r"(\w[\w.\-]{0,95}/\w[\w.\-]{0,95})(?:@([\w.\-/]{1,200}))?")
_FILE = re.compile(r"\.[A-Za-z]{2,8}")
_TOKEN = re.compile(r"\bhf_[A-Za-z0-9]{16,}")
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


class HubId(NamedTuple):
    """A repository on the Hub as ``namespace/name``, and the revision if one is named: a branch, tag or commit."""

    repo: str
    revision: str | None = None


def parse_hub_id(text: str) -> HubId | None:
    """The repository of ``namespace/name`` or ``namespace/name@revision``; None for anything else, such as a file."""
    found = _ID.fullmatch(text)
    if not found or (found[2] is None and _FILE.fullmatch(Path(text).suffix)):
        return None
    return HubId(found[1], found[2])


def chosen_revision(found: HubId, revision: str | None) -> str | None:
    """The revision that is named in an id or beside it.

    Raises:
        UsageError: Two different ones are.
    """
    if revision and found.revision and revision != found.revision:
        raise UsageError(f"revision: found {revision!r} and {found.repo}@{found.revision}, expected one of them")
    return revision or found.revision


def patiently(call: Callable[[], T], about: str, *, revision: str | None = None) -> T:
    """Call, and again while what fails is the network or a Hub that is busy, a handful of times in all.

    Args:
        call: May be called several times.
        about: The repository, for the message.
        revision: Its revision, for the message.

    Raises:
        DataError: What the Hub or the disk says, in one line.
    """
    for turn, wait in enumerate((*WAITS, None)):
        try:
            return call()
        except AsqpError:
            raise
        except Exception as error:
            passing = wait_after(error)
            if wait is None or passing is None or (turn and _is_cut_off(error)):
                raise hub_error(error, about, revision) from None
            time.sleep(min(max(wait, passing), LONGEST_WAIT))
    raise AssertionError


def wait_after(error: BaseException) -> float | None:
    """The least seconds after which a failed request may be sent again; None if it would fail again."""
    import httpx2
    from huggingface_hub.errors import HfHubHTTPError

    for each in _chain(error):
        if isinstance(each, HfHubHTTPError | httpx2.HTTPStatusError):
            status = each.response.status_code
            if status not in (408, 429) and status < 500:
                return None
            after = each.response.headers.get("retry-after", "")
            return float(after) if after.isdigit() else 0.0
        if isinstance(each, httpx2.TransportError | json.JSONDecodeError):  # a proxy's page in place of an answer
            return 0.0
    return None


def _is_cut_off(error: BaseException) -> bool:
    """Whether there was no connection at all: waiting for a network is nobody's wish."""
    import httpx2

    return any(isinstance(each, httpx2.ConnectError) for each in _chain(error))


def status_of(error: BaseException) -> int | None:
    """The status that the Hub answered with, if it did."""
    from huggingface_hub.errors import HfHubHTTPError

    found = next((each for each in _chain(error) if isinstance(each, HfHubHTTPError)), None)
    return None if found is None else int(found.response.status_code)


def hub_error(error: BaseException, about: str, revision: str | None = None) -> DataError:
    """What a client library raised, as one clear line.

    Args:
        error: The exception.
        about: The repository that it is about.
        revision: The revision that was asked for.
    """
    return DataError(without_token(_message(error, revision)), path=about)


def without_token(text: str) -> str:
    """Text in which no token stands: not the one in use, nor anything that looks like one."""
    from huggingface_hub import get_token

    token = get_token()
    return _TOKEN.sub("hf_…", text.replace(token, "hf_…") if token else text)


def snapshot(repo: str, kind: str, revision: str | None, patterns: Sequence[str]) -> Path:
    """The folder of a repository's files in the cache; only what is missing there is fetched.

    Without a network, or with ``HF_HUB_OFFLINE``, it is what the cache holds.

    Args:
        repo: ``namespace/name``.
        kind: ``model`` or ``dataset``.
        revision: Default: ``main``.
        patterns: The files that are wanted.

    Raises:
        DataError: There is no such repository or revision, it is closed to the user, or the Hub cannot be reached and
            the cache does not hold it.
    """
    from huggingface_hub import snapshot_download

    def fetch() -> str:
        return snapshot_download(repo, repo_type=kind, revision=revision, allow_patterns=list(patterns))

    return Path(patiently(fetch, repo, revision=revision))


def _chain(error: BaseException) -> Iterator[BaseException]:
    """An exception and those that it was raised for."""
    seen: list[BaseException] = []
    while error not in seen:
        yield error
        seen.append(error)
        error = error.__cause__ or error.__context__ or error


def _message(error: BaseException, revision: str | None) -> str:
    import httpx2
    from huggingface_hub import constants, errors

    def find(*kinds: type[BaseException]) -> Any:
        return next((each for each in _chain(error) if isinstance(each, kinds)), None)

    full = next((each for each in _chain(error) if getattr(each, "errno", None) in _NO_ROOM), None)
    if full is not None or re.search(r"No space left|File too large|quota exceeded", str(error)):
        return f"cannot be written: {getattr(full, 'strerror', None) or first_line(error)}"
    if find(errors.GatedRepoError):
        return f"is gated, expected access that its owners grant at {constants.ENDPOINT}, and a login (hf auth login)"
    if find(errors.RevisionNotFoundError):
        return f"found no revision {revision or 'main'!r} on the Hub, expected a branch, tag or commit"
    if find(errors.RepositoryNotFoundError):
        return "found no such repository on the Hub, or it is private and this login may not see it"
    if find(errors.LocalTokenNotFoundError):
        return "found no login, expected one by hf auth login or HF_TOKEN"
    http = find(errors.HfHubHTTPError)
    if http is not None:
        status, said = http.response.status_code, http.server_message or first_line(http)
        if status == 401:
            return "the Hub does not accept the token, expected another login (hf auth login)"
        if status == 403:
            return f"the Hub refuses it: {said}"
        if status in (408, 429) or status >= 500:
            return f"the Hub is busy or down ({status}): {said}; run it again later"
        return f"the Hub answers {status}: {said}"
    if find(errors.LocalEntryNotFoundError, errors.OfflineModeIsEnabled):
        if constants.HF_HUB_OFFLINE:
            return "the cache does not hold all of it, and HF_HUB_OFFLINE is set"
        return f"the connection to {constants.ENDPOINT} failed, and the cache does not hold all of it"
    if find(httpx2.TransportError, ConnectionError):
        return f"the connection to {constants.ENDPOINT} failed; run it again later"
    return " ".join(str(error).split())[:200] or type(error).__name__
