"""Encoders: pretrained ones by folder, Hub id or Python package, and a small one to be trained from scratch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModel, AutoTokenizer, BertConfig, BertTokenizer

from asqp_datasets.errors import DataError, UsageError, first_line
from asqp_models import processes

SCRATCH = "scratch"
PACKAGE = "package:"
_LEAST = 2  # times that a character or word of the scratch vocabulary must occur
_WORDS = 8_000


def load_tokenizer(name: str, texts: Iterable[str] = ()) -> Any:
    """The tokenizer of an encoder.

    Args:
        name: As for :func:`load_encoder`.
        texts: What the vocabulary of a ``scratch`` encoder is made from.

    Raises:
        DataError: There is none that can be loaded.
    """
    if name == SCRATCH:
        return BertTokenizer(vocab={piece: i for i, piece in enumerate(_vocabulary(texts))}, model_max_length=512)
    place = _place(name)
    try:
        tokenizer = AutoTokenizer.from_pretrained(place)
    except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
        message = f"has no tokenizer that can be loaded: {first_line(error)}"
        raise DataError(message, path=name) from error
    if not set(tokenizer.get_vocab()) - set(tokenizer.all_special_tokens):  # made up where there are no files
        raise DataError("has no tokenizer, or an empty one, expected the files of one", path=name)
    return tokenizer


def load_encoder(name: str, vocabulary: int) -> Any:
    """An encoder without a pooler, in float32.

    Args:
        name: A folder or a Hub id of any encoder that ``AutoModel`` knows; ``package:NAME/FOLDER`` for a folder inside
            an installed Python package; ``scratch`` for a new BERT of 4 layers x 192 dimensions with random weights.
        vocabulary: Pieces of the tokenizer: as many rows as a ``scratch`` encoder gets, and others must have.

    Raises:
        DataError: It cannot be loaded, is no encoder by itself, or has fewer rows than the tokenizer has pieces.
        UsageError: The package is not installed.
    """
    if name == SCRATCH:
        encoder = AutoModel.from_config(
            BertConfig(
                vocab_size=vocabulary,
                hidden_size=192,
                num_hidden_layers=4,
                num_attention_heads=4,
                intermediate_size=768,
                max_position_embeddings=512,
            )
        )
    else:
        place = _place(name)
        try:
            config = AutoConfig.from_pretrained(place)  # its errors are clearer than the model's
            if str(config.model_type).startswith("asqp-"):
                raise DataError(f"found a checkpoint of {config.model_type}, expected an encoder", path=name)
            if getattr(config, "is_encoder_decoder", False) or not isinstance(
                getattr(config, "hidden_size", None), int
            ):
                raise DataError(f"found the model type {config.model_type}, expected an encoder alone", path=name)
            encoder = AutoModel.from_pretrained(place, dtype=torch.float32)
        except DataError:
            raise
        except (OSError, ValueError, KeyError, TypeError, RuntimeError, SafetensorError) as error:
            raise DataError(f"cannot be loaded as an encoder: {first_line(error)}", path=name) from error
        check_vocabulary(encoder.get_input_embeddings().num_embeddings, vocabulary, name)
    encoder.config.dtype, encoder.config.name_or_path = torch.float32, ""
    return without_pooler(encoder)


def check_vocabulary(rows: int, pieces: int, path: str | Path) -> None:
    """Raise :class:`DataError` if a tokenizer has more pieces than its encoder has rows for them."""
    if pieces > rows:
        raise DataError(f"found a tokenizer of {pieces} pieces, expected at most {rows}, as the encoder", path=path)


def without_pooler(encoder: Any) -> Any:
    """The encoder without its pooler, which nothing here reads: it would be saved and never trained."""
    if getattr(encoder, "pooler", None) is not None:
        encoder.pooler = None
    return encoder


def best_device() -> torch.device:
    """The accelerator of this process, or the CPU."""
    if torch.accelerator.is_available():
        kind = torch.accelerator.current_accelerator()
        if kind is not None:
            return torch.device(kind.type, processes.local_rank() % torch.accelerator.device_count())
    return torch.device("cpu")


def _place(name: str) -> str:
    if not name.startswith(PACKAGE):
        if (Path(name) / "run.json").is_file():
            raise DataError("found a run folder, expected an encoder", path=name)
        if name.startswith(("/", ".", "~")) and not Path(name).is_dir():
            raise DataError("found no such folder, expected an encoder", path=name)
        return name
    package, _, folder = name.removeprefix(PACKAGE).partition("/")
    found = find_spec(package) if package.isidentifier() else None
    if found is None or not found.submodule_search_locations:
        raise UsageError(f"encoder: found no installed package {package!r:.60}, expected it after pip install")
    place = Path(found.submodule_search_locations[0], folder).resolve()
    if not (place / "config.json").is_file():
        raise DataError("found no config.json, expected the folder of an encoder", path=place)
    return str(place)


def _vocabulary(texts: Iterable[str]) -> list[str]:
    """Special tokens, characters, the same inside words, and frequent words; by frequency."""
    characters: Counter[str] = Counter()
    words: Counter[str] = Counter()
    for text in texts:
        text = text.lower()
        characters.update(text)
        words.update(word for word in "".join(c if c.isascii() else " " for c in text).split() if word.isalnum())
    single = [c for c, n in sorted(characters.items(), key=lambda item: (-item[1], item[0])) if n >= _LEAST]
    single = [c for c in single if not c.isspace() and c.isprintable()]
    frequent = [w for w, n in sorted(words.items(), key=lambda item: (-item[1], item[0])) if n >= _LEAST][:_WORDS]
    inside = [f"##{c}" for c in single if c.isascii() and c.isalnum()]
    return list(dict.fromkeys(chain(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], single, inside, frequent)))
