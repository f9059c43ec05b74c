"""The embedded default: true offsets, Table 1's proportions, the guideline, and the same bytes everywhere."""

import hashlib
import os
import re
import subprocess
import sys
import unicodedata
from collections import Counter, defaultdict
from functools import cache
from itertools import islice

import pytest

from asqp_datasets.errors import UsageError
from asqp_datasets.schema import NULL, SENTIMENTS
from asqp_datasets.synthetic import DESCRIPTION, PROPORTIONS, _lexicon, categories, generate

CORPORA = tuple(PROPORTIONS)
PRONOUNS = re.compile("[它这那他她其我你]|自己|大家")
ADVERBS = frozenset("不没未别很太挺蛮超更最非也都还真较偏略好")

both = pytest.mark.parametrize("corpus", CORPORA)


@cache
def samples(corpus):
    return list(generate(corpus, 25_000))


def quads(corpus):
    return [q for s in samples(corpus) for q in s.quads]


def digest(corpus, size, **where):
    h = hashlib.sha256()
    for sample in generate(corpus, size, **where):
        h.update(repr(tuple(sample)).encode())
    return h.hexdigest()


@both
def test_terms_stand_where_the_offsets_say(corpus):
    for s in samples(corpus):
        for q in s.quads:
            assert s.text[q.aspect_start : q.aspect_end] == q.aspect
            if q.opinion == NULL:
                assert (q.opinion_start, q.opinion_end) == (-1, -1)
            else:
                assert s.text[q.opinion_start : q.opinion_end] == q.opinion
                assert q.opinion_end <= q.aspect_start or q.aspect_end <= q.opinion_start


def test_table_1_is_read_right():
    car, digital = PROPORTIONS["synthetic-car"], PROPORTIONS["synthetic-digital"]
    assert car[:4] == (39_075 / 10_894, 166.88, 3.26, 4.20)
    assert car.explicit == 30_591 / 39_075
    assert car.sentiments == (4_784 / 39_075, 18_284 / 39_075, 16_007 / 39_075)
    assert digital[:4] == (36_741 / 10_580, 152.26, 3.15, 3.41)
    assert digital.explicit == 34_055 / 36_741
    assert digital.sentiments == (10_396 / 36_741, 3_710 / 36_741, 22_635 / 36_741)


@both
def test_proportions_are_those_of_table_1(corpus):
    target, written = PROPORTIONS[corpus], quads(corpus)
    opinions = [q.opinion for q in written if q.opinion != NULL]
    polarity = Counter(q.sentiment for q in written)
    size, n = len(samples(corpus)), len(written)
    measured = {
        "characters per sample": (sum(len(s.text) for s in samples(corpus)) / size, target.words_per_sample),
        "quads per sample": (n / size, target.quads_per_sample),
        "characters per aspect": (sum(len(q.aspect) for q in written) / n, target.words_per_aspect),
        "characters per opinion": (sum(map(len, opinions)) / len(opinions), target.words_per_opinion),
        "EA&EO": (len(opinions) / n, target.explicit),
        "EA&IO": (1 - len(opinions) / n, 1 - target.explicit),
    }
    for name, share in zip(SENTIMENTS, target.sentiments, strict=True):
        measured[name] = (polarity[name] / n, share)
    assert {name: value for name, (value, wanted) in measured.items() if abs(value / wanted - 1) > 0.02} == {}


@both
def test_every_text_would_survive_the_papers_cleaning(corpus):
    for s in samples(corpus):
        assert 10 <= len(s.text) <= 512
        assert len(re.findall("[一-鿿]", s.text)) >= 0.7 * len(s.text)
        assert s.text.isprintable()
        assert s.text == s.text.strip()


@both
def test_counts_and_lengths_are_spread(corpus):
    counts = Counter(len(s.quads) for s in samples(corpus))
    assert set(counts) == set(range(1, 16))
    assert counts[1] > counts[4] > counts[8] > counts[15] > 0
    lengths = sorted(len(s.text) for s in samples(corpus))
    assert lengths[len(lengths) // 20] < 60
    assert lengths[-len(lengths) // 20] > 300


@pytest.mark.parametrize(("corpus", "first", "full"), [("synthetic-car", 24, 90), ("synthetic-digital", 32, 118)])
def test_category_inventory_has_table_1s_size_and_all_of_it_occurs(corpus, first, full):
    names = categories(corpus)
    assert len(names) == len(set(names)) == full
    assert len({name.partition("#")[0] for name in names}) == first
    assert all(name.count("#") == 1 for name in names)
    occurring = Counter(q.category for q in quads(corpus))
    assert set(occurring) == set(names)
    ranked = occurring.most_common()
    assert ranked[0][1] > 10 * ranked[-1][1]


@pytest.mark.parametrize(
    ("corpus", "category", "aspect", "opinion", "sentiment"),
    [
        ("synthetic-car", "内饰#内饰整体", "内饰", "差", "NEG"),
        ("synthetic-car", "内饰#车载屏幕", "屏幕", "不大", "NEG"),
        ("synthetic-car", "买家态度#购买意愿", "购买", "不要", "NEG"),
        ("synthetic-digital", "屏幕#屏幕分辨率", "分辨度", "高", "POS"),
        ("synthetic-digital", "功能/应用#功能/应用", "功能", "很齐全", "POS"),
        ("synthetic-digital", "人机交互#语音识别", "语音识别", "太菜", "NEG"),
        ("synthetic-digital", "价值体验#价格", "便宜", NULL, "POS"),
    ],
)
def test_the_grammar_can_write_the_quads_of_the_papers_figures_1_and_4(corpus, category, aspect, opinion, sentiment):
    lexicon = _lexicon(corpus)
    polarity = SENTIMENTS.index(sentiment)
    (found,) = [c for c in lexicon.categories if c.name == category]
    if opinion == NULL:
        assert aspect in {a.term for a in found.alone[polarity].items}
        return
    assert aspect in {a.term for a in found.aspects.items}
    entries = found.opinions[polarity].items
    assert opinion in {p + e.word for e in entries for p, _ in lexicon.prefixes[e.prefixes].items}


@both
def test_no_aspect_is_a_pronoun_or_implicit(corpus):
    for q in quads(corpus):
        assert q.aspect not in ("", NULL)
        assert not PRONOUNS.match(q.aspect), q


@both
def test_negators_and_adverbs_stand_inside_the_opinion(corpus):
    inside = 0
    for s in samples(corpus):
        ends = {q.aspect_end for q in s.quads}  # 语音识别 ends in a character that is a negator elsewhere
        for q in s.quads:
            if q.opinion != NULL and q.opinion_start:
                assert s.text[q.opinion_start - 1] not in ADVERBS or q.opinion_start in ends, (s.text, q)
            if q.opinion == NULL and q.aspect_start:
                assert s.text[q.aspect_start - 1] not in ADVERBS, (s.text, q)
            inside += q.opinion[0] in ADVERBS
    assert inside > 0.2 * len(quads(corpus))


@both
def test_opinions_stand_before_after_and_far_from_their_aspects(corpus):
    gaps = Counter()
    for q in quads(corpus):
        if q.opinion != NULL:
            far = q.opinion_start - q.aspect_end > 8 or q.aspect_start - q.opinion_end > 8
            gaps["far" if far else "before" if q.opinion_start < q.aspect_start else "after"] += 1
    assert min(gaps[k] / gaps.total() for k in ("far", "before", "after")) > 0.05


@both
def test_terms_are_shared_by_several_quads(corpus):
    two_opinions = two_aspects = mixed = 0
    for s in samples(corpus):
        aspects = Counter((q.aspect_start, q.aspect_end) for q in s.quads)
        opinions = Counter((q.opinion_start, q.opinion_end) for q in s.quads if q.opinion != NULL)
        two_opinions += max(aspects.values()) > 1
        two_aspects += max(opinions.values(), default=0) > 1
        mixed += {"POS", "NEG"} <= {q.sentiment for q in s.quads}
    assert min(two_opinions, two_aspects, mixed) > 0.02 * len(samples(corpus))


@both
def test_terms_are_ambiguous(corpus):
    polarity, category = defaultdict(set), defaultdict(Counter)
    for q in quads(corpus):
        category[q.aspect][q.category] += 1
        if q.opinion != NULL:
            polarity[q.opinion].add(q.sentiment)
    alone = {q.aspect for q in quads(corpus) if q.opinion == NULL}
    assert {"便宜", "好看"} <= set(category) & set(polarity)
    assert len(alone & set(polarity)) >= 15
    assert {"大", "很高"} <= {o for o, s in polarity.items() if {"POS", "NEG"} <= s}
    assert len(category["价格"]) >= 3
    assert len(category["屏幕"]) >= 1 + (corpus == "synthetic-digital")
    minority = sum(c.total() - max(c.values()) for c in category.values())
    assert minority > 0.05 * len(quads(corpus))


@both
def test_a_later_part_has_terms_that_an_earlier_one_has_not(corpus):
    head = {t for s in samples(corpus)[:7_000] for q in s.quads for t in (q.aspect, q.opinion)}
    tail = [t for s in samples(corpus)[7_000:8_500] for q in s.quads for t in (q.aspect, q.opinion)]
    assert 0.05 < sum(t not in head for t in tail) / len(tail) < 0.25


@both
def test_terms_also_stand_in_clauses_without_a_quad(corpus):
    aspects = {q.aspect for q in quads(corpus)}
    unannotated = 0
    for s in samples(corpus)[:1_000]:
        rest = s.text
        for q in sorted(s.quads, key=lambda q: -q.aspect_start):
            rest = rest[: q.aspect_start] + " " + rest[q.aspect_end :]
        unannotated += any(m in aspects for m in re.findall("[一-鿿]{2,4}(?=怎么样|到底|坏了|能不能)", rest))
    assert unannotated > 50


@both
def test_texts_are_unique_after_normalisation(corpus):
    def key(text):
        return "".join(c for c in unicodedata.normalize("NFKC", text).casefold() if c.isalnum())

    more = generate(corpus, 25_000, start=25_000)
    keys = {key(s.text) for s in samples(corpus)} | {key(s.text) for s in more}
    assert len(keys) == 50_000


@both
def test_ids_say_that_the_samples_are_synthetic(corpus):
    assert [s.id for s in samples(corpus)[:2]] == [f"{corpus}-0000000", f"{corpus}-0000001"]
    assert len({s.id for s in samples(corpus)}) == len(samples(corpus))
    assert corpus.startswith("synthetic-")
    assert "ynthetic" in DESCRIPTION


@both
@pytest.mark.parametrize("start", [0, 50, 99, 100, 12_345])
def test_parts_made_apart_are_the_whole(corpus, start):
    assert list(generate(corpus, 260, start=start)) == samples(corpus)[start : start + 260]


@both
def test_seeds_and_corpora_differ(corpus):
    first = [s.text for s in generate(corpus, 200, seed=1)]
    assert not set(first) & {s.text for s in generate(corpus, 200, seed=2)}
    assert not set(first) & {s.text for s in samples(corpus)[:200]}
    assert next(generate(corpus, 1, seed=-(10**30))).quads


@both
def test_another_process_with_another_hash_seed_writes_the_same_bytes(corpus):
    script = (
        "import hashlib, sys\nfrom asqp_datasets.synthetic import generate\nh = hashlib.sha256()\n"
        f"for s in generate({corpus!r}, 2000, seed=3): h.update(repr(tuple(s)).encode())\nprint(h.hexdigest())"
    )
    run = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, "PYTHONHASHSEED": "12345"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.strip() == digest(corpus, 2000, seed=3)


@both
def test_nothing_is_written_before_it_is_asked_for(corpus):
    assert len(list(islice(generate(corpus, 10**12), 3))) == 3
    assert list(generate(corpus, 0)) == []
    assert [s.id for s in generate(corpus, 1, start=12_345_678)] == [f"{corpus}-12345678"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("car", 1), r"found corpus 'car', expected one of synthetic-car, synthetic-digital"),
        (("synthetic-car", -1), r"found size -1, expected 0 or more"),
        (("synthetic-car", 1.5), r"found size 1\.5, expected an integer"),
        (("synthetic-car", True), r"found size True, expected an integer"),
    ],
)
def test_arguments_that_cannot_be_meant(arguments, message):
    with pytest.raises(UsageError, match=message):
        generate(*arguments)


@pytest.mark.parametrize("options", [{"seed": "1"}, {"seed": None}, {"start": 0.0}, {"start": -5}])
def test_options_that_cannot_be_meant(options):
    ((name, value),) = options.items()
    with pytest.raises(UsageError, match=f"found {name} {value!r}, expected"):
        generate("synthetic-digital", 1, **options)


def test_unknown_corpus_has_no_categories():
    with pytest.raises(UsageError, match="found corpus 'zh'"):
        categories("zh")
