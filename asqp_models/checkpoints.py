"""The checkpoint folders of neural methods: ``config.json``, ``model.safetensors`` and a tokenizer."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from tokenizers import Tokenizer as BackendTokenizer

from asqp_datasets.errors import AsqpError, DataError, first_line
from asqp_models.encoders import best_device, check_vocabulary, load_tokenizer
from asqp_models.trainer import quiet_libraries

_UNREADABLE = (
    *(OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RuntimeError, SafetensorError),
)
"""What the libraries raise over a configuration or weights that are not theirs."""


def save(folder: str | Path, *parts: Any) -> None:
    """Write what has a ``save_pretrained``; the same parts give the same bytes, each file is there in whole or not.

    Args:
        folder: Made if missing.
        parts: A model, a tokenizer.

    Raises:
        DataError: The weights cannot be written.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=".saving-", dir=folder))
    try:
        with quiet_libraries():
            for part in parts:
                part.save_pretrained(work)
        mode = (work / "config.json").stat().st_mode
        for file in sorted(work.iterdir()):
            file.chmod(mode)  # weights are written for their owner alone
            file.replace(folder / file.name)
    except SafetensorError as error:
        raise DataError(f"cannot be written: {first_line(error)}", path=folder) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def load(kind: Any, folder: str | Path, method: str) -> Any:
    """The model of a checkpoint, in float32, on the best device.

    Args:
        kind: The class of the model.
        folder: The checkpoint folder.
        method: The method that it must be of.

    Raises:
        DataError: A file is missing, damaged or of another method.
    """
    folder = Path(folder)
    try:
        config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
        found = config["asqp"]["method"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"cannot be read ({type(error).__name__}), expected the configuration of a {method} checkpoint",
            path=folder / "config.json",
        ) from error
    if found != method:
        raise DataError(f"found {found!r:.60}, expected {method!r}", path=folder / "config.json", field="method")
    with quiet_libraries():
        try:
            model, report = kind.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                ignore_mismatched_sizes=True,  # reported below
                output_loading_info=True,
                dtype=torch.float32,
            )
        except AsqpError as error:
            raise DataError(str(error), path=folder / "config.json") from error
        except _UNREADABLE as error:
            raise DataError(f"cannot be loaded: {first_line(error)}", path=folder) from error
    for name in ("missing_keys", "unexpected_keys", "mismatched_keys"):
        keys = sorted(key if isinstance(key, str) else key[0] for key in report[name])
        if keys:
            raise DataError(
                f"found {len(keys)} weights that are {name.partition('_')[0]}, such as {keys[0]:.80}, expected "
                "those of config.json",
                path=folder / "model.safetensors",
            )
    for name, weight in model.named_parameters():
        if not bool(torch.isfinite(weight).all()):
            raise DataError(f"found a weight that is no number in {name:.80}", path=folder / "model.safetensors")
    return model.to(best_device())


def stored_tokenizer(folder: Path, vocabulary: int) -> Any:
    """The tokenizer of a checkpoint; ``AutoTokenizer`` makes an empty one up where the file is missing or damaged.

    Args:
        folder: The checkpoint folder.
        vocabulary: Rows that the encoder has for its pieces.

    Raises:
        DataError: A file is missing or damaged, or the tokenizer is another encoder's.
    """
    path = folder / "tokenizer.json"
    try:
        BackendTokenizer.from_str(path.read_text(encoding="utf-8"))
    except Exception as error:  # the library raises Exception itself
        message = getattr(error, "strerror", None) or first_line(error)
        raise DataError(f"cannot be read as a tokenizer: {message}", path=path) from error
    if not (folder / "tokenizer_config.json").is_file():
        raise DataError("found no such file, expected the tokenizer's settings", path=folder / "tokenizer_config.json")
    tokenizer = load_tokenizer(str(folder.resolve()))
    check_vocabulary(vocabulary, len(tokenizer), path)
    return tokenizer
