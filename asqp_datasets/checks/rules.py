"""What can be wrong with ASQP data: every rule with its code, severity and meaning."""

from __future__ import annotations

from typing import NamedTuple

SEVERITIES = ("error", "warning", "info")
"""An error breaks what readers and scores rely on; a warning moves scores; information explains them."""

MIN_CHARACTERS, MAX_CHARACTERS = 10, 512
"""Lengths that the paper's cleaning keeps (section 2.1)."""

MIN_CHINESE_SHARE = 0.7
"""Share of Chinese characters that the paper's cleaning asks for (section 2.1)."""


class Rule(NamedTuple):
    """One kind of fault.

    Args:
        code: Its name, in kebab-case.
        severity: One of :data:`SEVERITIES`.
        unit: What one count is: a line, sample, quad, span, category, text or corpus.
        description: What it is, in one sentence.
        repairable: Whether :func:`asqp_datasets.checks.repairs.repair` can mend it.
    """

    code: str
    severity: str
    unit: str
    description: str
    repairable: bool = False


RULES: dict[str, Rule] = {
    rule.code: rule
    for rule in (
        # lines that are rejected
        Rule("invalid-utf8", "error", "line", "The line is not UTF-8; rejected."),
        Rule("missing-annotation", "error", "line", "The line has a text but no annotation; rejected."),
        Rule("bad-literal", "error", "line", "The annotation is not a list or object of the format; rejected."),
        Rule("wrong-arity", "error", "line", "A quad has too few or too many elements; rejected."),
        Rule(
            "bad-field",
            "error",
            "line",
            "An element of a quad or sample has the wrong type or is empty; rejected.",
        ),
        Rule("unknown-sentiment", "error", "line", "A sentiment is none of the format's three; rejected."),
        Rule("bad-span", "error", "line", "A span is not two offsets; rejected."),
        Rule("span-reversed", "error", "line", "A span starts after its end; rejected."),
        Rule("span-past-end", "error", "line", "A span ends past the end of the text; rejected."),
        Rule("span-one-sided", "error", "line", "Only one of a span's two offsets is -1; rejected."),
        Rule("span-mismatch", "error", "line", "The text at a span's offsets is not the term; rejected."),
        # files
        Rule("checksum-differs", "warning", "file", "The local file is not the one that upstream published."),
        Rule(
            "byte-order-mark",
            "warning",
            "file",
            "The file begins with a byte order mark; it is left out of the text.",
        ),
        Rule("crlf", "warning", "line", "The line ends in CR LF; the CR is left out of the text."),
        Rule("blank-line", "warning", "line", "The line is empty; it is no sample."),
        Rule(
            "missing-last-newline",
            "info",
            "file",
            "The last line of the file has no end; the file may be cut.",
        ),
        # samples
        Rule("duplicate-id", "error", "sample", "The id stands earlier in the corpus."),
        Rule("no-quads", "info", "sample", "The sample has no quads."),
        Rule(
            "quad-ceiling",
            "warning",
            "sample",
            "Far more samples have this number of quads than one less or one more: annotation may stop there.",
        ),
        # spans and quads
        Rule("empty-span", "error", "span", "A span is empty: start equals end."),
        Rule("null-in-text", "warning", "span", "The text spells NULL at a span: the term reads as an implicit one."),
        Rule("edge-space-in-span", "warning", "span", "A term begins or ends in white space.", True),
        Rule("span-inside-word", "warning", "span", "A span begins or ends inside a Latin word."),
        Rule("punctuation-span", "warning", "span", "A term has no letter or digit."),
        Rule("term-not-in-text", "warning", "span", "A term does not occur in the text; it has no offsets."),
        Rule(
            "ambiguous-offset",
            "warning",
            "span",
            "A term without offsets occurs more than once; it has no offsets.",
        ),
        Rule("missing-offset", "info", "span", "A term that occurs once has no offsets."),
        Rule(
            "first-match-differs",
            "info",
            "span",
            "The annotated span is not the term's first occurrence: looking the term up would give a wrong offset.",
        ),
        Rule(
            "duplicate-quad",
            "warning",
            "quad",
            "The quad is an exact copy of another, offsets included.",
            True,
        ),
        Rule(
            "same-strings-quad",
            "info",
            "quad",
            "The quad has the four strings of another of its sample, at other offsets.",
        ),
        Rule(
            "conflicting-sentiment",
            "warning",
            "quad",
            "The quad differs from another of its sample in sentiment alone.",
        ),
        # categories
        Rule("empty-category-level", "warning", "quad", "A level of the category is empty."),
        Rule("missing-hash", "info", "quad", "The category has no '#': its levels are not told apart."),
        Rule(
            "category-variant",
            "warning",
            "category",
            "The category differs from another only in case, spaces or full-width forms.",
        ),
        Rule(
            "category-two-parents",
            "info",
            "category",
            "The second-level category stands under more than one first-level category.",
        ),
        Rule(
            "unseen-category",
            "warning",
            "quad",
            "The category of a validation or test quad does not occur in train.",
        ),
        # copies
        Rule("duplicate-text", "warning", "sample", "The text stands earlier in the same split."),
        Rule(
            "duplicate-text-across-splits",
            "warning",
            "sample",
            "The text stands in an earlier split: leakage.",
        ),
        Rule(
            "folded-duplicate-text",
            "warning",
            "sample",
            "The text, by letters and digits alone (NFKC, case folded), stands earlier in the same split.",
        ),
        Rule(
            "folded-duplicate-text-across-splits",
            "warning",
            "sample",
            "The text, by letters and digits alone (NFKC, case folded), stands in an earlier split: leakage.",
        ),
        Rule("near-duplicate-text", "info", "sample", "A nearly equal text stands earlier in the same split."),
        Rule(
            "near-duplicate-text-across-splits",
            "warning",
            "sample",
            "A nearly equal text stands in an earlier split: leakage.",
        ),
        Rule("conflicting-copies", "warning", "text", "Copies of the text have different quads."),
        Rule(
            "text-in-other-corpus",
            "warning",
            "sample",
            "The text, by letters and digits alone, stands in the corpus it is compared with.",
        ),
        # texts
        Rule("html-entity", "warning", "sample", "The text holds an HTML entity.", True),
        Rule("control-character", "warning", "sample", "The text holds a control character.", True),
        Rule(
            "excel-escape",
            "warning",
            "sample",
            "The text holds a spreadsheet's escape such as _x0001_.",
            True,
        ),
        Rule("private-use-character", "warning", "sample", "The text holds a private-use character."),
        Rule(
            "replacement-question-mark",
            "info",
            "sample",
            "A '?' stands where an export may have lost a character.",
        ),
        Rule("mostly-question-marks", "warning", "sample", "Most of the text is '?': an export lost it."),
        Rule("traditional-script", "info", "sample", "The text is in traditional characters."),
        Rule("text-too-short", "info", "sample", f"The text has fewer than {MIN_CHARACTERS} characters."),
        Rule("text-too-long", "info", "sample", f"The text has more than {MAX_CHARACTERS} characters."),
        Rule(
            "low-chinese-share",
            "info",
            "sample",
            f"Fewer than {MIN_CHINESE_SHARE:.0%} of the characters are Chinese.",
        ),
        Rule(
            "edge-space-in-text",
            "info",
            "sample",
            "The text begins or ends in white space, which offsets count.",
        ),
        Rule(
            "double-space-in-text",
            "info",
            "sample",
            "The text holds white space in a row, which offsets count.",
        ),
        Rule("hash-in-text", "info", "sample", "The text holds '#', as categories do."),
        Rule(
            "separator-in-text",
            "warning",
            "sample",
            "The text holds '####[', which the format uses to end it.",
        ),
        Rule(
            "astral-before-span",
            "info",
            "sample",
            "A character beyond U+FFFF stands before a span: tools that count UTF-16 units give other offsets.",
        ),
    )
}
