"""Extract-Classify (Cai et al., ACL 2021, section 4.1) over any encoder.

Step 1 tags aspects and opinions with a CRF and says whether a text has an implicit aspect and an implicit opinion;
step 2 gives every pair of an aspect and an opinion its categories and sentiments, or none.

Differences from the original code, which is BERT only: the tokenizer's own special token ends a text, not a second
``[CLS]``; both flags read raw hidden states, as not every encoder has a pooler; the special tokens have the tag ``O``,
not one of their own; all pairs of a text come from one encoding of it, not one encoding each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers import initialization as init
from transformers.utils import ModelOutput

from asqp_datasets.errors import UsageError
from asqp_models.encoders import load_encoder, without_pooler
from asqp_models.extract_classify.configuration import ExtractClassifyConfig, asqp_block
from asqp_models.extract_classify.crf import LinearChainCRF
from asqp_models.extract_classify.features import NUM_TAGS


@dataclass
class ExtractClassifyOutput(ModelOutput):
    """What :meth:`ExtractClassifyModel.forward` returns.

    Args:
        loss: The weighted sum of both steps' losses, if labels were given.
        extraction_loss: The CRF's negative log-likelihood, mean over sequences, and the flags' cross entropies.
        classification_loss: Binary cross entropy, summed over classes, mean over pairs; 0 without pairs.
        emissions: Scores of tags. Shape (B, L, tags).
        implicit_logits: Of an implicit aspect, and of an implicit opinion. Shape (B, 2).
        pair_logits: Of the classes of each pair. Shape (B, P, classes); None without ``pairs``.
    """

    loss: Tensor | None = None
    extraction_loss: Tensor | None = None
    classification_loss: Tensor | None = None
    emissions: Tensor | None = None
    implicit_logits: Tensor | None = None
    pair_logits: Tensor | None = None


class ExtractClassifyModel(PreTrainedModel):
    """Both steps of Extract-Classify.

    Args:
        config: Its configuration.

    Raises:
        UsageError: The configuration has no category.
    """

    config_class = ExtractClassifyConfig
    base_model_prefix = "extract_classify"
    supports_gradient_checkpointing = True
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: ExtractClassifyConfig) -> None:
        super().__init__(config)
        if not config.categories:
            raise UsageError("asqp.categories: found none, expected one at least")
        encoder: Any = config.encoder
        size = encoder.hidden_size
        self.extraction_encoder = without_pooler(AutoModel.from_config(encoder))
        if not config.share_encoder:
            self.classification_encoder = without_pooler(AutoModel.from_config(encoder))
        self.dropout = nn.Dropout(config.dropout)
        self.tagger = nn.Linear(size, NUM_TAGS)
        self.crf = LinearChainCRF(NUM_TAGS)
        self.implicit_aspect = nn.Linear(size, 1)
        self.implicit_opinion = nn.Linear(size, 1)
        self.classifier = nn.Linear(2 * size, config.num_classes)
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, LinearChainCRF):
            for parameter in module.parameters():
                init.uniform_(parameter, -0.1, 0.1)
        else:
            super()._init_weights(module)

    @classmethod
    def from_encoder(
        cls,
        name_or_path: str | Path,
        categories: Sequence[str],
        *,
        language: str,
        vocabulary: int = 0,
        **options: Any,
    ) -> ExtractClassifyModel:
        """A model with an encoder and new heads.

        Args:
            name_or_path: As :func:`asqp_models.encoders.load_encoder` finds it.
            categories: The categories.
            language: ``zh``, ``en`` or another code.
            vocabulary: Pieces of the tokenizer, where the encoder is to be trained from scratch.
            options: Anything else that :class:`ExtractClassifyConfig` takes.

        Raises:
            DataError: The encoder cannot be loaded.
            UsageError: An option is not as described.
        """
        pretrained = load_encoder(str(name_or_path), vocabulary)
        config = ExtractClassifyConfig(encoder=pretrained.config, asqp=asqp_block(language, categories), **options)
        model = cls(config)
        for part in model.encoders:
            part.load_state_dict(pretrained.state_dict())
        return model

    @property
    def encoders(self) -> list[Any]:
        """The encoder of step 1, and that of step 2 if it has its own."""
        return [self.extraction_encoder] + ([] if self.config.share_encoder else [self.classification_encoder])

    def step_parameters(self) -> list[list[nn.Parameter]]:
        """The parameters of each step; a shared encoder makes it one step."""
        if self.config.share_encoder:
            return [list(self.parameters())]
        second = [*self.classification_encoder.parameters(), *self.classifier.parameters()]
        theirs = {id(parameter) for parameter in second}
        return [[parameter for parameter in self.parameters() if id(parameter) not in theirs], second]

    def encode(self, encoder: nn.Module, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        """Last hidden states. Shape (B, L, hidden)."""
        hidden: Tensor = encoder(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state
        return hidden

    def extract(self, hidden: Tensor, attention_mask: Tensor) -> tuple[Tensor, Tensor]:
        """Step 1: scores of tags, and the flags' logits.

        Args:
            hidden: Shape (B, L, hidden).
            attention_mask: Shape (B, L).

        Returns:
            Shapes (B, L, tags) and (B, 2).
        """
        hidden = self.dropout(hidden)
        last = hidden[torch.arange(len(hidden), device=hidden.device), attention_mask.sum(1) - 1]
        flags = torch.cat([self.implicit_aspect(hidden[:, 0]), self.implicit_opinion(last)], 1)
        return self.tagger(hidden).float(), flags.float()

    def classify(self, hidden: Tensor, rows: Tensor, pairs: Tensor) -> Tensor:
        """Step 2: logits of the classes of pairs, from the means of the hidden states of their terms.

        Args:
            hidden: Shape (B, L, hidden).
            rows: The row of ``hidden`` that each pair is read in. Shape (N,).
            pairs: Start and end of aspect and opinion, in positions of the row. Shape (N, 4).

        Returns:
            Shape (N, classes).
        """
        sums = nn.functional.pad(hidden.float().cumsum(1), (0, 0, 1, 0))
        means = [
            (sums[rows, pairs[:, i + 1]] - sums[rows, pairs[:, i]]) / (pairs[:, i + 1] - pairs[:, i])[:, None]
            for i in (0, 2)
        ]
        logits: Tensor = self.classifier(self.dropout(torch.cat(means, 1)).to(self.classifier.weight.dtype))
        return logits.float()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        tags: Tensor | None = None,
        implicit: Tensor | None = None,
        pairs: Tensor | None = None,
        pair_labels: Tensor | None = None,
    ) -> ExtractClassifyOutput:
        """Both steps, and their losses where labels are given. Nothing is decoded.

        Args:
            input_ids: Windows, padded at the end. Shape (B, L).
            attention_mask: Shape (B, L).
            tags: Shape (B, L).
            implicit: 1.0 where there is an implicit aspect, and opinion. Shape (B, 2).
            pairs: Start and end of aspect and opinion, as :meth:`Window.positions`; rows of zeros are padding.
                Shape (B, P, 4).
            pair_labels: 1.0 at the classes of each pair. Shape (B, P, classes).
        """
        hidden = self.encode(self.extraction_encoder, input_ids, attention_mask)
        emissions, flags = self.extract(hidden, attention_mask)
        output = ExtractClassifyOutput(emissions=emissions, implicit_logits=flags)
        if tags is not None and implicit is not None:
            output.extraction_loss = (
                self.crf.nll(emissions, tags, attention_mask).mean()
                + nn.functional.binary_cross_entropy_with_logits(flags, implicit, reduction="none").mean(0).sum()
            )
        if pairs is not None:
            if not self.config.share_encoder:
                hidden = self.encode(self.classification_encoder, input_ids, attention_mask)
            rows, columns = (pairs[:, :, 1] > 0).nonzero(as_tuple=True)
            logits = self.classify(hidden, rows, pairs[rows, columns])
            output.pair_logits = logits.new_zeros(*pairs.shape[:2], logits.size(1)).index_put((rows, columns), logits)
            if pair_labels is not None:
                losses = nn.functional.binary_cross_entropy_with_logits(
                    logits, pair_labels[rows, columns].to(logits.dtype), reduction="none"
                )
                output.classification_loss = losses.sum() / max(1, len(rows))
        if output.extraction_loss is not None and output.classification_loss is not None:
            output.loss = self.config.extraction_weight * output.extraction_loss + output.classification_loss
        return output


AutoConfig.register(ExtractClassifyConfig.model_type, ExtractClassifyConfig)
AutoModel.register(ExtractClassifyConfig, ExtractClassifyModel)
