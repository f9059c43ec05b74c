"""Who talks to the loopback Hub: accounts, their organizations and their tokens."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from .wire import HubError

OrganizationRole = Literal["admin", "write", "read"]
TokenRole = Literal["write", "read"]


@dataclass(frozen=True)
class Account:
    """A user, with the role in each organization that it is a member of."""

    name: str
    organizations: dict[str, OrganizationRole] = field(default_factory=dict)

    def is_member(self, namespace: str) -> bool:
        """Whether private repositories of the namespace can be seen."""
        return namespace == self.name or namespace in self.organizations

    def may_write(self, namespace: str) -> bool:
        """Whether the account, with a token that allows it, can write to the namespace."""
        return namespace == self.name or self.organizations.get(namespace, "read") != "read"


@dataclass(frozen=True)
class Login:
    """An account as a token lets it act."""

    account: Account
    role: TokenRole

    def may_write(self, namespace: str) -> bool:
        return self.role == "write" and self.account.may_write(namespace)


ORGANIZATION = "asqp"
OWNER = Account("olivia", {ORGANIZATION: "admin", "evaluate-metric": "write"})
READER = Account("rahel", {ORGANIZATION: "read"})
STRANGER = Account("sven")

OWNER_TOKEN = "hf_owner"
OWNER_READ_TOKEN = "hf_owner_read_only"
READER_TOKEN = "hf_reader"
STRANGER_TOKEN = "hf_stranger"

LOGINS: dict[str, Login] = {
    OWNER_TOKEN: Login(OWNER, "write"),
    OWNER_READ_TOKEN: Login(OWNER, "read"),
    READER_TOKEN: Login(READER, "write"),
    STRANGER_TOKEN: Login(STRANGER, "write"),
}


def login_of(authorization: str | None) -> Login | None:
    """The login of an ``Authorization: Bearer …`` header; none without the header, 401 for an unknown token."""
    if not authorization:
        return None
    login = LOGINS.get(authorization.removeprefix("Bearer ").strip())
    if login is None:
        raise HubError(401, "Invalid credentials in Authorization header")
    return login
