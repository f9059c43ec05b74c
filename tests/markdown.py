"""A card as a reader of Markdown sees it, for tests: its front matter, headings, tables and code."""

from __future__ import annotations

from typing import Any, NamedTuple

import yaml
from markdown_it import MarkdownIt

HOSTILE = (
    "a\n\n# b\n---\n- c | d || `e` ``` <script>alert(1)</script> ![i](http://x.y/z) [l](javascript:1) **f** _g_ &lt; "
    "$h$ ~~i~~ \\ {{ 7*7 }} {% raw %} <!-- \u202e\u200f \x00\x07\x1b[31m \ud800 @all www.x.y: |\r\n...\n'\"%@"
)
"""A name that would break what it is put into unescaped."""


class Seen(NamedTuple):
    """What a card shows.

    Args:
        data: The front matter.
        headings: Level and text of each.
        tables: Each table's rows of cells, the head first.
        code: The fenced blocks, with their language.
        kinds: The kinds of all tokens, in which HTML, links and images would stand.
    """

    data: dict[str, Any]
    headings: list[tuple[str, str]]
    tables: list[list[list[str]]]
    code: list[tuple[str, str]]
    kinds: set[str]


def see(card: str) -> Seen:
    """Read a card."""
    assert card.startswith("---\n")
    front, body = card[4:].split("\n---\n", 1)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(body)
    headings, tables, code, kinds = [], [], [], set()
    for i, token in enumerate(tokens):
        kinds |= {token.type, *(child.type for child in token.children or ())}
        if token.type == "heading_open":
            headings.append((token.tag, _shown(tokens[i + 1])))
        elif token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif token.type in ("th_open", "td_open"):
            tables[-1][-1].append(_shown(tokens[i + 1]))
        elif token.type == "fence":
            code.append((token.info, token.content))
    return Seen(yaml.safe_load(front), headings, tables, code, kinds)


def _shown(token: Any) -> str:
    return "".join(child.content for child in token.children or ())
