"""Slow and simple scorers, written from the definitions, that the package is checked against."""

from __future__ import annotations

from collections import Counter
from typing import Any

Quad = tuple[str, str, str, str]
Corpus = list[list[Quad]]


def levenshtein(a: str, b: str) -> int:
    """Edit distance by the whole table."""
    table = [[i + j if i * j == 0 else 0 for j in range(len(b) + 1)] for i in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            table[i][j] = min(table[i - 1][j] + 1, table[i][j - 1] + 1, table[i - 1][j - 1] + (a[i - 1] != b[j - 1]))
    return table[-1][-1]


def spelled(term: str) -> str:
    return "" if term == "NULL" else term


def distance(p: Quad, g: Quad) -> int:
    """min(lev(a+o, a'+o'), lev(o+a, o'+a'))."""
    (a, o), (b, q) = map(spelled, p[1:3]), map(spelled, g[1:3])
    return min(levenshtein(a + o, b + q), levenshtein(o + a, q + b))


def can_match(p: Quad, g: Quad, threshold: int, category: bool) -> bool:
    return p[3] == g[3] and (not category or p[0] == g[0]) and distance(p, g) <= threshold


def best_matching(predicted: list[Quad], gold: list[Quad], threshold: int, category: bool) -> int:
    """Largest number of pairs over all one-to-one matchings, by trying them all."""
    if not predicted:
        return 0
    best = best_matching(predicted[1:], gold, threshold, category)
    for j, other in enumerate(gold):
        if can_match(predicted[0], other, threshold, category):
            rest = gold[:j] + gold[j + 1 :]
            best = max(best, 1 + best_matching(predicted[1:], rest, threshold, category))
    return best


def relaxed_tp(predictions: Corpus, golds: Corpus, threshold: int, *, category: bool = False) -> int:
    pairs = zip(predictions, golds, strict=True)
    return sum(best_matching(predicted, gold, threshold, category) for predicted, gold in pairs)


def any_tp(predictions: Corpus, golds: Corpus, threshold: int) -> tuple[int, int]:
    right = found = 0
    for predicted, gold in zip(predictions, golds, strict=True):
        right += sum(any(can_match(p, g, threshold, False) for g in gold) for p in predicted)
        found += sum(any(can_match(p, g, threshold, False) for p in predicted) for g in gold)
    return right, found


def strict_tp(predictions: Any, golds: Any) -> int:
    pairs = zip(predictions, golds, strict=True)
    return sum((Counter(predicted) & Counter(gold)).total() for predicted, gold in pairs)


def f1(tp: float, predicted: int, gold: int) -> tuple[float, float, float]:
    precision = tp / predicted if predicted else 0.0
    recall = tp / gold if gold else 0.0
    return precision, recall, 2 * precision * recall / (precision + recall) if tp else 0.0


def absa_quad(predictions: Corpus, golds: Corpus) -> tuple[int, int, int]:
    """tp, predicted, gold: each predicted tuple that is in the gold list, duplicates and all."""
    tp = sum(quad in gold for predicted, gold in zip(predictions, golds, strict=True) for quad in predicted)
    return tp, sum(map(len, predictions)), sum(map(len, golds))


AcosTables = tuple[dict[tuple[int, str], list[str]], dict[tuple[int, str], list[str]]]


def acos_tables(predictions: Corpus, golds: Corpus) -> AcosTables:
    """Labels by text and pair, as the original keeps them: predicted classes, and one gold column a pair."""
    predicted: dict[tuple[int, str], list[str]] = {}
    gold: dict[tuple[int, str], list[str]] = {}
    for text, quads in enumerate(predictions):
        for c, a, o, s in quads:
            labels = predicted.setdefault((text, f"{a} {o}"), [])
            if f"{c}#{s}" not in labels:  # a class is predicted or not
                labels.append(f"{c}#{s}")
    for text, quads in enumerate(golds):
        for c, a, o, s in quads:
            key = (text, f"{a} {o}")
            gold[key] = [f"{gold[key][0]} {c}#{s}" if key in gold else f"{c}#{s}"]
    return predicted, gold


def acos(predictions: Corpus, golds: Corpus) -> tuple[int, int, int]:
    """tp, predicted, gold over the columns of the original's files."""
    predicted, gold = acos_tables(predictions, golds)
    tp = sum(label in gold.get(key, []) for key, labels in predicted.items() for label in labels)
    return tp, sum(map(len, predicted.values())), sum(map(len, gold.values()))


def acos_by_text(predictions: Corpus, golds: Corpus) -> tuple[list[list[Quad]], list[list[Quad]]]:
    """Quads by text, labels split at the last ``#``."""
    sides = []
    for table in acos_tables(predictions, golds):
        texts: list[list[Quad]] = [[] for _ in golds]
        for (text, pair), labels in table.items():
            aspect, opinion = pair.split(" ")
            for label in labels:
                category, sentiment = label.rsplit("#", 1)
                texts[text].append((category, aspect, opinion, sentiment))
        sides.append(texts)
    return sides[0], sides[1]


def acos_subset(
    predictions: Corpus, golds: Corpus, elements: tuple[int, ...], kind: str | None = None
) -> tuple[int, int, int]:
    """tp, predicted, gold of distinct sub-tuples, over the texts that hold a gold quad of a kind."""
    tp = n_predicted = n_gold = 0
    for predicted, gold in zip(*acos_by_text(predictions, golds), strict=True):
        kinds = {f"{'I' if a == 'NULL' else 'E'}A&{'I' if o == 'NULL' else 'E'}O" for _, a, o, _ in gold}
        if kind is not None and kind not in kinds:
            continue
        mine = {tuple(quad[i] for i in elements) for quad in predicted}
        theirs = {tuple(quad[i] for i in elements) for quad in gold}
        tp, n_predicted, n_gold = tp + len(mine & theirs), n_predicted + len(mine), n_gold + len(theirs)
    return tp, n_predicted, n_gold
