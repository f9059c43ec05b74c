"""The joint model: spans, pairs of them, and the labels of pairs, from one encoding of a text.

Every span of up to ``max_units`` units is scored as an aspect and as an opinion, each with a partner or alone. Likely
aspects are paired with likely opinions, the implicit ones included; a pair is scored twice, the second time knowing the
best other pair of its aspect and of its opinion. In training the wrong pairs are those of the model's own likely spans,
of gold spans, and of gold spans that are shifted by a unit. A pair that is right has a category and a sentiment. The
score of a quad is the product of the three probabilities.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from transformers import AutoConfig, AutoModel, PreTrainedModel
from transformers.utils import ModelOutput

from asqp_datasets.errors import UsageError
from asqp_datasets.schema import SENTIMENTS
from asqp_models.encoders import without_pooler
from asqp_models.joint.candidates import (
    BUCKETS,
    Pairs,
    Terms,
    best_rivals,
    likely_terms,
    looked_up,
    pair_keys,
    paired,
    shifted_terms,
    valid_spans,
)
from asqp_models.joint.configuration import JointConfig, UnitEncoderConfig
from asqp_models.joint.examples import ROLES
from asqp_models.joint.labels import SOURCES, LabelEvidence
from asqp_models.joint.reading import FEATURES
from asqp_models.joint.span_layer import SpanLayer
from asqp_models.joint.unit_encoder import PooledDropout

_NO_ODDS = -6.0
_EVIDENCE = 2 * ROLES + 7  # numbers that a pair has beside the representations of its terms
_LIKELY = 0.05  # least probability of a span that is paired in training
_SHIFTED = 0.15  # share of gold spans that are shifted in training


@dataclass
class JointOutput(ModelOutput):
    """What :meth:`JointModel.forward` returns.

    Args:
        loss: The sum of the losses below, mean over members, if labels were given.
        span_loss: Binary cross entropy of the roles of spans, per gold span.
        pair_loss: Of both scores of pairs, per gold span.
        label_loss: Cross entropy of categories and sentiments of gold pairs, per gold span.
    """

    loss: Tensor | None = None
    span_loss: Tensor | None = None
    pair_loss: Tensor | None = None
    label_loss: Tensor | None = None


class Scored(NamedTuple):
    """The pairs of a batch with their scores.

    Args:
        aspect: The aspect of each.
        opinion: The opinion of each.
        logits: Of the pair being annotated. Shape (P,).
        first_logits: The same, before rivals are looked at. Shape (P,).
        aspect_spans: Representations of the aspects. Shape (P, span_size).
        opinion_spans: Likewise of the opinions.
    """

    aspect: Terms
    opinion: Terms
    logits: Tensor
    first_logits: Tensor
    aspect_spans: Tensor
    opinion_spans: Tensor


class JointNetwork(nn.Module):
    """An encoder, or two, with the heads.

    Args:
        config: The configuration of the model.
    """

    def __init__(self, config: JointConfig) -> None:
        super().__init__()
        self.config = config
        encoder: Any = config.encoder
        self.encoder = without_pooler(AutoModel.from_config(encoder))
        self.span = SpanLayer(config)
        if not config.share_encoder:
            self.pair_encoder, self.pair_span = without_pooler(AutoModel.from_config(encoder)), SpanLayer(config)
        hidden, span, pair = encoder.hidden_size, config.span_size, config.pair_size
        self.dropout = PooledDropout(config.dropout)
        self.roles = nn.Linear(span, ROLES)
        self.known_roles = nn.Linear(FEATURES, ROLES, bias=False)
        self.whole = nn.Linear(2 * hidden, 2 * span)
        self.pair_aspect, self.pair_opinion = nn.Linear(span, pair), nn.Linear(span, pair)
        self.distance = nn.Embedding(BUCKETS, pair)
        self.evidence = nn.Linear(_EVIDENCE, pair)
        self.pair = nn.Linear(pair, 1)
        self.pair_evidence = nn.Linear(_EVIDENCE, 1, bias=False)
        self.among = nn.Linear(3 + _EVIDENCE, 24)
        self.among_rivals = nn.Linear(24, 1)
        self.label_aspect, self.label_opinion = nn.Linear(span, 256), nn.Linear(span, 256)
        self.label_context = nn.Linear(hidden, 256)
        self.label_means = nn.Linear(4 * hidden, 256)
        self.label_evidence = nn.Linear(SOURCES * len(SENTIMENTS), 256)
        self.category = nn.Linear(256, len(config.categories))
        self.sentiment = nn.Linear(256, len(SENTIMENTS))
        self.category_weights = nn.Parameter(torch.empty(SOURCES))
        self.sentiment_weights = nn.Parameter(torch.empty(SOURCES))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """First weights of what is not a linear layer: few spans are terms, few pairs are right."""
        self.roles.bias.fill_(-4.0)
        self.pair.bias.fill_(-1.0)
        self.among_rivals.weight.zero_()
        self.among_rivals.bias.zero_()
        for name, module in self.named_modules():
            if name == "distance" or name.endswith("span.length"):
                nn.init.normal_(module.weight, std=0.1)
        for weights in (self.category_weights, self.sentiment_weights):
            weights.fill_(0.3)

    @property
    def encoders(self) -> list[nn.Module]:
        """The encoder, or that of spans and that of pairs."""
        return [self.encoder] if self.config.share_encoder else [self.encoder, self.pair_encoder]

    def read(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Read windows.

        Returns:
            Logits of the roles of spans, shape (B, L, K, ROLES); and for pairs: representations of spans, shape
            (B, L, K, span_size), of units, shape (B, L, hidden), and of windows, shape (B, 2 · hidden).
        """
        features = inputs["features"]
        units, whole = self._encode(self.encoder, inputs)
        spans = self.span(units, features)
        roles = (self.roles(self.dropout(spans)) + self.known_roles(features)).float()
        if not self.config.share_encoder:
            units, whole = self._encode(self.pair_encoder, inputs)
            spans = self.pair_span(units, features)
        return roles, spans, units, whole

    def _encode(self, encoder: nn.Module, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        lengths = inputs["lengths"]
        if isinstance(self.config.encoder, UnitEncoderConfig):
            hidden = encoder(inputs["input_ids"], inputs["attention_mask"], inputs["features"]).last_hidden_state
            units = hidden
        else:
            hidden = encoder(input_ids=inputs["input_ids"], attention_mask=inputs["attention_mask"]).last_hidden_state
            batch, longest = len(lengths), inputs["features"].size(1)
            row, piece = (inputs["units"] >= 0).nonzero(as_tuple=True)
            place = row * longest + inputs["units"][row, piece]
            sums = hidden.new_zeros(batch * longest, hidden.size(2)).index_add(0, place, hidden[row, piece])
            count = torch.bincount(place, minlength=batch * longest).clamp(min=1)[:, None]
            units = self.dropout((sums / count).view(batch, longest, -1))
        mean = units.sum(1) / lengths.clamp(min=1)[:, None]
        return units, torch.cat([hidden[:, 0], mean], 1)

    def pairs(
        self, spans: Tensor, roles: Tensor, whole: Tensor, aspects: Terms, opinions: Terms, inputs: dict[str, Tensor]
    ) -> Scored:
        """Score every aspect with every opinion."""
        length, width = spans.shape[1:3]
        found: Pairs = paired(aspects, opinions, len(spans), self.config.max_distance)
        a, o = aspects.at(found.aspect), opinions.at(found.opinion)
        evidence = self._evidence(roles, a, o, inputs)
        rows = spans.flatten(0, 2)
        whole = torch.relu(self.whole(whole)).unflatten(1, (2, -1))
        read = []
        for role, terms in enumerate((aspects, opinions)):
            place = (terms.row * length + terms.start) * width + terms.length - 1
            at = rows[place.clamp(min=0)]
            read.append(self.dropout(torch.where(terms.explicit[:, None], at, whole[terms.row, role])))
        hidden = self.pair_aspect(read[0])[found.aspect] + self.pair_opinion(read[1])[found.opinion]
        hidden = torch.relu(hidden + self.distance(found.bucket) + self.evidence(evidence))
        first = (self.pair(self.dropout(hidden)) + self.pair_evidence(evidence)).squeeze(1).float()
        rivals = [
            best_rivals(first.detach(), group, len(terms.row), _NO_ODDS)
            for group, terms in ((found.aspect, aspects), (found.opinion, opinions))
        ]
        scores = torch.stack([first.detach(), *rivals], 1).clamp(-8, 8)
        among = self.among_rivals(torch.relu(self.among(torch.cat([scores, evidence], 1))))
        return Scored(a, o, first + among.squeeze(1).float(), first, read[0][found.aspect], read[1][found.opinion])

    def _evidence(self, roles: Tensor, a: Terms, o: Terms, inputs: dict[str, Tensor]) -> Tensor:
        """The posteriors of both spans, what the dictionary says of the pair, and the borders between."""
        length, width = roles.shape[1:3]
        flat = roles.detach().clamp(-8, 8).flatten(0, 2)
        parts = []
        for term in (a, o):
            place = ((term.row * length + term.start) * width + term.length - 1).clamp(min=0)
            parts.append(flat[place] * (term.explicit[:, None] * self.config.posteriors) / 4)
        links = inputs["links"]
        linked = [Terms(links[:, 0], links[:, i], links[:, i + 1]) for i in (1, 3)]
        known = pair_keys(links[:, 0], linked[0], linked[1], length, width)
        at = looked_up(pair_keys(a.row, a, o, length, width), known)
        odds = torch.cat([inputs["odds"], inputs["odds"].new_full((1,), _NO_ODDS)])[at] / 4
        borders = inputs["borders"]
        begin, end = torch.minimum(a.end, o.end), torch.maximum(a.start, o.start)
        both = a.explicit & o.explicit & (begin < end)
        passed = borders[a.row, (end - 1).clamp(min=0)] - borders[a.row, (begin - 1).clamp(min=0)]
        passed = passed.clamp(0, 3) * both[:, None]
        others = [odds, (at >= 0).float(), a.explicit.float(), o.explicit.float(), both.float()]
        return torch.cat([*parts, passed, torch.stack(others, 1)], 1)

    def labels(
        self, scored: Scored, which: Tensor, units: Tensor, whole: Tensor, categories: Tensor, sentiments: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Logits of categories and of sentiments of some pairs.

        Args:
            scored: The pairs.
            which: Numbers of those that are meant. Shape (N,).
            units: Shape (B, L, hidden).
            categories: Evidence of each. Shape (N, SOURCES, categories).
            sentiments: Shape (N, SOURCES, sentiments).
        """
        a, o = scored.aspect.at(which), scored.opinion.at(which)
        place = torch.where(a.explicit, a.start, o.start.clamp(min=0))
        hidden = self.label_aspect(scored.aspect_spans[which]) + self.label_opinion(scored.opinion_spans[which])
        hidden = hidden + self.label_context(units[a.row, place]) + self.label_evidence(sentiments.flatten(1))
        sums = nn.functional.pad(units, (0, 0, 1, 0)).cumsum(1)
        means = [
            (sums[t.row, t.end.clamp(min=0)] - sums[t.row, t.start.clamp(min=0)]) / t.length.clamp(min=1)[:, None]
            for t in (a, o)
        ]
        hidden = hidden + self.label_means(self.dropout(torch.cat([*means, whole[a.row]], 1)))
        hidden = self.dropout(torch.relu(hidden))
        category = self.category(hidden) + (self.category_weights[:, None] * categories).sum(1)
        sentiment = self.sentiment(hidden) + (self.sentiment_weights[:, None] * sentiments).sum(1)
        return category.float(), sentiment.float()

    def term_probabilities(self, roles: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor]:
        """That each span is an aspect, and an opinion: 0 where it does not fit its window. Shapes (B, L, K)."""
        valid = valid_spans(lengths, *roles.shape[1:3])
        neither = torch.sigmoid(-roles)
        return (
            (1 - neither[..., 0] * neither[..., 1]) * valid,
            (1 - neither[..., 2] * neither[..., 3]) * valid,
        )

    def score(
        self, inputs: dict[str, Tensor], evidence: tuple[LabelEvidence, LabelEvidence], least: float
    ) -> tuple[Terms, Terms, Tensor, Tensor]:
        """The quads of windows that reach a score.

        Args:
            inputs: What :func:`asqp_models.joint.examples.window_tensors` makes.
            evidence: Of categories, and of sentiments.
            least: The least score.

        Returns:
            Aspect and opinion of each quad; category and sentiment, shape (Q, 2); and the score, shape (Q,).
        """
        implicit = self.config.implicit or [True, True]
        roles, spans, units, whole = self.read(inputs)
        terms = [
            likely_terms(probability, _LIKELY, self.config.max_terms, implicit=implicit[role])
            for role, probability in enumerate(self.term_probabilities(roles, inputs["lengths"]))
        ]
        scored = self.pairs(spans, roles, whole, terms[0], terms[1], inputs)
        right = scored.logits.sigmoid()
        which = (right >= least).nonzero().squeeze(1)
        a, o = scored.aspect.at(which), scored.opinion.at(which)
        known = []
        for term in (a, o):
            at = inputs["terms"][term.row, term.start.clamp(min=0), (term.length - 1).clamp(min=0)]
            known.append(torch.where(term.explicit, torch.where(at < 0, -2, at), -1).cpu().numpy())
        logs = [torch.from_numpy(each(known[0], known[1])).to(units.device) for each in evidence]
        category, sentiment = self.labels(scored, which, units, whole, logs[0], logs[1])
        score = right[which, None, None] * category.softmax(1)[:, :, None] * sentiment.softmax(1)[:, None]
        at, labels = (found := (score >= least).nonzero())[:, 0], found[:, 1:]
        return a.at(at), o.at(at), labels, score[at, labels[:, 0], labels[:, 1]]

    def losses(self, inputs: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
        """Of spans, of pairs, of labels; each summed and divided by the number of gold spans."""
        config = self.config
        implicit, negatives = config.implicit or [True, True], config.negatives or []
        likely = _LIKELY if "own" in negatives else 2.0
        roles, spans, units, whole = self.read(inputs)
        gold, quads = inputs["roles"], inputs["quads"]
        valid = valid_spans(inputs["lengths"], *roles.shape[1:3])
        entropy = nn.functional.binary_cross_entropy_with_logits(roles, gold, reduction="none")
        count = gold.sum().clamp(min=1)
        span_loss = (entropy * valid[..., None]).sum() / count
        terms: list[Terms] = []
        golden: list[Tensor] = []
        for role, probability in enumerate(self.term_probabilities(roles.detach(), inputs["lengths"])):
            also = gold[..., 2 * role : 2 * role + 2].any(3)
            numbers = also.flatten().nonzero().squeeze(1)
            if "shifted" in negatives:
                numbers = torch.cat([numbers, shifted_terms(also, valid, _SHIFTED)])
            terms.append(likely_terms(probability, likely, config.max_terms, implicit=implicit[role], also=numbers))
            golden.append(also)
        scored = self.pairs(spans, roles, whole, terms[0], terms[1], inputs)
        length, width = roles.shape[1:3]
        gold_terms = [Terms(quads[:, 0], quads[:, i], quads[:, i + 1]) for i in (1, 3)]
        wanted = pair_keys(quads[:, 0], gold_terms[0], gold_terms[1], length, width)
        keys = pair_keys(scored.aspect.row, scored.aspect, scored.opinion, length, width)
        right = (looked_up(keys, wanted) >= 0).float()
        learned = right.bool() | self._learned(scored, golden)
        pair_loss = sum(
            nn.functional.binary_cross_entropy_with_logits(logits, right, learned.float(), reduction="sum")
            for logits in (scored.logits, scored.first_logits)
        )
        which = looked_up(wanted, keys)
        kept = (which >= 0).nonzero().squeeze(1)
        category, sentiment = self.labels(
            scored, which[kept], units, whole, inputs["category_evidence"][kept], inputs["sentiment_evidence"][kept]
        )
        label_loss = nn.functional.cross_entropy(category, quads[kept, 5], reduction="sum")
        label_loss = label_loss + nn.functional.cross_entropy(sentiment, quads[kept, 6], reduction="sum")
        return span_loss, pair_loss / count, label_loss / count

    def _learned(self, scored: Scored, golden: Sequence[Tensor]) -> Tensor:
        """Whether each pair, if wrong, is of the kinds that are learned from. Shape (P,)."""
        negatives = self.config.negatives or []
        learned = torch.ones_like(scored.logits, dtype=torch.bool)
        if "implicit" not in negatives:
            learned &= scored.aspect.explicit & scored.opinion.explicit
        if "product" not in negatives:
            of_gold = [
                ~term.explicit | gold[term.row, term.start.clamp(min=0), (term.length - 1).clamp(min=0)]
                for term, gold in zip((scored.aspect, scored.opinion), golden, strict=True)
            ]
            learned &= ~(of_gold[0] & of_gold[1] & (scored.aspect.explicit | scored.opinion.explicit))
        return learned


class JointModel(PreTrainedModel):
    """One network or several whose scores are averaged.

    Args:
        config: Its configuration.

    Raises:
        UsageError: The configuration has no category.
    """

    config_class = JointConfig
    base_model_prefix = "joint"
    _supports_sdpa = True
    _supports_flash_attn = True

    def __init__(self, config: JointConfig) -> None:
        super().__init__(config)
        if not config.categories:
            raise UsageError("asqp.categories: found none, expected one at least")
        self.networks = nn.ModuleList([JointNetwork(config) for _ in range(config.members)])
        self.post_init()

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, JointNetwork | nn.Linear):
            module.reset_parameters()

    def forward(self, **inputs: Tensor) -> JointOutput:
        """The losses of training examples.

        Args:
            inputs: What :func:`asqp_models.joint.examples.collate` makes.
        """
        losses: Sequence[tuple[Tensor, Tensor, Tensor]] = [network.losses(inputs) for network in self.networks]
        span, pair, label = (torch.stack(each).mean() for each in zip(*losses, strict=True))
        return JointOutput(loss=span + pair + label, span_loss=span, pair_loss=pair, label_loss=label)


AutoConfig.register(JointConfig.model_type, JointConfig)
AutoModel.register(JointConfig, JointModel)
