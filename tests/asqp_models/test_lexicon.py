"""The dictionary baseline: hand-built training sets whose right answer is known, files, odd input, real data."""

import json
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from asqp_datasets.errors import DataError
from asqp_datasets.readers import READERS, read_file
from asqp_datasets.schema import NULL, SENTIMENTS, Quad, Sample
from asqp_f1 import score
from asqp_models.lexicon import LexiconModel

MARK = re.compile(r"([\[{])(.+?)[\]}]")


def sample(marked, *labels, number=0):
    """A sample from text with [aspects] and {opinions}, and labels (category, sentiment, aspect, opinion).

    Aspect and opinion are numbers of the marks, or None for an implicit term.
    """
    text, marks, last = "", [], 0
    for m in MARK.finditer(marked):
        text += marked[last : m.start()]
        marks.append((m[2], len(text), len(text) + len(m[2])))
        text += m[2]
        last = m.end()
    text += marked[last:]
    none = (NULL, -1, -1)
    quads = []
    for category, sentiment, aspect, opinion in labels:
        a, o = (none if i is None else marks[i] for i in (aspect, opinion))
        quads.append(Quad(category, a[0], o[0], sentiment, *a[1:], *o[1:]))
    return Sample(str(number), text, quads)


def strings(quads):
    return sorted(q.strings for q in quads)


def check_offsets(text, quads):
    assert len(set(quads)) == len(quads)
    for q in quads:
        for term, start, end in ((q.aspect, *q[4:6]), (q.opinion, *q[6:8])):
            if term == NULL:
                assert (start, end) == (-1, -1)
            else:
                assert 0 <= start < end <= len(text)
                assert text[start:end] == term


CARS = [
    sample("[座椅]{很舒服}，就是有点贵。", ("内饰#座椅", "POS", 0, 1)),
    sample("开了一天，[座椅]{舒服}。", ("内饰#座椅", "POS", 0, 1)),
    sample("[油耗]{高}，[动力]{不错}。", ("动力#油耗", "NEG", 0, 1), ("动力#动力", "POS", 2, 3)),
    sample("[动力]{很好}，朋友说的。", ("动力#动力", "POS", 0, 1)),
    sample("[车载屏幕]{清楚}，我买了。", ("内饰#屏幕", "POS", 0, 1)),
    sample("[屏幕]{大}，今天提车。", ("内饰#屏幕", "POS", 0, 1)),
    sample("[屏幕]{很好}，[油耗]{高}。", ("内饰#屏幕", "POS", 0, 1), ("动力#油耗", "NEG", 2, 3)),
    sample("[好看]，去年买的。", ("外观#外观", "POS", 0, None)),
    sample("真的[好看]！", ("外观#外观", "POS", 0, None)),
    sample("[推背感]，[座椅]{很好}。", ("动力#动力", "POS", 0, None), ("内饰#座椅", "POS", 1, 2)),
    sample("有[推背感]。", ("动力#动力", "POS", 0, None)),
] * 6


@pytest.fixture(scope="module")
def cars():
    return LexiconModel.train(CARS, CARS, language="zh")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("座椅很舒服。", [("内饰#座椅", "座椅", "很舒服", "POS")]),
        ("座椅舒服。", [("内饰#座椅", "座椅", "舒服", "POS")]),
        ("车载屏幕清楚，屏幕大。", [("内饰#屏幕", "屏幕", "大", "POS"), ("内饰#屏幕", "车载屏幕", "清楚", "POS")]),
        ("座椅很好，油耗高。", [("内饰#座椅", "座椅", "很好", "POS"), ("动力#油耗", "油耗", "高", "NEG")]),
        ("好看！", [("外观#外观", "好看", NULL, "POS")]),
        ("今天天气晴朗。", []),
        ("", []),
    ],
    ids=["longest", "shorter", "nested aspect", "clauses", "implicit opinion", "nothing known", "empty"],
)
def test_predicts_what_the_dictionary_says(cars, text, expected):
    quads = cars.predict(text)
    assert strings(quads) == sorted(expected)
    check_offsets(text, quads)


def test_pairs_with_the_nearest_opinion_of_the_clause(cars):
    # Never seen together: 油耗-很好, 动力-高, 屏幕-不错.
    quads = strings(cars.predict("动力很好，屏幕不错，油耗高。"))
    assert [(a, o) for _, a, o, _ in quads] == [("屏幕", "不错"), ("动力", "很好"), ("油耗", "高")]


def test_a_pair_never_seen_backs_off_to_its_parts(cars):
    # 屏幕 is always 内饰#屏幕, 不错 always POS; together they never occur in training.
    assert strings(cars.predict("屏幕不错，朋友说的。")) == [("内饰#屏幕", "屏幕", "不错", "POS")]


def test_the_pair_decides_where_its_parts_do_not():
    train = [
        sample("[空间]{大}。", ("空间#座舱", "POS", 0, 1)),
        sample("[噪音]{大}。", ("舒适#噪音", "NEG", 0, 1)),
        sample("[噪音]{小}。", ("舒适#噪音", "POS", 0, 1)),
        sample("[空间]{小}。", ("空间#座舱", "NEG", 0, 1)),
    ] * 5
    model = LexiconModel.train(train, train)
    for s in train[:4]:
        assert strings(model.predict(s.text)) == strings(s.quads)


def test_how_often_a_term_is_annotated_counts():
    # 车 is an aspect once in 31 occurrences, 刹车 always.
    train = [sample("[车]{好}。", ("整车#整车", "POS", 0, 1))]
    train += [sample("[刹车]{好}，我的车是新的。", ("安全#刹车", "POS", 0, 1))] * 30
    model = LexiconModel.train(train, train)
    assert strings(model.predict("我的车是新的，刹车好。")) == [("安全#刹车", "刹车", "好", "POS")]


MEALS = [
    sample("the [food] was {great} .", ("FOOD#QUALITY", "POS", 0, 1)),
    sample(
        "[service] was {slow} and the [food] was {cold} .",
        ("SERVICE#GENERAL", "NEG", 0, 1),
        ("FOOD#QUALITY", "NEG", 2, 3),
    ),
    sample(
        "{great} [art] on the walls , {great} [service] .",
        ("AMBIENCE#GENERAL", "POS", 1, 0),
        ("SERVICE#GENERAL", "POS", 3, 2),
    ),
    sample("{delicious} !", ("FOOD#QUALITY", "POS", None, 0)),
    sample("simply {delicious} , we went home .", ("FOOD#QUALITY", "POS", None, 0)),
    sample("we waited an hour and nobody came .", ("SERVICE#GENERAL", "NEG", None, None)),
    sample("nobody came for an hour .", ("SERVICE#GENERAL", "NEG", None, None)),
    sample("the [wine list] was {great} , we had wine .", ("DRINKS#STYLE_OPTIONS", "POS", 0, 1)),
] * 8


@pytest.fixture(scope="module")
def meals():
    return LexiconModel.train(MEALS, MEALS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The Food  was GREAT .", [("FOOD#QUALITY", "Food", "GREAT", "POS")]),
        ("start early , the party was cold .", []),
        ("delicious !", [("FOOD#QUALITY", NULL, "delicious", "POS")]),
        ("nobody came , we waited an hour .", [("SERVICE#GENERAL", NULL, NULL, "NEG")]),
        ("the wine list was great , we had wine .", [("DRINKS#STYLE_OPTIONS", "wine list", "great", "POS")]),
        ("the wine  list was great .", [("DRINKS#STYLE_OPTIONS", "wine  list", "great", "POS")]),
    ],
    ids=["case", "word borders", "implicit aspect", "both implicit", "longest", "double blank"],
)
def test_english(meals, text, expected):
    quads = meals.predict(text)
    assert strings(quads) == sorted(expected)
    check_offsets(text, quads)


def test_the_words_of_the_text_decide_where_neither_term_is_spelled_out():
    labels = {
        "nobody came for an hour .": ("SERVICE#GENERAL", "NEG"),
        "my tongue is in heaven .": ("FOOD#QUALITY", "POS"),
    }
    train = [sample(text, (*label, None, None)) for text, label in labels.items()] * 10
    train += [sample("the [food] was {great} .", ("FOOD#QUALITY", "POS", 0, 1))] * 10
    model = LexiconModel.train(train, train)
    for text, (category, sentiment) in labels.items():
        assert strings(model.predict(text)) == [(category, NULL, NULL, sentiment)]
    assert len(model.predict("the food was great .")) == 1


def test_a_span_serves_several_quads_where_the_training_set_does_so():
    train = [sample("the [food] was {good} and {cheap} .", ("F#Q", "POS", 0, 1), ("F#P", "POS", 0, 2))] * 5
    train += [sample("the [soup] was {good} .", ("F#Q", "POS", 0, 1)), sample("[food] {cheap} .", ("F#P", "POS", 0, 1))]
    model = LexiconModel.train(train, train)
    assert len(model.predict("the food was good and cheap .")) == 2
    assert model.config["asqp"]["reuse"] == {"aspect": True, "opinion": False}


def test_terms_without_offsets_are_looked_up():
    train = [Sample("0", "the food was good food .", [Quad("F#Q", "food", "good", "POS")])] * 5
    model = LexiconModel.train(train, train)
    assert strings(model.predict("the food was good food .")) == [("F#Q", "food", "good", "POS")]


def random_corpus(size, seed=0):
    rng = random.Random(seed)
    samples = []
    for i in range(size):
        clauses, labels = [], []
        for _ in range(rng.randint(1, 4)):
            name = rng.choice(["座椅", "油耗", "屏幕", "车载屏幕", "音响", "screen"])
            word = rng.choice(["好", "很好", "差", "不好", "高"])
            gap = rng.choice(["", "的确", "真的是", "有人说"])
            if rng.random() < 0.2:
                clauses.append(f"我看{name}和别人说的{word}")
                continue
            n = 2 * len(labels)
            sentiment = "NEG" if word in ("差", "不好", "高") else "POS"
            labels.append((f"车#{name[-2:]}", sentiment, n, n + 1))
            clauses.append(f"[{name}]{gap}{{{word}}}")
        samples.append(sample("，".join(clauses) + "。", *labels, number=i))
    return samples


def test_files_hold_the_whole_model_and_are_the_same_each_time(tmp_path):
    train, validation, test = random_corpus(200), random_corpus(50, 1), random_corpus(50, 2)
    texts = [s.text for s in test]
    model = LexiconModel.train(train, validation)
    model.save_pretrained(tmp_path / "a")
    loaded = LexiconModel.from_pretrained(tmp_path / "a")
    assert loaded.predict_batch(texts) == model.predict_batch(texts)
    assert loaded.predict_batch(texts) == [loaded.predict(t) for t in texts]
    assert loaded.config == model.config
    loaded.save_pretrained(tmp_path / "b")
    LexiconModel.train(train, validation, seed=7).save_pretrained(tmp_path / "c")
    names = ["config.json", "lexicon.json"]
    for folder in "abc":
        assert sorted(p.name for p in (tmp_path / folder).iterdir()) == names
        for name in names:
            assert (tmp_path / folder / name).read_bytes() == (tmp_path / "a" / name).read_bytes()
    block = json.loads((tmp_path / "a/config.json").read_text("utf-8"))["asqp"]
    assert block["method"] == "lexicon"
    assert block["language"] == "zh"
    assert block["categories"] == sorted({q.category for s in train for q in s.quads})


def test_the_hash_seed_does_not_matter(tmp_path):
    script = (
        "import sys; sys.path.insert(0, sys.argv[2]); import test_lexicon as t;"
        "t.LexiconModel.train(t.random_corpus(40), t.random_corpus(9, 1)).save_pretrained(sys.argv[1])"
    )
    root = Path(__file__).parents[2]
    for seed in "12":
        subprocess.run(
            [sys.executable, "-c", script, str(tmp_path / seed), str(Path(__file__).parent)],
            check=True,
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": f"{root}{os.pathsep}{root / 'metrics'}"},
        )
    for name in ("config.json", "lexicon.json"):
        assert (tmp_path / "1" / name).read_bytes() == (tmp_path / "2" / name).read_bytes()


def put(*path, value):
    def damage(content):
        for key in path[:-1]:
            content = content[key]
        content[path[-1]] = value

    return damage


DAMAGE = {
    "other method": ("config.json", put("asqp", "method", value="paraphrase"), "'lexicon'"),
    "no block": ("config.json", lambda c: c.pop("asqp"), "asqp"),
    "config of another format": ("config.json", put("asqp", "format_version", value=2), "expected 1"),
    "categories": ("config.json", put("asqp", "categories", value=["a", 1]), "categories"),
    "fewer categories": ("config.json", put("asqp", "categories", value=["FOOD#QUALITY"]), "outcomes"),
    "threshold": ("config.json", put("asqp", "thresholds", "EA&EO", value=0), "thresholds"),
    "threshold of text": ("config.json", put("asqp", "thresholds", "EA&EO", value="0.5"), "EA&EO"),
    "reuse": ("config.json", put("asqp", "reuse", "aspect", value=1), "aspect"),
    "counts of another format": ("lexicon.json", put("format_version", value=2), "expected 1"),
    "no terms": ("lexicon.json", lambda c: c.pop("terms"), "terms"),
    "term out of range": ("lexicon.json", put("terms", 0, value=[10**6]), "terms"),
    "empty term": ("lexicon.json", put("terms", 0, value=[]), "terms"),
    "tokens twice": ("lexicon.json", put("tokens", 0, value="the"), "tokens"),
    "missing table": ("lexicon.json", lambda c: c["tables"].pop("pair"), "pair"),
    "unsorted keys": ("lexicon.json", lambda c: c["tables"]["term"]["keys"].reverse(), "keys"),
    "fewer keys": ("lexicon.json", lambda c: c["tables"]["term"]["keys"].pop(), "keys"),
    "uneven counts": ("lexicon.json", lambda c: c["tables"]["term"]["counts"][0].pop(), "counts"),
    "negative count": ("lexicon.json", put("tables", "term", "counts", 0, 0, value=-1), "counts"),
    "huge count": ("lexicon.json", put("tables", "term", "counts", 0, 0, value=10**30), "counts"),
    "count of text": ("lexicon.json", put("tables", "term", "counts", 0, 0, value="1"), "counts"),
    "weights": ("lexicon.json", put("weights", "pair", value=[1.0]), "weights.pair"),
    "weight of text": ("lexicon.json", put("weights", "pair", 0, value="1"), "weights.pair"),
    "infinite weight": ("lexicon.json", put("weights", "pair", 0, value=1e300), "weights.pair"),
    "outcome of no term": ("lexicon.json", put("outcomes", 0, 0, value=10**6), "outcomes"),
    "word of no category": ("lexicon.json", put("words", 0, 1, value=10**6), "words"),
    "a list": ("lexicon.json", "[1]", "object"),
    "not JSON": ("lexicon.json", "{", "JSON"),
    "not finite": ("lexicon.json", '{"tokens": NaN}', "JSON"),
    "deep": ("config.json", "[" * 100_000, "JSON"),
    "not UTF-8": ("config.json", b"\xff\xfe", "JSON"),
    "missing": ("lexicon.json", None, "cannot be read"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_checkpoint_is_refused(tmp_path, meals, name):
    file, damage, message = DAMAGE[name]
    meals.save_pretrained(tmp_path)
    path = tmp_path / file
    if callable(damage):
        content = json.loads(path.read_text("utf-8"))
        damage(content)
        path.write_text(json.dumps(content), "utf-8")
    elif damage is None:
        path.unlink()
    else:
        path.write_bytes(damage if isinstance(damage, bytes) else damage.encode())
    with pytest.raises(DataError, match=re.escape(message)) as e:
        LexiconModel.from_pretrained(tmp_path)
    assert str(path if name != "fewer categories" else tmp_path / "lexicon.json") in str(e.value)
    assert "expected" in str(e.value)
    assert "\n" not in str(e.value)


def test_a_failed_save_leaves_the_old_file(tmp_path, cars, monkeypatch):
    cars.save_pretrained(tmp_path)
    before = (tmp_path / "lexicon.json").read_bytes()

    def fail(self, target):
        raise OSError("no space left")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        cars.save_pretrained(tmp_path)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["config.json", "lexicon.json"]
    assert (tmp_path / "lexicon.json").read_bytes() == before


ALONE = sample("[好看]。", ("外观#外观", "POS", 0, None))
TINY = {
    "nothing": [],
    "no quads": [Sample("0", "今天天气晴朗。", [])] * 3,
    "one sample": [sample("[座椅]{好}。", ("内饰#座椅", "POS", 0, 1))],
    "empty text": [Sample("0", "", []), Sample("1", " ", [])],
    "no explicit opinion": [ALONE] * 10,
    "no explicit aspect": [sample("{great} !", ("F#Q", "POS", None, 0))] * 10,
    "nothing explicit": [sample("never again .", ("F#Q", "NEG", None, None))] * 10,
    "ten": random_corpus(10),
    "one category": [sample("[座椅]{好}，[油耗]{高}。", ("车#车", "POS", 0, 1), ("车#车", "NEG", 2, 3))] * 3,
    "term off the tokens": [Sample("0", "great food", [Quad("F#Q", "ood", "great", "POS", 7, 10, 0, 5)])],
    "term not in the text": [Sample("0", "great food", [Quad("F#Q", "soup", "great", "POS")])],
    "the same quad twice": [sample("[座椅]{好}。", ("车#车", "POS", 0, 1), ("车#车", "POS", 0, 1))] * 3,
    "two sentiments": [sample("[座椅]{好}。", ("车#车", "POS", 0, 1), ("车#车", "NEG", 0, 1))] * 3,
}


@pytest.mark.parametrize("name", TINY)
@pytest.mark.parametrize("validation", [[], [Sample("0", "今天", [])], random_corpus(5)], ids=["none", "bare", "five"])
def test_any_training_set_will_do(tmp_path, name, validation):
    train = TINY[name]
    model = LexiconModel.train(train, validation)
    model.save_pretrained(tmp_path)
    model = LexiconModel.from_pretrained(tmp_path)
    texts = [*(s.text for s in train), "座椅好，油耗高。", "great food !", ""]
    for text, quads in zip(texts, model.predict_batch(texts), strict=True):
        check_offsets(text, quads)
        assert all(q.category in model.categories and q.sentiment in SENTIMENTS for q in quads)
    assert model.predict_batch([]) == []


def test_an_untuned_model_still_finds_what_it_was_shown():
    assert strings(LexiconModel.train([ALONE] * 10, []).predict("好看。")) == strings(ALONE.quads)


@pytest.mark.parametrize("spaced", [False, True])
def test_any_text_will_do(cars, meals, spaced):
    model, known = (meals, "the food was great .") if spaced else (cars, "座椅很舒服。")
    rng = random.Random(0)
    alphabet = "座椅很舒服，。 \t\n\r\x00\x0b\u3000\u200b\ufeff\u0301\U0001f697ＡａÀİßﬁ²٣½#[]{}food great"
    texts = [
        "\x00",
        " " * 99,
        "\U0001f697" * 50,
        "\U0001f697\u3000 " + known,
        known + "\n\x00" + known,
        "ß" * 999,
        "İ" * 99,
    ]
    texts += ["".join(rng.choices(alphabet, k=rng.randint(1, 80))) for _ in range(300)]
    for text, quads in zip(texts, model.predict_batch(texts), strict=True):
        check_offsets(text, quads)
    assert model.predict(texts[3]), "an emoji and blanks before a known text"
    assert len(model.predict(texts[4])) == 2


@pytest.mark.parametrize("clause", ["座椅很舒服，", "好", "x", " ", "，"])
def test_a_text_of_100000_characters(cars, clause):
    text = clause * (100_000 // len(clause))
    check_offsets(text, cars.predict(text))


def test_reviews_of_food_and_beverages(raw_dir):
    train, validation, test = (
        [r.sample for r in read_file(READERS["datastory"], raw_dir / "zh-food-beverage" / f"{name}.txt") if r.sample]
        for name in ("train", "dev", "test")
    )
    model = LexiconModel.train(train, validation, language="zh")
    predictions = model.predict_batch([s.text for s in test])
    for s, quads in zip(test, predictions, strict=True):
        check_offsets(s.text, quads)
    result = score(predictions, [s.quads for s in test])
    assert result["gold"] == 3783
    assert result["f1"] >= 0.5  # a dictionary of 60 lines reached 0.366, the published Extract-Classify 0.364
