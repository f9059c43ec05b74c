"""The loopback Hub's fixtures, for its own tests."""

from .fixtures import api, hub, hub_server

__all__ = ["api", "hub", "hub_server"]
