"""From texts to quads: windows, scores, homes, character offsets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from asqp_datasets.schema import NULL, SENTIMENTS, Quad
from asqp_models.joint.examples import label_evidence, window_tensors
from asqp_models.joint.modeling import JointModel
from asqp_models.joint.reading import Reader, Text, Window
from asqp_models.methods import ScoredQuad
from asqp_models.windows import IMPLICIT, Span, home_of

_CHARACTERS = 60_000  # of texts that are read together
_UNITS = 4096  # of windows that are encoded together, padding included
_FLOOR = 0.05  # least score that counts in the mean of several networks


class Decoder:
    """Predicts the quads of texts.

    Args:
        model: The model, in whose configuration the threshold and the calibration are given.
        reader: Reads texts.
    """

    def __init__(self, model: JointModel, reader: Reader) -> None:
        self.model, self.reader = model, reader
        self._evidence = label_evidence(reader, model.config.categories)
        self._remembered: tuple[list[str], list[list[list[Window]]]] | None = None

    def __call__(self, texts: Sequence[str], threshold: float | None = None) -> list[list[ScoredQuad]]:
        """The quads of each text, by place, with true offsets; none twice.

        Args:
            texts: Of any length.
            threshold: Least score of a quad; default: the configuration's.
        """
        result: list[list[ScoredQuad]] = []
        for part in _parts(texts):
            result += self._of_windows(part, self._windows(part), threshold)
        return result

    def remembering(self, texts: Sequence[str], threshold: float | None = None) -> list[list[ScoredQuad]]:
        """The same; how the texts are read is kept for the next call with the same ones."""
        if self._remembered is None or self._remembered[0] != list(texts):
            self._remembered = list(texts), [self._windows(part) for part in _parts(texts)]
        result: list[list[ScoredQuad]] = []
        for part, windows in zip(_parts(texts), self._remembered[1], strict=True):
            result += self._of_windows(part, windows, threshold)
        return result

    def _windows(self, texts: Sequence[str]) -> list[list[Window]]:
        return self.reader.windows(texts, self.reader(texts))

    def _of_windows(
        self, texts: Sequence[str], windows: Sequence[Sequence[Window]], threshold: float | None
    ) -> list[list[ScoredQuad]]:
        config = self.model.config
        least = _uncalibrated(config.threshold if threshold is None else threshold, *config.calibration)
        found: list[dict[tuple[Span, Span, int, int], float]] = [{} for _ in texts]
        training = self.model.training
        self.model.eval()
        with torch.inference_mode():
            for places, batch in _batches(windows):
                for row, aspect, opinion, category, sentiment, score in self._scores(batch, least):
                    number, of_text = places[row], batch[row]
                    terms = _in_text(aspect, of_text.first), _in_text(opinion, of_text.first)
                    if len(windows[number]) > 1 and terms != (IMPLICIT, IMPLICIT):
                        home = home_of(windows[number], *terms)
                        if home is None or windows[number][home] is not of_text:
                            continue
                    key = (*terms, category, sentiment)
                    found[number][key] = max(score, found[number].get(key, 0.0))
        self.model.train(training)
        return [
            self._quads(text, parts[0].text, scores) if parts else []
            for text, parts, scores in zip(texts, windows, found, strict=True)
        ]

    def _scores(
        self, batch: Sequence[Window], least: float
    ) -> Iterator[tuple[int, tuple[int, int], tuple[int, int], int, int, float]]:
        """(window, aspect, opinion, category, sentiment, score) of each quad that reaches a score.

        An aspect is its first unit in the window and its length, -1 and 0 if implicit.
        """
        device = self.model.device
        inputs = {name: value.to(device) for name, value in window_tensors(batch, self.reader.pad_token_id).items()}
        members = len(self.model.networks)
        floor = least if members == 1 else _FLOOR  # whatever is asked for: a score is the same at every threshold
        keys, scores = [], []
        for network in self.model.networks:
            a, o, labels, score = network.score(inputs, self._evidence, floor)
            columns = [a.row, a.start, a.length, o.start, o.length, labels[:, 0], labels[:, 1]]
            keys.append(torch.stack(columns, 1).cpu().numpy())
            scores.append(score.double().cpu().numpy())
        if members > 1:
            distinct, which = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
            mean = np.bincount(which.reshape(-1), np.concatenate(scores), len(distinct)) / members
        else:
            distinct, mean = keys[0], scores[0]
        kept = mean >= least
        for (row, a0, a1, o0, o1, category, sentiment), score in zip(
            distinct[kept].tolist(), mean[kept].tolist(), strict=True
        ):
            yield row, (a0, a1), (o0, o1), category, sentiment, score

    def _quads(self, text: str, read: Text, scores: dict[tuple[Span, Span, int, int], float]) -> list[ScoredQuad]:
        """From the surest down: none whose aspect or opinion overlaps that of a surer one, but for allowed reuse."""
        config = self.model.config
        taken: tuple[dict[int, Span], dict[int, Span]] = ({}, {})  # by unit
        labelled: set[tuple[Span, Span, int]] = set()
        result: dict[Quad, float] = {}
        for (aspect, opinion, category, sentiment), score in sorted(
            scores.items(), key=lambda item: (-item[1], item[0])
        ):
            terms = (aspect, opinion)
            clash = any(
                unit in of_role and not (reuse and of_role[unit] == term)
                for term, of_role, reuse in zip(terms, taken, config.reuse, strict=True)
                for unit in range(*term)
            )
            if clash or (*terms, category) in labelled:
                continue
            labelled.add((*terms, category))
            for term, of_role in zip(terms, taken, strict=True):
                of_role |= dict.fromkeys(range(*term), term)
            places = [
                (-1, -1) if term == IMPLICIT else (int(read.start[term[0]]), int(read.end[term[1] - 1]))
                for term in terms
            ]
            strings = [NULL if start < 0 else text[start:end] for start, end in places]
            quad = Quad(
                config.categories[category], strings[0], strings[1], SENTIMENTS[sentiment], *places[0], *places[1]
            )
            result.setdefault(quad, _calibrated(score, *config.calibration))
        return [ScoredQuad(quad, result[quad]) for quad in sorted(result, key=lambda q: (q[4:], q))]


def _in_text(term: tuple[int, int], first: int) -> Span:
    return IMPLICIT if term[0] < 0 else (first + term[0], first + sum(term))


def _parts(texts: Sequence[str]) -> Iterator[Sequence[str]]:
    """Successive texts that are read together."""
    first = size = 0
    for i, text in enumerate(texts):
        if i > first and size + len(text) > _CHARACTERS:
            yield texts[first:i]
            first, size = i, 0
        size += len(text)
    if first < len(texts):
        yield texts[first:]


def _batches(windows: Sequence[Sequence[Window]]) -> Iterator[tuple[list[int], list[Window]]]:
    """Windows of about the same length, each with the number of its text."""
    flat = [(number, window) for number, parts in enumerate(windows) for window in parts]
    flat.sort(key=lambda item: len(item[1].input_ids))
    batch: list[tuple[int, Window]] = []
    for item in flat:
        if batch and len(item[1].input_ids) * (len(batch) + 1) > _UNITS:
            yield [number for number, _ in batch], [window for _, window in batch]
            batch = []
        batch.append(item)
    if batch:
        yield [number for number, _ in batch], [window for _, window in batch]


def _calibrated(score: float, slope: float, intercept: float) -> float:
    if (slope, intercept) == (1.0, 0.0):
        return score
    score = min(max(score, 1e-9), 1 - 1e-9)
    return float(1 / (1 + np.exp(-(slope * np.log(score / (1 - score)) + intercept))))


def _uncalibrated(score: float, slope: float, intercept: float) -> float:
    if score <= 0 or score >= 1 or (slope, intercept) == (1.0, 0.0):
        return score
    return float(1 / (1 + np.exp(-(np.log(score / (1 - score)) - intercept) / slope)))
