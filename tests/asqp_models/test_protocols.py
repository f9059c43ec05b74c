"""The metric README's table: one prediction file on real corpora, by every way of counting."""

from __future__ import annotations

from pathlib import Path

import pytest

from asqp_datasets.sources import open_source
from asqp_f1 import score
from asqp_models.lexicon import LexiconModel

README = Path(__file__).parents[2] / "metrics" / "asqp_f1" / "README.md"

WAYS: list[tuple[str, str, dict[str, object]]] = [
    ("strict", "", {}),
    ('strict, `protocol="absa-quad"`', "", {"protocol": "absa-quad"}),
    ('strict, `protocol="acos"`', "", {"protocol": "acos"}),
    ('strict, `normalize="nfkc"`', "", {"normalize": "nfkc"}),
    ("triple, exact", "aos_exact_", {}),
    ("triple, d = 0, one to one", "aos_d0_", {}),
    ("triple, d = 0, any", "aos_d0_", {"matching": "any"}),
    ("triple, d ≤ {t}, one to one", "aos_d{t}_", {}),
    ("triple, d ≤ {t}, any", "aos_d{t}_", {"matching": "any"}),
    ("quad, d ≤ {t}, one to one", "quad_d{t}_", {}),
    ("quad, d ≤ {t}, any", "quad_d{t}_", {"matching": "any"}),
]


def rows(corpus: str) -> list[str]:
    source = open_source(corpus)
    splits = source.samples()
    model = LexiconModel.train(splits["train"], splits["validation"], language=source.language)
    gold = [sample.quads for sample in splits["test"]]
    predicted = model.predict_batch([sample.text for sample in splits["test"]])
    threshold = 2 if source.language == "zh" else 5
    lines = []
    for name, prefix, options in WAYS:
        result = score(predicted, gold, thresholds=(0, threshold), **options)  # type: ignore[arg-type]
        key = prefix.format(t=threshold)
        cells = " / ".join(f"{100 * result[key + measure]:.2f}" for measure in ("precision", "recall", "f1"))
        lines.append(f"| {corpus} | {name.format(t=threshold)} | {cells} |")
    return lines


@pytest.mark.parametrize("corpus", ["restaurant-acos", "laptop-acos", "zh-food-beverage"])
def test_the_table_is_true(corpus: str, raw_dir: Path) -> None:
    written = [line for line in README.read_text(encoding="utf-8").splitlines() if line.startswith(f"| {corpus} |")]
    assert written == rows(corpus)
