"""Run the loopback Hub by hand and print a client's environment: ``python -m tests.hub --port 8765 --folder DIR``."""

from __future__ import annotations

import argparse
import os
import shlex
from pathlib import Path

from .accounts import LOGINS, OWNER_TOKEN
from .clients import client_environment
from .server import HubServer


def main() -> None:
    """Serve until interrupted."""
    parser = argparse.ArgumentParser(prog="python -m tests.hub", description=__doc__)
    parser.add_argument("--port", type=int, default=0, help="port of the API; a free one by default")
    parser.add_argument("--folder", type=Path, required=True, help="where the state is kept")
    options = parser.parse_args()
    with HubServer(options.folder, options.port) as hub:
        environment = client_environment(hub.endpoint, options.folder / "client", OWNER_TOKEN, xet=True)
        for name, value in sorted(environment.items()):
            if os.environ.get(name) != value and name != "PYTHONPATH":
                print(f"export {name}={shlex.quote(value)}")
        for token, login in LOGINS.items():
            print(f"# {token}: {login.account.name}, {login.role}")
        print(f"# log: {hub.endpoint}/_hub/log", flush=True)
        try:
            hub.wait()
        except KeyboardInterrupt:
            return


if __name__ == "__main__":
    main()
