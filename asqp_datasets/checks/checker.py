"""Collecting findings over a corpus, in one go or in parts, and the rules that look at the corpus as a whole."""

from __future__ import annotations

import unicodedata
from array import array
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from asqp_datasets.checks.rules import RULES, SEVERITIES
from asqp_datasets.checks.samples import sample_issues
from asqp_datasets.duplicates import Signatures, digest, runs
from asqp_datasets.parts import in_parts
from asqp_datasets.progress import Progress
from asqp_datasets.readers.base import Issue, Record
from asqp_datasets.splits import SPLITS

if TYPE_CHECKING:
    import pyarrow as pa

    from asqp_datasets.sources import Source

CEILING_SAMPLES = 10
"""At least so many samples must share a number of quads for it to count as a ceiling."""


class Example(NamedTuple):
    """Where a rule is broken, and how."""

    file: str
    split: str | None
    line: int | None
    id: str | None
    message: str


class Finding(NamedTuple):
    """A rule that the corpus breaks: how often, and the first few places."""

    rule: str
    places: int
    examples: list[Example]

    def to_dict(self) -> dict[str, Any]:
        """The finding as ``asqp data check --json`` prints it."""
        rule = RULES[self.rule]
        return {
            "rule": self.rule,
            "severity": rule.severity,
            "count": self.places,
            "unit": rule.unit,
            "description": rule.description,
            "repairable": rule.repairable,
            "examples": [example._asdict() for example in self.examples],
        }


class Report(NamedTuple):
    """What a check found."""

    corpus: str
    lines: int
    samples: int
    rejected: int
    quads: int
    findings: list[Finding]

    @property
    def errors(self) -> int:
        """How many errors there are."""
        return sum(finding.places for finding in self.findings if RULES[finding.rule].severity == "error")

    def to_dict(self) -> dict[str, Any]:
        """The JSON of ``asqp data check``."""
        return self._asdict() | {"findings": [finding.to_dict() for finding in self.findings]}


def check_source(source: Source, *, examples: int = 5, against: Source | None = None, progress: bool = False) -> Report:
    """Check a corpus by every rule.

    Args:
        source: What to check.
        examples: Places to keep for each rule.
        against: Another corpus whose texts the samples should not repeat.
        progress: Whether to show a bar.

    Raises:
        DataError: A file cannot be read at all.
    """
    checker = Checker(source.language, examples)
    for path, issue in source.issues:
        checker.found(issue, str(path))
    records = source.records()
    with Progress("checking", source.size or None, "samples", progress) as bar:
        for chunk in in_parts(records, lambda record: len(record.sample.text if record.sample else record.raw)):
            checker.add(chunk)
            bar.advance(len(chunk))
    if against is not None:
        checker.compare_with(against)
    return checker.report(source.name)


class Checker:
    """Runs every rule over the records it is given.

    Parts of a corpus may be checked apart, in other processes too, and merged in order.

    Args:
        language: ``zh`` or ``en``: some rules are about Chinese text alone.
        examples: How many places to keep for each rule.
    """

    def __init__(self, language: str, examples: int = 5) -> None:
        self.language, self.examples = language, examples
        self.lines = self.rejected = self.quads = 0
        self.counts: Counter[str] = Counter()
        self.places: dict[str, list[Example]] = defaultdict(list)
        # one entry a sample, in order
        self.files: list[str] = []
        self.file_of = array("H")
        self.split_of = array("b")
        self.line_of = array("q")
        self.quads_of = array("H")
        self.id_digests = array("Q")
        self._ids: list[pa.Array] = []
        self._labels: list[npt.NDArray[np.uint64]] = []
        self._signatures: list[Signatures] = []
        self.categories: dict[int, Counter[str]] = defaultdict(Counter)
        self.first_with: dict[str, int] = {}  # category → the first sample that has it

    def add(self, records: Sequence[Record]) -> None:
        """Check some records, in the order of the corpus."""
        import pyarrow as pa

        texts: list[str] = []
        ids: list[str] = []
        categories: dict[int, list[str]] = defaultdict(list)
        labels = array("Q")
        for record in records:
            path, line, split, sample, issues, _ = record
            self.lines += 1
            sample_id = sample.id if sample else None
            for issue in issues:
                self.found(issue, path, split, line, sample_id)
            if sample is None:
                self.rejected += record.rejected
                continue
            for issue in sample_issues(sample, self.language):
                self.found(issue, path, split, line, sample_id)
            if not self.files or self.files[-1] != path:
                self.files.append(path)
            split_code = SPLITS.index(split) if split else -1
            self.file_of.append(len(self.files) - 1)
            self.split_of.append(split_code)
            self.line_of.append(line)
            self.quads_of.append(min(len(sample.quads), 65535))
            ids.append(sample.id)
            self.id_digests.append(digest(sample.id))
            self.quads += len(sample.quads)
            names = [quad.category for quad in sample.quads]
            categories[split_code] += names
            for name in names:
                if name not in self.first_with:
                    self.first_with[name] = len(self.id_digests) - 1
            texts.append(sample.text)
            labels.append(digest("\n".join(sorted(["\t".join(quad[:4]) for quad in sample.quads]))))
        for split_code, counted in categories.items():
            self.categories[split_code].update(counted)
        self._ids.append(pa.array(ids, pa.string()))
        self._labels.append(np.frombuffer(labels, np.uint64))
        self._signatures.append(Signatures.of(texts))

    def found(
        self,
        issue: Issue,
        file: str,
        split: str | None = None,
        line: int | None = None,
        id: str | None = None,
    ) -> None:
        """Count one place where a rule is broken."""
        self.counts[issue.rule] += 1
        places = self.places[issue.rule]
        if len(places) < self.examples:
            places.append(Example(file, split, line, id, issue.message))

    def merge(self, part: Checker) -> None:
        """Take in the next part of the corpus."""
        before = self.samples
        for category, sample in part.first_with.items():
            self.first_with.setdefault(category, before + sample)
        self.lines += part.lines
        self.rejected += part.rejected
        self.quads += part.quads
        self.counts.update(part.counts)
        for rule, places in part.places.items():
            mine = self.places[rule]
            mine += places[: self.examples - len(mine)]
        for file in part.files:
            if not self.files or self.files[-1] != file:
                self.files.append(file)
        base = len(self.files) - len(part.files)
        self.file_of.extend(code + base for code in part.file_of)
        self.split_of.extend(part.split_of)
        self.line_of.extend(part.line_of)
        self.quads_of.extend(part.quads_of)
        self.id_digests.extend(part.id_digests)
        self._ids += part._ids
        self._labels += part._labels
        self._signatures += part._signatures
        for split, categories in part.categories.items():
            self.categories[split].update(categories)

    @property
    def samples(self) -> int:
        """How many samples were read."""
        return len(self.id_digests)

    def signatures(self) -> Signatures:
        """What is known of the texts, in order."""
        self._signatures = [Signatures.concatenate(self._signatures)]
        return self._signatures[0]

    def set_splits(self, splits: Sequence[int], categories: Mapping[str, Counter[str]]) -> None:
        """Say how the samples were split after reading; the report then looks across these splits.

        Args:
            splits: For each sample an index into :data:`asqp_datasets.splits.SPLITS`.
            categories: The categories of each split's quads.
        """
        self.split_of = array("b", splits)
        self.categories = defaultdict(Counter, {SPLITS.index(name): counts for name, counts in categories.items()})

    def compare_with(self, other: Source) -> None:
        """Look for the samples' texts in another corpus."""
        known: set[int] = set()
        for _, batch in other.batches():
            known.update(Signatures.of(batch.column("text").to_pylist()).folded.tolist())
        for sample, key in enumerate(self.signatures().folded.tolist()):
            if key in known:
                self._at(self, "text-in-other-corpus", sample, f"the text stands in {other.name}")

    def report(self, corpus: str) -> Report:
        """Run the rules over the corpus as a whole, and put everything together."""
        whole = Checker(self.language, self.examples)  # so that a second report does not count twice
        whole.counts.update(self.counts)
        whole.places.update({rule: list(places) for rule, places in self.places.items()})
        self._check_ids(whole)
        self._check_ceilings(whole)
        self._check_categories(whole)
        self._check_copies(whole, np.array(self.split_of, np.int8))
        order = list(RULES)
        rules = sorted(whole.counts, key=lambda r: (SEVERITIES.index(RULES[r].severity), order.index(r)))
        findings = [Finding(rule, whole.counts[rule], whole.places[rule]) for rule in rules]
        return Report(corpus, self.lines, self.samples, self.rejected, self.quads, findings)

    def _at(self, whole: Checker, rule: str, sample: int, message: str) -> None:
        split = self.split_of[sample]
        whole.found(
            Issue(rule, message),
            self.files[self.file_of[sample]],
            SPLITS[split] if split >= 0 else None,
            self.line_of[sample],
            self._id(sample),
        )

    def _id(self, sample: int) -> str:
        if len(self._ids) > 1:
            import pyarrow as pa

            self._ids = [pa.concat_arrays(self._ids)]
        return str(self._ids[0][sample])

    def _first(self, category: str) -> str:
        return self._place(self.first_with[category])

    def _place(self, sample: int) -> str:
        return f"{self.files[self.file_of[sample]]}:{self.line_of[sample]}"

    def _check_ids(self, whole: Checker) -> None:
        first, others = runs(np.frombuffer(self.id_digests, np.uint64))
        for earlier, sample in sorted(zip(first.tolist(), others.tolist(), strict=True), key=lambda pair: pair[1]):
            message = f"{self._id(sample)!r:.60} is also the id of {self._place(earlier)}"
            self._at(whole, "duplicate-id", sample, message)

    def _check_ceilings(self, whole: Checker) -> None:
        sizes = np.bincount(np.array(self.quads_of, np.int64), minlength=3)
        for quads in range(3, len(sizes)):
            after = sizes[quads + 1] if quads + 1 < len(sizes) else 0
            if sizes[quads] >= CEILING_SAMPLES and sizes[quads] > 2 * max(sizes[quads - 1], after):
                message = f"{sizes[quads]} samples have {quads} quads; one less: {sizes[quads - 1]}, one more: {after}"
                for sample in np.flatnonzero(np.array(self.quads_of) == quads):
                    self._at(whole, "quad-ceiling", int(sample), message)

    def _check_categories(self, whole: Checker) -> None:
        everything = sorted(set().union(*self.categories.values())) if self.categories else []
        variants: dict[str, list[str]] = defaultdict(list)
        parents: dict[str, list[str]] = defaultdict(list)
        for category in everything:
            variants["".join(unicodedata.normalize("NFKC", category).casefold().split())].append(category)
            first, hash_sign, second = category.partition("#")
            if hash_sign:
                parents[second].append(first)
        for names in variants.values():
            known, *others = sorted(names, key=self.first_with.__getitem__)
            for name in others:
                message = f"{name!r:.60} and {known!r:.60}, which stands first in {self._first(known)}"
                self._at(whole, "category-variant", self.first_with[name], message)
        for second, firsts in parents.items():
            if len(firsts) > 1 and second:
                latest = max(self.first_with[f"{first}#{second}"] for first in firsts)
                message = f"{second!r:.60} under {', '.join(firsts):.120}"
                self._at(whole, "category-two-parents", latest, message)
        train = self.categories.get(0)
        if train:
            for split in (1, 2):
                for category, count in sorted(self.categories.get(split, Counter()).items()):
                    if category not in train:
                        whole.counts["unseen-category"] += count - 1
                        message = f"{category!r:.60}, {count} quads in {SPLITS[split]}"
                        self._at(whole, "unseen-category", self.first_with[category], message)

    def _check_copies(self, whole: Checker, split_of: npt.NDArray[np.int8]) -> None:
        signatures = self.signatures()
        labels = np.concatenate(self._labels) if self._labels else np.empty(0, np.uint64)
        reported: set[int] = set()
        kinds: Iterable[tuple[str, npt.NDArray[Any]]] = (
            ("duplicate-text", signatures.exact),
            ("folded-duplicate-text", signatures.folded),
            ("near-duplicate-text", signatures.groups()),
        )
        for rule, keys in kinds:
            # In each group of copies, the samples by split (train first) and then by place in the corpus.
            order = np.lexsort((np.arange(len(keys)), split_of, keys))
            ordered = keys[order]
            borders = np.flatnonzero(np.diff(ordered, prepend=ordered[:1]) != 0)
            for group in np.split(order, borders) if len(order) > len(borders) + 1 else []:
                if len(group) < 2:
                    continue
                earlier_splits = {int(split_of[group[0]])}
                for sample in map(int, group[1:]):
                    across = min(earlier_splits) < int(split_of[sample])
                    earlier_splits.add(int(split_of[sample]))
                    if sample not in reported:
                        reported.add(sample)
                        suffix = "-across-splits" if across else ""
                        self._at(whole, rule + suffix, sample, f"a copy of {self._place(int(group[0]))}")
                if rule == "duplicate-text" and len(set(labels[group])) > 1:
                    self._at(
                        whole,
                        "conflicting-copies",
                        int(group[0]),
                        f"{len(group)} copies with different quads",
                    )
