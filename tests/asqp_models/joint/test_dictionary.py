"""The dictionary of a checkpoint is read back as it was, or refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from safetensors.numpy import load_file, save_file

from asqp_datasets.errors import DataError
from asqp_models.joint.dictionary import FILE, StoredDictionary, load_dictionary
from asqp_models.lexicon import LexiconModel
from tests.asqp_models.extract_classify.conftest import REVIEWS

OPTIONS: dict[str, Any] = {"language": "en", "reuse": [False, False]}


@pytest.fixture(scope="module")
def lexicon() -> LexiconModel:
    return LexiconModel.count(REVIEWS, language="en")


def test_it_is_read_back_as_it_was(lexicon: LexiconModel, tmp_path: Path) -> None:
    StoredDictionary(lexicon).save_pretrained(tmp_path)
    read = load_dictionary(tmp_path, categories=lexicon.categories, **OPTIONS)
    texts = [each.text for each in REVIEWS]
    assert read.predict_scored(texts, 0.01) == lexicon.predict_scored(texts, 0.01)
    assert read.dictionary.tokens == lexicon.dictionary.tokens
    assert read.dictionary.terms == lexicon.dictionary.terms
    assert np.array_equal(read.counts.outcomes, lexicon.counts.outcomes)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("terms", lambda array: array + 100, r"\[terms\]: found something else, expected numbers from 2 to"),
        ("terms", lambda array: array[1:], r"\[term_sizes\]: .* expected the lengths of all terms"),
        ("tokens", lambda array: array | 128, r"\[tokens\]: .* expected different strings"),
        ("outcomes", lambda array: array[:, 1:], r"\[outcomes\]: .* expected an array of shape"),
        ("term.keys", lambda array: array[::-1].copy(), r"\[term.keys\]: .* expected sorted numbers"),
        ("term.counts", lambda array: array[1:], r"\[term.counts\]: .* expected an array of shape"),
        ("term.counts", lambda array: array.astype(np.float32), r"\[term.counts\]: .* expected integers"),
        ("pair.weights", lambda array: array * np.nan, r"\[pair.weights\]: .* expected finite numbers"),
        ("words", None, r"\[words\]: found nothing, expected an array of a dictionary"),
    ],
)
def test_what_is_damaged_is_refused(
    name: str, change: Any, message: str, lexicon: LexiconModel, tmp_path: Path
) -> None:
    StoredDictionary(lexicon).save_pretrained(tmp_path)
    arrays = load_file(tmp_path / FILE)
    array = arrays.pop(name)
    if change:
        arrays[name] = change(array)
    save_file(arrays, tmp_path / FILE)
    with pytest.raises(DataError, match=message):
        load_dictionary(tmp_path, categories=lexicon.categories, **OPTIONS)


def test_fewer_categories_than_were_counted_are_refused(lexicon: LexiconModel, tmp_path: Path) -> None:
    StoredDictionary(lexicon).save_pretrained(tmp_path)
    with pytest.raises(DataError, match=r"\[outcomes\]: found something else, expected numbers from 0 to 0"):
        load_dictionary(tmp_path, categories=["FOOD"], **OPTIONS)
