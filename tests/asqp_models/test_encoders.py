"""Where encoders come from."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="needs the train extra")
pytest.importorskip("transformers", reason="needs the train extra")

from asqp_datasets.errors import DataError, UsageError
from asqp_models.encoders import load_encoder, load_tokenizer


def test_a_vocabulary_from_scratch() -> None:
    tokenizer = load_tokenizer("scratch", ["内饰差 iPhone 15", "内饰好 iphone", "once 2x"])
    assert tokenizer.tokenize("内饰") == ["内", "饰"]
    assert tokenizer.tokenize("iPhone") == ["iphone"]  # occurs twice
    assert tokenizer.convert_tokens_to_ids("差") == tokenizer.unk_token_id  # occurs once
    encoded = tokenizer("内饰 iphone", return_offsets_mapping=True)
    assert encoded["offset_mapping"] == [(0, 0), (0, 1), (1, 2), (3, 9), (0, 0)]
    assert load_tokenizer("scratch", ["内饰"] * 2).get_vocab() == load_tokenizer("scratch", ["内饰"] * 2).get_vocab()


def test_an_encoder_from_scratch() -> None:
    encoder = load_encoder("scratch", 100)
    assert encoder.get_input_embeddings().weight.shape == (100, 192)
    assert encoder.pooler is None


def test_an_encoder_in_a_python_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "carries_an_encoder"
    package.mkdir()
    (package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    tokenizer = load_tokenizer("scratch", ["内饰"] * 2)
    load_encoder("scratch", len(tokenizer)).save_pretrained(package / "model")
    tokenizer.save_pretrained(package / "model")
    name = "package:carries_an_encoder/model"
    assert load_tokenizer(name).tokenize("内饰") == ["内", "饰"]
    assert load_encoder(name, 0).config.hidden_size == 192
    with pytest.raises(DataError, match=r"found no config\.json, expected the folder of an encoder"):
        load_encoder("package:carries_an_encoder", 0)
    for wrong in ("package:not_there/model", "package:", "package:../x"):
        with pytest.raises(UsageError, match="found no installed package"):
            load_tokenizer(wrong)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An encoder with its tokenizer."""
    tokenizer = load_tokenizer("scratch", ["内饰"] * 2)
    load_encoder("scratch", len(tokenizer)).save_pretrained(tmp_path / "encoder")
    tokenizer.save_pretrained(tmp_path / "encoder")
    return tmp_path / "encoder"


def test_an_encoder_without_its_tokenizer_is_refused(folder: Path) -> None:
    for file in folder.glob("tokenizer*"):
        file.unlink()
    with pytest.raises(DataError, match="has no tokenizer, or an empty one"):
        load_tokenizer(str(folder))


def test_what_is_no_encoder_is_one_clear_error(folder: Path, line: Path, tmp_path: Path) -> None:
    from transformers import T5Config, T5Model

    T5Model(T5Config(vocab_size=20, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)).save_pretrained(
        tmp_path / "t5"
    )
    for name, message in (
        (tmp_path / "t5", "found the model type t5, expected an encoder alone"),
        (line / "run", "found a run folder, expected an encoder"),
        (tmp_path / "nowhere", "found no such folder, expected an encoder"),
    ):
        with pytest.raises(DataError, match=message):
            load_encoder(str(name), 0)
    with pytest.raises(DataError, match="found a tokenizer of 99 pieces, expected at most 7, as the encoder"):
        load_encoder(str(folder), 99)
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:100])
    with pytest.raises(DataError, match="cannot be loaded as an encoder"):
        load_encoder(str(folder), 0)


def test_a_checkpoint_of_ours_is_no_encoder(tmp_path: Path) -> None:
    from asqp_models.extract_classify import ExtractClassifyModel

    model = ExtractClassifyModel.from_encoder("scratch", ["a"], language="zh", vocabulary=9)
    model.save_pretrained(tmp_path)
    with pytest.raises(DataError, match="found a checkpoint of asqp-extract-classify, expected an encoder"):
        load_encoder(str(tmp_path), 0)
