"""What the cards of models and of predictions share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from asqp_datasets.errors import UsageError


def check_repo_id(repo_id: str) -> None:
    """Raise :class:`UsageError` unless an id is ``namespace/name`` as the Hub allows it."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils._validators import validate_repo_id

    try:
        validate_repo_id(repo_id)
        if repo_id.count("/") != 1:
            raise HFValidationError
    except HFValidationError:
        raise UsageError(f"repository: found {repo_id!r:.100}, expected NAMESPACE/NAME") from None


def check_licence(licence: str | None) -> None:
    """Raise :class:`UsageError` unless a licence has the form of the Hub's names of licences, or is None."""
    if licence is not None and not re.fullmatch(r"[a-z0-9][a-z0-9.-]{0,60}", licence):
        raise UsageError(f"licence: found {licence!r:.60}, expected a name as the Hub has it, such as apache-2.0")


def percent(value: float) -> str:
    """A fraction as the cards show it."""
    return f"{100 * value:.2f}"


def score_row(
    name: str, scores: Mapping[str, Any], interval: Sequence[float] | None = None, prefix: str = ""
) -> dict[str, str]:
    """A row of a table: ``name``, ``precision``, ``recall``, ``f1`` and ``interval`` of F1, as the cards show them."""
    cells = {key: percent(scores[f"{prefix}{key}"]) for key in ("precision", "recall", "f1")}
    return {"name": name, **cells, "interval": " to ".join(map(percent, interval)) if interval else ""}
