"""Text of others in cards: it is shown, and breaks nothing."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from asqp_datasets import DataError
from asqp_datasets.card_text import escape_markdown, front_matter, gated, inline_code, to_yaml
from tests.markdown import HOSTILE


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("内饰#车载屏幕", "内饰\\#车载屏幕"),
        ("a | b\nc", "a \\| b c"),
        ("<b>*x*</b>", "\\<b\\>\\*x\\*\\</b\\>"),
        ("- x", "\\- x"),
        ("1. x", "1\\. x"),
        ("3.5", "3.5"),
        ("7)", "7\\)"),
        ("---", "\\---"),
        ("http://x.y www.z", "http\\://x.y www\\.z"),
        ("a\u202eb\u200fc", "abc"),
        ("a\x00b\x1b\ud800", "a�b��"),
        (0.5, "0.5"),
        ("", ""),
    ],
)
def test_markdown_is_shown(text: object, escaped: str) -> None:
    assert escape_markdown(text) == escaped


def test_code_is_code_only_where_nothing_can_end_it() -> None:
    assert inline_code("lexicon@1f, 0.5") == "`lexicon@1f, 0.5`"
    assert inline_code("a`b") == "a\\`b"
    assert inline_code("a|b") == "a\\|b"
    assert inline_code("内饰") == "`内饰`"


@given(st.text())
def test_any_text_stays_text(text: str) -> None:
    for written in (escape_markdown(text), inline_code(text)):
        tokens = MarkdownIt("commonmark").enable("table").parse(f"| a |\n|---|\n| {written} |\n\n{written}\n")
        kinds = {child.type for token in tokens for child in token.children or ()}
        assert kinds <= {"text", "text_special", "code_inline"}
        assert {token.type for token in tokens if token.level == 0} <= {
            *("table_open", "table_close", "paragraph_open", "paragraph_close"),
        }


_plain = st.recursive(
    st.text() | st.integers() | st.floats(allow_nan=False) | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), _plain, max_size=4))
def test_front_matter_is_read_back(data: dict[str, Any]) -> None:
    whole = front_matter(data)
    assert whole.count("\n---\n") == 1
    assert whole.endswith("\n---\n\n")
    assert yaml.safe_load(whole[4:-5]) == data


def test_what_other_parsers_take_for_numbers_is_quoted() -> None:
    assert to_yaml({"a": "1e3", "b": "0o17", "c": "12345678", "d": "1.2.3", "e": "2024-01-01", "f": "no"}) == (
        'a: "1e3"\nb: "0o17"\nc: "12345678"\nd: "1.2.3"\ne: "2024-01-01"\nf: \'no\'\n'
    )
    assert to_yaml({"a": HOSTILE}).count("\n") == 1
    same = ["x"]
    assert to_yaml({"a": same, "b": same}) == "a:\n- x\nb:\n- x\n"


def test_gated_cards_ask_before_they_let_in() -> None:
    from huggingface_hub import DatasetCard

    card = front_matter({"language": ["zh"], "configs": [{"config_name": "default"}]}) + "# A\n\n---\n\nb\n"
    text = gated(card)
    data = DatasetCard(text).data.to_dict()
    assert list(data["extra_gated_fields"].values()) == ["text", "text", "text", "checkbox"]
    assert "not to pass them on" in data["extra_gated_prompt"]
    assert data["configs"] == [{"config_name": "default"}]
    assert text.endswith("---\n\n# A\n\n---\n\nb\n")
    assert gated(text) == text
    assert "extra_gated_prompt: mine" in gated(front_matter({"extra_gated_prompt": "mine"}))
    for wrong in ("", "# A\n", "---\n- x\n---\n"):
        with pytest.raises(DataError, match="expected a card"):
            gated(wrong)
