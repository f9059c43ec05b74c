"""Scores of aspect sentiment quad prediction: strict, relaxed, by type, with errors and uncertainty.

Importing this package imports none of its dependencies; the first use of a name does.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .errors import Error, find_errors
    from .inputs import ELEMENTS, NULL, SENTIMENTS, ScoreError
    from .measures import MATCHINGS, PROTOCOLS, __version__
    from .scoring import score
    from .significance import compare
    from .strict import EXPLICITNESS, SUBTASKS, category_level1

_HOMES = {
    "errors": ("Error", "find_errors"),
    "inputs": ("ELEMENTS", "NULL", "SENTIMENTS", "ScoreError"),
    "measures": ("MATCHINGS", "PROTOCOLS", "__version__"),
    "scoring": ("score",),
    "significance": ("compare",),
    "strict": ("EXPLICITNESS", "SUBTASKS", "category_level1"),
}

__all__ = [
    "ELEMENTS",
    "EXPLICITNESS",
    "MATCHINGS",
    "NULL",
    "PROTOCOLS",
    "SENTIMENTS",
    "SUBTASKS",
    "Error",
    "ScoreError",
    "__version__",
    "category_level1",
    "compare",
    "find_errors",
    "score",
]


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f".{home}", __name__), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
