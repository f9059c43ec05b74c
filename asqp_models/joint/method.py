"""The joint model as a method: trained on samples, loaded from a checkpoint folder, predicting quads."""

from __future__ import annotations

import copy
import json
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import set_seed

from asqp_datasets.errors import DataError, UsageError, first_line
from asqp_datasets.schema import Quad, Sample
from asqp_models import processes
from asqp_models.checkpoints import load, save, stored_tokenizer
from asqp_models.encoders import SCRATCH, load_encoder, load_tokenizer
from asqp_models.joint.calibration import calibrate
from asqp_models.joint.configuration import METHOD, JointConfig, UnitEncoderConfig, asqp_block
from asqp_models.joint.decoding import Decoder
from asqp_models.joint.dictionary import StoredDictionary, load_dictionary
from asqp_models.joint.examples import Example, collate, examples
from asqp_models.joint.modeling import JointModel
from asqp_models.joint.reading import Reader
from asqp_models.joint.settings import Settings
from asqp_models.lexicon import LexiconModel
from asqp_models.methods import ScoredQuad
from asqp_models.trainer import check_weights, fit, quiet_libraries

THRESHOLDS = tuple(i / 100 for i in range(10, 71, 2))
"""The thresholds that are tried on validation."""


class Joint:
    """A model with the dictionary of its training set and, for a pretrained encoder, its tokenizer.

    Args:
        model: The model.
        lexicon: The dictionary.
        tokenizer: The tokenizer of a pretrained encoder.
        history: What was logged in training.
    """

    def __init__(
        self, model: JointModel, lexicon: LexiconModel, tokenizer: Any = None, *, history: Sequence[dict[str, Any]] = ()
    ) -> None:
        self.model, self.lexicon, self.tokenizer, self.history = model, lexicon, tokenizer, list(history)
        self.decoder = Decoder(model, _reader(model.config, lexicon, tokenizer))

    keeps_checkpoints = True

    @staticmethod
    def check_settings(settings: Mapping[str, Any]) -> None:
        """Raise :class:`UsageError` if they are not those of :class:`Settings`; nothing is loaded."""
        Settings.from_dict(settings)

    @property
    def config(self) -> dict[str, Any]:
        """The model's configuration as stored, with its ``asqp`` block."""
        config: dict[str, Any] = json.loads(self.model.config.to_json_string())
        return config

    @classmethod
    def train(
        cls,
        train: Sequence[Sample],
        validation: Sequence[Sample],
        *,
        language: str,
        seed: int = 0,
        progress: bool = False,
        folder: str | Path | None = None,
        on_best: Callable[[Joint], None] | None = None,
        arguments: dict[str, Any] | None = None,
        **settings: Any,
    ) -> Joint:
        """Fit to train; choose epoch, threshold and calibration on validation.

        Args:
            train: At least one sample.
            validation: If empty, the last epoch is kept.
            language: ``zh``, ``en`` or another code.
            seed: Of first weights, of the order of samples and of dropout.
            progress: Whether to show a bar and say what cannot be used.
            folder: Keeps the checkpoints of the training, from which a later call goes on; default: none are kept.
                Several processes need one that they share.
            on_best: Called in the main process with the model of each epoch that is the best so far; not where several
                networks are trained one after another, which are a model only together.
            arguments: Anything else that ``transformers.TrainingArguments`` takes.
            settings: The fields of :class:`Settings`.

        Raises:
            UsageError: A setting is not as described, there is no quad to learn from, or the loss is not finite.
            DataError: The encoder cannot be loaded, or a quad's offsets are wrong.
        """
        wanted = Settings.from_dict(settings)
        if not any(sample.quads for sample in train):
            raise UsageError("train: found no quads, expected one at least")
        if folder is None and processes.count() > 1:
            raise UsageError("folder: found none, expected one that all processes of the training share")
        with quiet_libraries():
            tokenizer = None if wanted.encoder == SCRATCH else load_tokenizer(wanted.encoder)
        lexicon = LexiconModel.count(train, language=language)
        reader = _reader(wanted, lexicon, tokenizer)
        learned, unused = examples(train, reader, lexicon.categories, folds=wanted.folds)
        drawn = np.random.default_rng(seed).random(len(learned))
        learned = [
            each for each, chance in zip(learned, drawn, strict=True) if len(each.quads) or chance < wanted.empty
        ]
        if progress and unused:
            print(f"{METHOD}: {unused} quads are not learned, as no window holds their terms", file=sys.stderr)

        def join(rows: Sequence[Example]) -> dict[str, Tensor]:
            return collate(rows, pad_token_id=reader.pad_token_id)

        scratch = None if folder is not None else tempfile.mkdtemp(prefix="asqp-training-")
        place = Path(folder or scratch or "")
        members, history = [], []
        try:
            for member in range(wanted.members):
                own = place if wanted.members == 1 else place / f"member-{member}"
                done = own / "member.safetensors"
                own_seed = (seed * 1_000 + member) % 2**32
                set_seed(own_seed)
                model = _new_model(wanted, lexicon, language, 0 if tokenizer is None else len(tokenizer))
                decoder = Decoder(model, reader)
                if wanted.members > 1 and done.is_file():
                    check_weights(done, model)
                    model.load_state_dict(load_file(done))
                    history += json.loads((own / "history.json").read_text(encoding="utf-8"))
                    members.append(model)
                    continue
                config = copy.deepcopy(model.config)
                rows = fit(
                    model,
                    learned,
                    join,
                    validation,
                    wanted,
                    predict=decoder.remembering,
                    folder=own,
                    seed=own_seed,
                    thresholds=THRESHOLDS,
                    on_best=partial(_show_best, on_best, model, lexicon, tokenizer, config)
                    if on_best and wanted.members == 1
                    else None,
                    progress=progress,
                    **(
                        {"save_only_model": scratch is not None, "adam_beta2": 0.98, "eval_delay": wanted.patience}
                        | (arguments or {})
                    ),
                )
                model.config = config  # Trainer has written keys of generation into it
                for network in model.networks:
                    network.config = config
                rows = [row | {"member": member} for row in rows] if wanted.members > 1 else rows
                if wanted.members > 1 and processes.rank() == 0:
                    (own / "history.json").write_text(json.dumps(rows), encoding="utf-8")
                    try:
                        save_file(model.state_dict(), own / "member.tmp")
                    except SafetensorError as error:
                        raise DataError(f"cannot be written: {first_line(error)}", path=own) from error
                    (own / "member.tmp").rename(done)
                history += rows
                members.append(model)
        finally:
            if scratch is not None:
                shutil.rmtree(scratch, ignore_errors=True)
        joint = cls(_joined(members, wanted), lexicon, tokenizer, history=history)
        joint._choose(validation)
        return joint

    def _choose(self, validation: Sequence[Sample]) -> None:
        """Set the threshold with the best F1 on validation, and the calibration."""
        if not validation:
            return
        predicted = self.decoder([sample.text for sample in validation], THRESHOLDS[0])
        threshold, calibration = calibrate(predicted, [sample.quads for sample in validation], THRESHOLDS)
        self.model.config.threshold, self.model.config.calibration = threshold, calibration

    def predict_batch(self, texts: Sequence[str]) -> list[list[Quad]]:
        """The quads of each text, by place, none twice; offsets are true in the text as it is given."""
        return [[each.quad for each in quads] for quads in self.predict_scored(texts)]

    def predict_scored(self, texts: Sequence[str], threshold: float | None = None) -> list[list[ScoredQuad]]:
        """The quads of each text with their scores, which estimate the probability of being right.

        Args:
            texts: Of any length.
            threshold: Least score; default: the configuration's. A higher one gives precision, a lower one recall.
        """
        return self.decoder(texts, threshold)

    def save_pretrained(self, folder: str | Path) -> None:
        """Write ``config.json``, ``model.safetensors``, ``dictionary.safetensors``, and the tokenizer if there is one.

        The same model gives the same bytes.

        Args:
            folder: Made if missing.
        """
        save(folder, *([self.tokenizer] if self.tokenizer else []), StoredDictionary(self.lexicon), _Stored(self.model))

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> Joint:
        """Read what :meth:`save_pretrained` wrote.

        Raises:
            DataError: A file is missing, damaged or of another method.
        """
        folder = Path(folder)
        model = load(JointModel, folder, METHOD)
        config = model.config
        lexicon = load_dictionary(folder, language=config.language, categories=config.categories, reuse=config.reuse)
        if isinstance(config.encoder, UnitEncoderConfig):
            if config.encoder.vocab_size != lexicon.dictionary.size:
                raise DataError(
                    f"found {config.encoder.vocab_size}, expected {lexicon.dictionary.size}, as in the dictionary",
                    path=folder / "config.json",
                    field="encoder.vocab_size",
                )
            return cls(model, lexicon)
        return cls(model, lexicon, stored_tokenizer(folder, model.config.encoder.vocab_size))


class _Stored:
    """A model that is written in half precision if its weights are such numbers."""

    def __init__(self, model: JointModel) -> None:
        self.model = model

    def save_pretrained(self, folder: Path) -> None:
        half = all(torch.equal(each, each.half().float()) for each in self.model.parameters())
        state = {name: each.half() if half else each for name, each in self.model.state_dict().items()}
        self.model.save_pretrained(folder, state_dict={name: each.contiguous() for name, each in state.items()})


def _reader(options: Settings | JointConfig, lexicon: LexiconModel, tokenizer: Any) -> Reader:
    return Reader(
        lexicon,
        max_units=options.max_units,
        max_seq_length=options.max_seq_length,
        doc_stride=options.doc_stride,
        tokenizer=tokenizer,
        known=options.dictionary,
    )


def _show_best(
    on_best: Callable[[Joint], None],
    model: JointModel,
    lexicon: LexiconModel,
    tokenizer: Any,
    config: JointConfig,
    threshold: float,
) -> None:
    """Call with the model as it is, under the configuration that its checkpoint would have."""
    parts = [model, *model.networks]
    kept = [part.config for part in parts]
    shown = copy.deepcopy(config)
    shown.threshold = threshold
    try:
        for part in parts:
            part.config = shown
        on_best(Joint(model, lexicon, tokenizer))
    finally:
        for part, own in zip(parts, kept, strict=True):
            part.config = own


def _new_model(wanted: Settings, lexicon: LexiconModel, language: str, vocabulary: int) -> JointModel:
    pretrained = None
    with quiet_libraries():
        if wanted.encoder == SCRATCH:
            encoder: Any = UnitEncoderConfig(vocab_size=lexicon.dictionary.size, **wanted.encoder_options())
            encoder.dtype = torch.float32  # said as loading says it
        else:
            pretrained = load_encoder(wanted.encoder, vocabulary)
            encoder = pretrained.config
        aspects, opinions = lexicon.counts.outcomes[:, 0], lexicon.counts.outcomes[:, 1]
        model = JointModel(
            JointConfig(
                encoder=encoder,
                asqp=asqp_block(language, lexicon.categories),
                implicit=[bool(np.any(aspects < 0)), bool(np.any(opinions < 0))],
                reuse=list(map(bool, lexicon.reuse)),
                **wanted.model_options(),
            )
        )
    if pretrained is not None:
        for network in model.networks:
            for part in network.encoders:
                part.load_state_dict(pretrained.state_dict())
                part.get_input_embeddings().weight.requires_grad_(not wanted.freeze_embeddings)
    return model


def _joined(members: Sequence[JointModel], wanted: Settings) -> JointModel:
    """One model of all networks, with the weights as they are stored."""
    model = members[0]
    if len(members) > 1:
        config = copy.deepcopy(model.config)
        config.members = len(members)
        model = JointModel(config).to(model.device)
        model.networks = torch.nn.ModuleList([member.networks[0] for member in members])
        for network in model.networks:
            network.config = config
    if wanted.weights == "fp16":
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.copy_(parameter.half().float())
    return model
