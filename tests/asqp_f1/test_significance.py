"""Intervals and the comparison of two systems."""

from __future__ import annotations

import itertools
import random
import time
from typing import Any

import numpy as np
import pytest

from asqp_f1 import compare, score
from tests.asqp_f1 import references as slow

A, B, C, D = (("c", name, "o", "POS") for name in "abcd")


def corpus(size: int, rate: float, seed: int) -> tuple[Any, Any]:
    rng = random.Random(seed)
    golds = [[("c", str(rng.randrange(50)), "o", "POS") for _ in range(rng.randint(1, 5))] for _ in range(size)]
    return [[q if rng.random() < rate else ("d", *q[1:]) for q in quads] for quads in golds], golds


def test_interval_of_equal_samples_has_no_width() -> None:
    # Every resample holds 1 of 2 predictions right, of 1 gold.
    result = score([[A, B]] * 5, [[A]] * 5, bootstrap=50)
    assert result["interval"]["f1"] == [pytest.approx(2 / 3)] * 2
    assert set(result["interval"]) == {
        "f1",
        *(f"{n}_f1" for n in ("aos_exact", "aos_d0", "quad_d0", "aos_d2", "quad_d2")),
    }
    assert score([], [], bootstrap=5, zero_division=1.0)["interval"]["f1"] == [1.0, 1.0]


def test_interval_against_plain_resampling() -> None:
    predictions, golds = corpus(200, 0.6, 1)
    tallies = [(slow.strict_tp([p], [g]), len(p), len(g)) for p, g in zip(predictions, golds, strict=True)]
    rng = random.Random(2)
    drawn = [np.sum(rng.choices(tallies, k=len(tallies)), axis=0) for _ in range(4000)]
    expected = np.percentile([2 * tp / (p + g) for tp, p, g in drawn], [2.5, 97.5])
    result = score(predictions, golds, bootstrap=4000, seed=3)
    assert result["interval"]["f1"] == pytest.approx(list(expected), abs=0.005)
    low, high = result["interval"]["f1"]
    assert 0.03 < high - low < 0.2
    assert low < result["f1"] < high


def test_interval_in_pieces() -> None:
    predictions, golds = corpus(50, 0.5, 1)
    whole = score(predictions, golds, bootstrap=100)["interval"]
    assert whole == score(predictions, golds, bootstrap=100)["interval"]
    assert whole != score(predictions, golds, bootstrap=100, seed=1)["interval"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("asqp_f1.significance._CELLS", 7)
        pieces = score(predictions, golds, bootstrap=100)["interval"]
        swapped = compare(predictions, golds, golds, resamples=100)
    assert pieces == whole
    assert swapped == compare(predictions, golds, golds, resamples=100)


def test_interval_of_any_matching() -> None:
    # P 4/4, R 1/1 in every sample.
    result = score([[A, B, C, D]] * 3, [[A]] * 3, matching="any", bootstrap=10)
    assert result["interval"]["aos_d2_f1"] == [1.0, 1.0]


def test_a_system_against_itself() -> None:
    result = compare([[A], [B]], [[A], [B]], [[A], [C]], resamples=10)
    assert (result["difference"], result["p_value"]) == (0.0, 1.0)


def test_p_value_by_hand() -> None:
    # a is right in all of five samples, b in none. Swapping k of five leaves F1 (5-k)/5 and k/5, so that
    # |Δ*| = 1 for k = 0 and k = 5: 2 of 32 swappings; p = (1 + about N/16) / (1 + N).
    result = compare([[A]] * 5, [[B]] * 5, [[A]] * 5, resamples=20_000)
    assert (result["a"], result["b"], result["difference"]) == (1.0, 0.0, 1.0)
    assert result["p_value"] == pytest.approx(1 / 16, abs=0.006)
    assert (result["samples"], result["resamples"], result["seed"], result["measure"]) == (5, 20_000, 0, "f1")
    assert result["signature"] == "asqp|norm:none|protocol:none|zero:0|v:0.1.0"


def test_p_value_against_all_swappings() -> None:
    rng = random.Random(5)
    golds = [[A, B, C][: rng.randint(1, 3)] for _ in range(8)]
    a, b = ([[q for q in [A, B, C, D] if rng.random() < rate] for _ in golds] for rate in (0.8, 0.4))

    def f1(system: Any) -> float:
        return slow.f1(slow.strict_tp(system, golds), sum(map(len, system)), sum(map(len, golds)))[2]

    delta = abs(f1(a) - f1(b))
    extreme = 0
    for swaps in itertools.product((False, True), repeat=len(golds)):
        mixed = [[y if s else x for x, y, s in zip(*pair, swaps, strict=True)] for pair in ((a, b), (b, a))]
        extreme += abs(f1(mixed[0]) - f1(mixed[1])) >= delta - 1e-12
    result = compare(a, b, golds, resamples=50_000)
    assert result["p_value"] == pytest.approx(extreme / 2 ** len(golds), abs=0.01)
    assert result["difference"] == pytest.approx(f1(a) - f1(b))
    assert 0 < extreme < 2 ** len(golds)


def test_both_ways_and_any_order() -> None:
    a, golds = corpus(60, 0.6, 1)
    b = [[q if i % 3 else ("d", *q[1:]) for i, q in enumerate(quads)] for quads in golds]
    there, back = compare(a, b, golds, resamples=500), compare(b, a, golds, resamples=500)
    assert there["p_value"] == back["p_value"]
    assert there["difference"] == -back["difference"]
    turned = compare(a[::-1], b[::-1], golds[::-1], resamples=500)
    assert turned == there
    assert compare(a, b, golds, resamples=500, seed=1)["p_value"] != there["p_value"]


def test_other_measures() -> None:
    a, b, golds = [[("c", "ab", "o", "POS")]], [[("d", "abc", "o", "POS")]], [[("d", "ab", "o", "POS")]]
    expected = {"f1": (0, 0), "aos_exact_f1": (1, 0), "aos_d1_f1": (1, 1), "quad_d1_f1": (0, 1), "aos_d0_f1": (1, 0)}
    found = {name: compare(a, b, golds, measure=name, resamples=1) for name in expected}
    assert {name: (result["a"], result["b"]) for name, result in found.items()} == expected
    assert found["aos_d1_f1"]["signature"] == "asqp|aos|d:1|unit:char|norm:none|match:max|protocol:none|zero:0|v:0.1.0"
    assert compare([[A, A]], b, [[A]], protocol="absa-quad", resamples=1)["a"] == pytest.approx(4 / 3)
    assert compare([[A, B]], b, [[A]], measure="aos_d2_f1", matching="any", resamples=1)["a"] == 1.0


def test_ten_thousand_of_ten_thousand() -> None:
    a, golds = corpus(10_000, 0.6, 1)
    b, _ = corpus(10_000, 0.6, 2)
    start = time.perf_counter()
    compare(a, b, golds, resamples=10_000)
    assert time.perf_counter() - start < 6  # about one second on an idle core
