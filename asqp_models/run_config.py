"""What to train, from a configuration file and the command line."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from asqp_datasets.errors import DataError, UsageError, first_line
from asqp_models.methods import get_method

CONFIG_KEYS = {
    "method": str,
    "dataset": str,
    "seed": int,
    "revision": str,
    "output": str,
    "push_to_hub": str,
    "push_every_best": bool,
}
"""What a configuration file may hold, and its types."""

_PLACES = ("output", "push_to_hub", "push_every_best")
"""The keys that say where a run goes, and change nothing in it."""


@dataclass(frozen=True)
class RunConfig:
    """What to train.

    Args:
        method: A name of :data:`asqp_models.methods.METHODS`.
        dataset: A dataset folder, a corpus id or a Hub dataset, split into train, validation and test.
        seed: Random seed.
        revision: Revision of a Hub dataset.
        settings: The method's own hyper-parameters, by name.
    """

    method: str
    dataset: str
    seed: int = 0
    revision: str | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunConfig:
        """A configuration from the keys of a file and the command line; what is not general is the method's."""
        general = {key: value for key, value in values.items() if key in CONFIG_KEYS and key not in _PLACES}
        own = {key: _as_number(value) for key, value in values.items() if key not in CONFIG_KEYS}
        return cls(**general, settings=own)

    def check(self) -> None:
        """Refuse settings that the method does not have, before anything is loaded.

        Raises:
            UsageError: The method, the seed or a setting is not as it should be.
        """
        method = get_method(self.method)
        if self.seed < 0:
            raise UsageError(f"seed: found {self.seed}, expected at least 0")
        method.check_settings(self.settings)


def read_config(path: str | Path) -> dict[str, Any]:
    """Read a configuration file.

    Raises:
        DataError: It is missing, not YAML, or holds a key that is unknown or has the wrong type.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            keys = [key.value for key, _ in node.value]
            for key in keys:
                if keys.count(key) > 1:
                    raise DataError("found the key twice, expected it once", path=path, field=str(key))
            return super().construct_mapping(node, deep)

    if not Path(path).is_file():
        raise DataError("found no such file, expected a configuration", path=path)
    try:
        content = yaml.load(Path(path).read_text(encoding="utf-8"), Loader)  # noqa: S506 - a SafeLoader
    except DataError:
        raise
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError) as error:
        raise DataError(f"cannot be read as YAML: {first_line(error)}", path=path) from None
    if not isinstance(content, dict):
        raise DataError(f"found {content!r:.60}, expected keys: {', '.join(CONFIG_KEYS)}", path=path)
    for key, value in content.items():
        if not isinstance(key, str):
            raise DataError("found a key that is no string", path=path, field=str(key))
        if key in CONFIG_KEYS and not _is_of(value, CONFIG_KEYS[key]):
            raise DataError(f"found {value!r:.60}, expected {CONFIG_KEYS[key].__name__}", path=path, field=key)
    return content


def _is_of(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _as_number(value: Any) -> Any:
    """YAML takes 2e-5, without a point, for a string."""
    if isinstance(value, str) and re.fullmatch(r"[+-]?[0-9]+(\.[0-9]*)?[eE][+-]?[0-9]{1,3}", value):
        return float(value)
    return value


def parse_settings(settings: Sequence[str]) -> dict[str, Any]:
    """The keys and values of ``--set key=value``; a value is read as YAML would.

    Raises:
        UsageError: It has no ``=``, or a general key has not its type.
    """
    import yaml

    result: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise UsageError(f"set: found {setting!r}, expected KEY=VALUE")
        try:
            value = yaml.safe_load(text)
        except yaml.YAMLError:
            value = text
        kind = CONFIG_KEYS.get(key)
        if kind is str:
            value = text
        if kind is not None and not _is_of(value, kind):
            raise UsageError(f"set: found {text!r} for {key}, expected {kind.__name__}")
        result[key] = value
    return result
