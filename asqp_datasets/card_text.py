"""How cards are written: text that cannot break Markdown or YAML, and the templates.

Names, categories and settings may come from anybody. In a template each of them goes through ``md`` or ``code``.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from asqp_datasets.errors import DataError

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_INVISIBLE = re.compile("[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff]")
_MARKDOWN = re.compile(r"([\\`*_{}\[\]<>#|~&$@]|:(?=//)|(?<=www)\.)", re.IGNORECASE)
_BLOCK = re.compile(r"^(\d+(?=[.)](?: |$))|(?=[-+=]))")
_CODE = re.compile(r"[\w./@:+=,%#()\[\]\" -]+")
_NUMBER = re.compile(r"[-+.]?\d[\d_.eE+:-]*|0[xo][\da-fA-F]+")
_HEAD = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)


def _clean(text: object) -> str:
    """Text in one line, without marks that turn its direction; what cannot be shown or written is replaced."""
    line = " ".join(_INVISIBLE.sub("", str(text)).split())
    return "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(each) in ("Cc", "Cs") else each for each in line)


def escape_markdown(text: object) -> str:
    """Text as Markdown that shows it: no markup, no HTML, no link, no block, no new line."""
    return _BLOCK.sub(r"\1\\", _MARKDOWN.sub(r"\\\1", _clean(text)))


def inline_code(text: object) -> str:
    """Text as inline code where nothing in it could end that or a table's cell, else as :func:`escape_markdown`."""
    line = _clean(text)
    return f"`{line}`" if _CODE.fullmatch(line) else escape_markdown(line)


@cache
def _templates() -> Environment:
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        loader=FunctionLoader(lambda name: (files("asqp_datasets.hub_cards") / name).read_text(encoding="utf-8")),
        autoescape=False,  # noqa: S701 - Markdown, not HTML; the filters below escape it
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"md": escape_markdown, "code": inline_code}
    return environment


def template(name: str) -> Template:
    """A template of the folder hub_cards."""
    return _templates().get_template(name)


def to_yaml(data: Any) -> str:
    """Plain values as YAML that every parser reads alike; no line of it but a key begins at the margin."""
    import yaml

    class Dumper(yaml.SafeDumper):
        def ignore_aliases(self, data: Any) -> bool:
            return True

    def string(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        # Others take 1e3 or 0o7 for a number; a value of several lines could hold the end of the front matter.
        quoted = not value.isprintable() or _NUMBER.fullmatch(value)
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"' if quoted else None)

    Dumper.add_representer(str, string)
    text: str = yaml.dump(data, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=sys.maxsize)
    return text


def front_matter(data: Mapping[str, Any]) -> str:
    """The head of a card."""
    return f"---\n{to_yaml(dict(data))}---\n\n"


_PROMPT = """\
The texts of this dataset were written by people who did not write them for it, and their rights stay with them. Whoever
asks for access agrees to use the texts for research, not to pass them on, not to try to find out who wrote them, and to
delete them when the owner of this repository asks for it."""

_FIELDS = {
    "Name": "text",
    "Affiliation": "text",
    "What I want to use the dataset for": "text",
    "I agree to the conditions above": "checkbox",
}


def gated(card: str) -> str:
    """A dataset's card with what the Hub shows and asks before it lets somebody in.

    Args:
        card: The text of a README.md. A prompt and fields that it has already are kept.

    Raises:
        DataError: It has no front matter.
    """
    import yaml

    found = _HEAD.match(card)
    data = yaml.safe_load(found[1]) if found else None
    if not found or not isinstance(data, dict):
        raise DataError("found no front matter, expected a card that begins with ---", path="README.md")
    asked = {"extra_gated_prompt": _PROMPT.replace("\n", " "), "extra_gated_fields": dict(_FIELDS)}
    data |= {key: data.get(key) or value for key, value in asked.items()}
    return f"---\n{to_yaml(data)}---\n{card[found.end() :]}"
