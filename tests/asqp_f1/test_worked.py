"""Cases worked out by hand, the working beside them."""

from __future__ import annotations

from typing import Any

import pytest

from asqp_f1 import SUBTASKS, category_level1, score

A = ("food#quality", "pizza", "great", "POS")
B = ("food#prices", "pizza", "cheap", "POS")
C = ("service#general", "waiter", "rude", "NEG")
N = ("service#general", "NULL", "slow", "NEG")
I = ("place#general", "NULL", "NULL", "NEU")  # noqa: E741

GOLD = [
    ("内饰#内饰整体", "内饰", "差", "NEG"),
    ("内饰#车载屏幕", "屏幕", "不大", "NEG"),
    ("买家态度#购买意愿", "购买", "不要", "NEG"),
]
PREDICTED = [
    ("内饰#内饰整体", "内饰", "差", "NEG"),
    ("内饰#车载屏幕", "屏幕不", "大", "NEG"),
    ("买家态度#购买意愿", "不要购买", "NULL", "NEG"),
    ("内饰#内饰整体", "内饰", "差", "NEG"),
]


def quad(aspect: str, opinion: str = "NULL", *, category: str = "c", sentiment: str = "POS") -> tuple[str, ...]:
    return category, aspect, opinion, sentiment


def prf(prefix: str, precision: float, recall: float, f1: float, tp: int) -> dict[str, Any]:
    return {f"{prefix}precision": precision, f"{prefix}recall": recall, f"{prefix}f1": f1, f"{prefix}tp": tp}


def cell(tp: int, predicted: int, gold: int) -> dict[str, Any]:
    """A row of a breakdown, where it has predictions and golds or no tp."""
    precision, recall = tp / (predicted or 1), tp / (gold or 1)
    f1 = 2 * tp / (predicted + gold) if predicted + gold else 0.0
    return {"precision": precision, "recall": recall, "f1": f1, "tp": tp, "predicted": predicted, "gold": gold}


CASES: dict[str, tuple[Any, Any, dict[str, Any], dict[str, Any]]] = {
    # --- strict ---
    # Nothing at all: every denominator is zero.
    "no samples": ([], [], {}, prf("", 0.0, 0.0, 0.0, 0) | {"predicted": 0, "gold": 0, "samples": 0}),
    "nothing to find, nothing found": ([[]], [[]], {}, prf("", 0.0, 0.0, 0.0, 0) | {"samples": 1}),
    "zero division": ([[]], [[]], {"zero_division": 1.0}, prf("", 1.0, 1.0, 1.0, 0) | {"aos_d2_f1": 1.0}),
    # No prediction: P = 0/0, R = 0/1, F1 = 0/(0+1).
    "no prediction": ([[]], [[A]], {}, prf("", 0.0, 0.0, 0.0, 0) | {"predicted": 0, "gold": 1}),
    "no prediction, zero division": ([[]], [[A]], {"zero_division": 1.0}, prf("", 1.0, 0.0, 0.0, 0)),
    # No gold: P = 0/1, R = 0/0, F1 = 0/1.
    "no gold, zero division": ([[A]], [[]], {"zero_division": 1.0}, prf("", 0.0, 1.0, 0.0, 0)),
    "all right, in another order": ([[A, C, N]], [[N, A, C]], {}, prf("", 1.0, 1.0, 1.0, 3)),
    # Right quads in the wrong samples are wrong.
    "samples are kept apart": ([[A], [C]], [[C], [A]], {}, prf("", 0.0, 0.0, 0.0, 0) | prf("aos_d2_", 0, 0, 0, 0)),
    # A repeated prediction, one gold: tp 1 of 2, F1 = 2/(2+1).
    "repeated prediction": ([[A, A]], [[A]], {}, prf("", 1 / 2, 1.0, 2 / 3, 1) | prf("aos_d0_", 1 / 2, 1.0, 2 / 3, 1)),
    # Two mentions in the gold: two equal predictions are right, a third is wrong: 2/3, 2/2, 4/5.
    "repeated gold": ([[A, A]], [[A, A]], {}, prf("", 1.0, 1.0, 1.0, 2)),
    "repeated once too often": ([[A, A, A]], [[A, A]], {}, prf("", 2 / 3, 1.0, 4 / 5, 2)),
    "repeated gold found once": ([[A]], [[A, A]], {}, prf("", 1.0, 1 / 2, 2 / 3, 1)),
    # Micro, not macro: tp 1+0, predicted 1+3, gold 1+1: 1/4, 1/2, 2/6. (Macro F1 would be 1/2.)
    "micro average": ([[A], [B, C, N]], [[A], [I]], {}, prf("", 1 / 4, 1 / 2, 1 / 3, 1)),
    "implicit terms": (
        [[("c", None, "o", "POS"), ("c", "", "p", "POS"), ("c", "NULL", "", "NEU")]],
        [[("c", "NULL", "o", "POS"), ("c", None, "p", "POS"), ("c", "", None, "NEU")]],
        {},
        prf("", 1.0, 1.0, 1.0, 3),
    ),
    # A term whose text is "null" is a term: "nullslow" against "slow" is 4 away.
    "null is a term": (
        [[("service#general", "null", "slow", "NEG")]],
        [[N]],
        {"thresholds": (3, 4)},
        prf("", 0.0, 0.0, 0.0, 0) | {"aos_exact_tp": 0, "aos_d3_tp": 0, "aos_d4_tp": 1},
    ),
    # --- relaxed ---
    # Another sentiment never matches; another category does not count for aos, and does for quad.
    "sentiment": (
        [[quad("a", "b")]],
        [[quad("a", "b", sentiment="NEU")]],
        {},
        {"tp": 0, "aos_exact_tp": 0, "aos_d2_tp": 0},
    ),
    "category": (
        [[quad("a", "b")]],
        [[quad("a", "b", category="d")]],
        {},
        {"tp": 0, "aos_exact_tp": 1, "aos_d0_tp": 1, "aos_d2_tp": 1, "quad_d0_tp": 0, "quad_d2_tp": 0},
    ),
    # 内 + 饰差 = 内饰 + 差: d = 0, but another triple.
    "border": (
        [[quad("内", "饰差")]],
        [[quad("内饰", "差")]],
        {},
        {"tp": 0, "aos_exact_tp": 0, "aos_d0_tp": 1, "quad_d0_tp": 1},
    ),
    # 差内饰 / 内饰差 both ways round: one deletion and one insertion.
    "terms swapped": (
        [[quad("差", "内饰")]],
        [[quad("内饰", "差")]],
        {"thresholds": (1, 2)},
        {"aos_d1_tp": 0, "aos_d2_tp": 1},
    ),
    # a+o: 不要购买 / 购买不要 is 4 away; o+a: 不要购买 / 不要购买 is 0.
    "opinion before aspect": ([[quad("不要购买")]], [[quad("购买", "不要")]], {}, {"aos_d0_tp": 1, "aos_exact_tp": 0}),
    # screen+dim / screens+dims: two insertions; screen+dimmer: three.
    "two letters": (
        [[quad("screens", "dims")]],
        [[quad("screen", "dim")]],
        {"thresholds": (1, 2)},
        {"aos_d1_tp": 0, "aos_d2_tp": 1},
    ),
    "three letters": (
        [[quad("screen", "dimmer")]],
        [[quad("screen", "dim")]],
        {"thresholds": (2, 3)},
        {"aos_d2_tp": 0, "aos_d3_tp": 1},
    ),
    # Substitution costs 1: kitten / sitting is 3.
    "textbook": ([[quad("kitten")]], [[quad("sitting")]], {"thresholds": (2, 3)}, {"aos_d2_tp": 0, "aos_d3_tp": 1}),
    # An implicit term is the empty string: "" / "ab" is 2.
    "implicit and short": (
        [[quad("NULL")]],
        [[quad("a", "b")]],
        {"thresholds": (1, 2)},
        {"aos_d1_tp": 0, "aos_d2_tp": 1},
    ),
    # The letter beyond 16 bits is one code point: one insertion.
    "code points": (
        [[quad("😀😀", "好")]],
        [[quad("😀", "好")]],
        {"thresholds": (0, 1)},
        {"aos_d0_tp": 0, "aos_d1_tp": 1},
    ),
    # é is one code point, e + accent two: substitute one, delete one.
    "accents": (
        [[quad("e\u0301")]],
        [[quad("\u00e9")]],
        {"thresholds": (1, 2)},
        {"tp": 0, "aos_d1_tp": 0, "aos_d2_tp": 1},
    ),
    # The paper's English thresholds: "battery life" / "battery" is 5.
    "english": (
        [[quad("battery life")]],
        [[quad("battery")]],
        {"thresholds": (0, 5)},
        {"aos_d0_tp": 0, "aos_d5_tp": 1},
    ),
    # --- matching ---
    # abc is 1 from ab and from abcd; a is 1 from ab alone. First come, first served gives 1, the largest matching 2.
    "first fit is not enough": (
        [[quad("abc"), quad("a")]],
        [[quad("ab"), quad("abcd")]],
        {"thresholds": (1,)},
        prf("aos_d1_", 1.0, 1.0, 1.0, 2),
    ),
    # Four predictions near one gold: one to one 1/4, 1/1, 2/5; any 4/4, 1/1.
    "over-generation": (
        [[quad("ab"), quad("abc"), quad("abd"), quad("b")]],
        [[quad("ab")]],
        {"thresholds": (1,)},
        prf("aos_d1_", 1 / 4, 1.0, 2 / 5, 1),
    ),
    "over-generation, any": (
        [[quad("ab"), quad("abc"), quad("abd"), quad("b")]],
        [[quad("ab")]],
        {"thresholds": (1,), "matching": "any"},
        prf("aos_d1_", 1.0, 1.0, 1.0, 4) | {"aos_d1_tp_gold": 1} | prf("", 1 / 4, 1.0, 2 / 5, 1),
    ),
    # One prediction near two golds, another near none: P 1/2, R 2/2, F1 = 2·½·1/(3/2); one to one P 1/2, R 1/2.
    "one for two, any": (
        [[quad("ab"), quad("xyz")]],
        [[quad("abc"), quad("b")]],
        {"thresholds": (1,), "matching": "any"},
        prf("aos_d1_", 1 / 2, 1.0, 2 / 3, 1) | {"aos_d1_tp_gold": 2},
    ),
    "one for two": (
        [[quad("ab"), quad("xyz")]],
        [[quad("abc"), quad("b")]],
        {"thresholds": (1,)},
        prf("aos_d1_", 0.5, 0.5, 0.5, 1),
    ),
    # aos: both pairs; with the category only ab-ab: (c, ab)-(c, ab), and (c, abc) finds no gold of its own category.
    "relaxed quads": (
        [[quad("ab"), quad("abc")]],
        [[quad("ab"), quad("abc", category="d")]],
        {},
        {"aos_d0_tp": 2, "quad_d0_tp": 1, "quad_d2_tp": 1},
    ),
    # --- normalize ---
    # Full width, case, white space; the category too. A blank in front stays.
    "nfkc": (
        [[("Food#Quality", "ＢＡＴＴＥＲＹ \t life", "Straße", "POS"), quad(" a")]],
        [[("food#quality", "battery life", "STRASSE", "POS"), quad("a")]],
        {"normalize": "nfkc"},
        prf("", 1 / 2, 1 / 2, 1 / 2, 1),
    ),
    "no normalization": ([[quad("ＡＢ")]], [[quad("ab")]], {}, {"tp": 0, "aos_d0_tp": 0, "aos_d2_tp": 1}),
    # Folded, the term is "null", which is still not the implicit one.
    "nfkc, a term spelled null": ([[quad("ＮＵＬＬ", "o")]], [[quad("NULL", "o")]], {"normalize": "nfkc"}, {"tp": 0}),
    # --- published protocols ---
    # absa-quad: A counts twice: 2/3, 2/1, 2·2/(3+1). acos: distinct predictions: 1/2, 1/1, 2/3.
    "absa-quad, repeated": (
        [[A, A, C]],
        [[A]],
        {"protocol": "absa-quad"},
        prf("", 2 / 3, 2.0, 1.0, 2) | {"predicted": 3, "aos_d0_tp": 1},
    ),
    "acos, repeated": ([[A, A, C]], [[A]], {"protocol": "acos"}, prf("", 1 / 2, 1.0, 2 / 3, 1) | {"predicted": 2}),
    # acos: two categories on one pair of terms are one gold element that nothing equals: tp 0 of 2, gold 1 + 1 (C).
    "acos, shared pair": (
        [[A, ("food#prices", "pizza", "great", "POS"), C]],
        [[A, ("food#prices", "pizza", "great", "POS"), C]],
        {"protocol": "acos"},
        prf("", 1 / 3, 1 / 2, 2 / 5, 1) | {"predicted": 3, "gold": 2},
    ),
    # An unparsable output is one wrong prediction: 1/2, 1/2 (two golds), 1/2.
    "unparsable": (
        [[A, ("", "", "", "")]],
        [[A, C]],
        {"protocol": "absa-quad"},
        prf("", 0.5, 0.5, 0.5, 1) | {"aos_d2_tp": 1},
    ),
    # … and right where the gold target is unparsable too; not so in the relaxed scores.
    "unparsable twice": (
        [[("", None, "NULL", "")]],
        [[("", "", "", "")]],
        {"protocol": "absa-quad"},
        prf("", 1.0, 1.0, 1.0, 1) | {"aos_exact_tp": 0, "aos_d0_tp": 0},
    ),
    "acos, unparsable": ([[A, ("", "", "", "")]], [[A]], {"protocol": "acos"}, prf("", 1 / 2, 1.0, 2 / 3, 1)),
}


@pytest.mark.parametrize("name", CASES)
def test_case(name: str) -> None:
    predictions, golds, options, expected = CASES[name]
    result = score(predictions, golds, **options)
    assert {key: result[key] for key in expected} == pytest.approx(expected)


def test_there_are_thirty() -> None:
    assert len(CASES) > 30


def test_the_worked_example() -> None:
    result = score([PREDICTED], [GOLD], breakdown=True, subtasks=True, errors=True)
    # The first is right, its repeat is not; tp 1 of 4 and of 3.
    expected = prf("", 1 / 4, 1 / 3, 2 / 7, 1) | {"predicted": 4, "gold": 3, "samples": 1}
    # All but the repeat are at distance 0.
    for prefix in ("aos_d0_", "aos_d2_", "quad_d0_", "quad_d2_"):
        expected |= prf(prefix, 3 / 4, 1.0, 6 / 7, 3)
    expected |= prf("aos_exact_", 1 / 4, 1 / 3, 2 / 7, 1)
    assert {key: result[key] for key in expected} == pytest.approx(expected)
    assert result["signature"] == "asqp|aos|d:0,2|unit:char|norm:none|match:max|protocol:none|zero:0|v:0.1.0"
    either = score([PREDICTED], [GOLD], matching="any")
    assert (either["aos_d0_precision"], either["aos_d0_recall"], either["aos_d0_f1"]) == (1.0, 1.0, 1.0)
    assert (either["aos_d0_tp"], either["aos_d0_tp_gold"]) == (4, 3)


def test_the_result_is_plain_numbers() -> None:
    result = score([PREDICTED], [GOLD], breakdown=True, subtasks=True, errors=True, bootstrap=3)

    def types(value: Any) -> set[type]:
        if isinstance(value, dict):
            return set().union(*map(types, value.values()), map(type, value))
        return set().union(*map(types, value)) if isinstance(value, list) else {type(value)}

    assert types(result) == {str, int, float}
    asked = {"by_implicitness", "by_category", "by_category_level1", "by_sentiment", "by_quads_per_sample"}
    asked |= {"subtasks", "errors", "interval"}
    assert asked <= set(result)
    measures = ("aos_exact", "aos_d0", "quad_d0", "aos_d2", "quad_d2")
    assert set(score([], [])) == {
        *("precision", "recall", "f1", "tp", "predicted", "gold", "samples", "signature"),
        *(f"{measure}_{name}" for measure in measures for name in ("precision", "recall", "f1", "tp")),
    }
    assert not [key for key in score([], [], thresholds=[]) if "_d" in key]


# A right; C right; N predicted without its opinion; I missed in the second sample; B in a sample without gold.
PARTS = ([[A, C, ("service#general", "NULL", "NULL", "NEG")], [], [B]], [[A, C, N], [I], []])


def test_breakdown() -> None:
    result = score(*PARTS, breakdown=True)
    assert result["by_implicitness"] == {
        "EA&EO": cell(2, 3, 2),  # A, C, B against A, C
        "EA&IO": cell(0, 0, 0),
        "IA&EO": cell(0, 0, 1),  # N
        "IA&IO": cell(0, 1, 1),  # N without its opinion against I
    }
    assert result["by_category"] == {
        "food#prices": cell(0, 1, 0),
        "food#quality": cell(1, 1, 1),
        "place#general": cell(0, 0, 1),
        "service#general": cell(1, 2, 2),
    }
    assert list(result["by_category"]) == sorted(result["by_category"])
    assert result["by_category_level1"] == {"food": cell(1, 2, 1), "place": cell(0, 0, 1), "service": cell(1, 2, 2)}
    assert result["by_sentiment"] == {"NEG": cell(1, 2, 2), "NEU": cell(0, 0, 1), "POS": cell(1, 2, 1)}
    assert result["by_quads_per_sample"] == {
        "0": cell(0, 1, 0),
        "1": cell(0, 0, 1),
        "2": cell(0, 0, 0),
        "3": cell(2, 3, 3),
        "4": cell(0, 0, 0),
        "5+": cell(0, 0, 0),
    }
    many = score([[A], [A]], [[A] * 4, [A, C, N, I, B, A]], breakdown=True)["by_quads_per_sample"]
    assert many == {name: cell(0, 0, 0) for name in "123"} | {"4": cell(1, 1, 4), "5+": cell(1, 1, 6)}


def test_breakdown_of_the_acos_protocol() -> None:
    result = score(*PARTS, breakdown=True, protocol="acos")
    # Whole samples: the first holds EA&EO and IA&EO (2 of 3 right, 3 golds), the second IA&IO.
    assert result["by_implicitness"] == {
        "EA&EO": cell(2, 3, 3),
        "EA&IO": cell(0, 0, 0),
        "IA&EO": cell(2, 3, 3),
        "IA&IO": cell(0, 0, 1),
    }
    assert result["by_sentiment"] == score(*PARTS, breakdown=True)["by_sentiment"]


def test_unparsable_outputs_belong_nowhere() -> None:
    result = score([[("", "", "", ""), A]], [[A]], protocol="absa-quad", breakdown=True, subtasks=True, errors=True)
    assert result["predicted"] == 2
    assert result["by_implicitness"]["IA&IO"] == cell(0, 0, 0)
    assert set(result["by_category"]) == {"food#quality"}
    assert sum(row["predicted"] for row in result["by_sentiment"].values()) == 1
    assert result["by_quads_per_sample"]["1"] == cell(1, 2, 1)
    assert result["subtasks"]["ASTE"] == cell(1, 1, 1)
    assert (result["errors"]["wrong"], result["errors"]["spurious"]["count"]) == (1, 1)


def test_subtasks() -> None:
    # Distinct sub-tuples: pizza is one aspect; of C only the sentiment is wrong; I adds implicit terms.
    predicted = [[A, B, ("service#general", "waiter", "rude", "NEU"), I]]
    result = score(predicted, [[A, B, C]], subtasks=True)["subtasks"]
    assert result == {
        "ACD": cell(3, 4, 3),  # quality, prices, service | place
        "ATE": cell(2, 2, 2),  # pizza, waiter; the implicit one is left out
        "OTE": cell(3, 3, 3),
        "AOPE": cell(3, 4, 3),  # the implicit pair takes part
        "ACSA": cell(2, 4, 3),
        "E2E-ABSA": cell(1, 3, 2),  # (pizza, POS) | (waiter, NEU), (NULL, NEU)
        "TASD": cell(2, 4, 3),
        "ASTE": cell(2, 4, 3),
    }
    assert list(result) == list(SUBTASKS)


def test_first_level_of_a_category() -> None:
    names = ["内饰#车载屏幕", "food quality", "FOOD#STYLE OPTIONS", "food", "", "#x", "a b#c"]
    assert [category_level1(name) for name in names] == ["内饰", "food", "FOOD", "food", "", "", "a b"]


def test_signature_tells_options_apart() -> None:
    options: list[dict[str, Any]] = [
        {},
        {"thresholds": (0, 5)},
        {"matching": "any"},
        {"normalize": "nfkc"},
        {"protocol": "acos"},
        {"zero_division": 1},
    ]
    signatures = [score([], [], **option)["signature"] for option in options]
    assert signatures[1:] == [
        "asqp|aos|d:0,5|unit:char|norm:none|match:max|protocol:none|zero:0|v:0.1.0",
        "asqp|aos|d:0,2|unit:char|norm:none|match:any|protocol:none|zero:0|v:0.1.0",
        "asqp|aos|d:0,2|unit:char|norm:nfkc|match:max|protocol:none|zero:0|v:0.1.0",
        "asqp|aos|d:0,2|unit:char|norm:none|match:max|protocol:acos|zero:0|v:0.1.0",
        "asqp|aos|d:0,2|unit:char|norm:none|match:max|protocol:none|zero:1|v:0.1.0",
    ]
    assert len(set(signatures)) == len(options)
