"""Exact sizes, no text on two sides, every stratum in proportion, the same split for the same seed."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from asqp_datasets import UsageError
from asqp_datasets.duplicates import Signatures, fold
from asqp_datasets.splits import assign, parse_ratio, sizes


@pytest.mark.parametrize(
    ("total", "ratio", "expected"),
    [
        (10, "7:1.5:1.5", [7, 2, 1]),  # quotas 7, 1.5, 1.5: the remainders are equal, the earlier split gets it
        (9570, "7:1.5:1.5", [6699, 1436, 1435]),  # 6699, 1435.5, 1435.5
        (10894, "7:1.5:1.5", [7626, 1634, 1634]),  # 7625.8, 1634.1, 1634.1
        (10580, "7:1.5:1.5", [7406, 1587, 1587]),
        (7, "8:1:1", [5, 1, 1]),  # 5.6, 0.7, 0.7: floors 5, 0, 0; the two left go to the remainders .7 and .7
        (1, "7:1.5:1.5", [1, 0, 0]),
        (0, "7:1.5:1.5", [0, 0, 0]),
        (5, "1:0:0", [5, 0, 0]),
    ],
)
def test_sizes(total: int, ratio: str, expected: list[int]) -> None:
    assert sizes(total, parse_ratio(ratio)) == expected


@pytest.mark.parametrize(
    "ratio", ["7:3", "a:b:c", "0:1:1", "1:-1:1", "1/0:1:1", "", "7:1.5:1.5:0", "nan:1:1", "1e99999999:1:1"]
)
def test_bad_ratios(ratio: str) -> None:
    with pytest.raises(UsageError, match="expected train:validation:test"):
        parse_ratio(ratio)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), min_size=20, max_size=120),
    st.integers(0, 3),
)
def test_groups_stay_together_and_sizes_are_exact(samples: list[tuple[int, int]], seed: int) -> None:
    # Few groups of two or three copies among many single texts, as in real corpora.
    groups = [index // 2 if kind == 0 else 1000 + index for index, (kind, _) in enumerate(samples)]
    labels = [[label] for _, label in samples]
    chosen = assign(groups, labels, seed=seed)
    sides: dict[int, set[int]] = {}
    for group, split in zip(groups, chosen, strict=True):
        sides.setdefault(group, set()).add(split)
    assert all(len(side) == 1 for side in sides.values())
    counted = Counter(chosen)
    if sum(kind != 0 for kind, _ in samples) >= 3:
        assert [counted[i] for i in range(3)] == sizes(len(samples), parse_ratio("7:1.5:1.5"))
    assert assign(groups, labels, seed=seed) == chosen


def test_strata_are_spread_in_proportion() -> None:
    # 400 samples: label 0 in all, label 1 in 100 of them, label 2 in 20, label 3 in 4.
    labels = [[0] + [label for label, every in ((1, 4), (2, 20), (3, 100)) if i % every == 0] for i in range(400)]
    chosen = assign(list(range(400)), labels, "2:1:1", seed=5)
    for label, total in ((0, 400), (1, 100), (2, 20), (3, 4)):
        counted = Counter(split for split, own in zip(chosen, labels, strict=True) if label in own)
        for split, share in enumerate((0.5, 0.25, 0.25)):
            assert abs(counted[split] - total * share) <= 1, (label, counted)
    assert assign(list(range(400)), labels, "2:1:1", seed=6) != chosen


def test_frequent_labels_keep_their_share_too() -> None:
    # Every sample has label 0 or 1, most have others: what is dealt out last must not bear all of the rest.
    labels = [[i % 2, *(2 + k for k in range(20) if (i * 7919 + k * 104729) % 23 < 3)] for i in range(3000)]
    chosen = assign(list(range(3000)), labels, seed=1)
    for label in range(22):
        total = sum(label in own for own in labels)
        for split, share in enumerate((0.7, 0.15, 0.15)):
            count = sum(label in own for own, side in zip(labels, chosen, strict=True) if side == split)
            assert abs(count - total * share) <= 0.05 * total * share + 1, (label, split)


def test_groups_too_large_for_the_sizes_stay_whole() -> None:
    assert assign([0] * 10, [[0]] * 10) == [0] * 10


def test_fold_and_groups() -> None:
    assert fold("Ｇｏｏｄ！  ①很 好。") == "good1很好"
    text = "这款手机的屏幕非常清晰，拍照效果也很好，续航一整天没有问题，值得推荐给身边的朋友们使用"
    texts = [
        text,
        text + "！！",  # the same letters
        text.replace("朋友", "同事"),  # one word of 38 letters: 33 of 39 trigrams in common
        "完全不同的另一条评论，讲的是汽车的空间和油耗，和上面没有关系",
        "好",
        "好！",
        "。。。",
        "！！！",  # no letters at all: only itself
        "",
    ]
    groups = Signatures.of(texts).groups()
    assert groups[0] == groups[1] == groups[2]
    assert groups[4] == groups[5]
    assert len(set(groups)) == 6


def test_signatures_are_the_same_in_parts() -> None:
    texts = [f"第{i}条评论，内容{'很' * (i % 5)}长" for i in range(50)]
    whole = Signatures.of(texts)
    parts = Signatures.concatenate([Signatures.of(texts[:20]), Signatures.of([]), Signatures.of(texts[20:])])
    assert (whole.values == parts.values).all()
    assert (whole.groups() == parts.groups()).all()
