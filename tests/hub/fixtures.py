"""The fixtures of tests that use the loopback Hub; nothing heavy is imported before one is used."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from huggingface_hub import HfApi

    from .server import HubServer


@pytest.fixture(scope="session")
def hub_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HubServer]:
    """The Hub of the whole session: repositories live as long."""
    pytest.importorskip("uvicorn", reason="the loopback Hub runs on uvicorn: the extra dev")
    from .server import HubServer

    with HubServer(tmp_path_factory.mktemp("hub")) as server:
        yield server


@pytest.fixture
def hub(hub_server: HubServer) -> Iterator[HubServer]:
    """The Hub without the faults, settings and log of the test before; no test may end with an error of the Hub."""
    hub_server.forget()
    yield hub_server
    crashes = list(hub_server.crashes)
    hub_server.forget()
    assert not crashes, "\n".join(crashes)


@pytest.fixture
def api(hub: HubServer, tmp_path: Path) -> Iterator[HfApi]:
    """The owner's client in this process, with an empty cache."""
    from huggingface_hub import HfApi

    from .accounts import OWNER_TOKEN
    from .clients import client_in_this_process

    with client_in_this_process(hub.endpoint, tmp_path / "hf-home"):
        yield HfApi(endpoint=hub.endpoint, token=OWNER_TOKEN)
