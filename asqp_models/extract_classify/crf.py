"""A linear-chain conditional random field (Lafferty et al., 2001) over batches of sequences of unequal length."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class LinearChainCRF(nn.Module):
    """Scores of tag sequences: emissions, transitions, and what begins and ends a sequence.

    Masks are prefixes: in each row ones, at least one, then zeros.

    Args:
        num_tags: Number of tags, K.
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(num_tags, num_tags))
        """Score of a tag (row) being followed by another (column). Shape (K, K)."""
        self.start = nn.Parameter(torch.empty(num_tags))
        self.end = nn.Parameter(torch.empty(num_tags))
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.1, 0.1)

    def nll(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        """Negative log-likelihood of tag sequences.

        Args:
            emissions: Score of each tag at each place. Shape (B, L, K).
            tags: The sequences. Shape (B, L); what stands behind the mask is not looked at.
            mask: Which places are part of the sequence. Shape (B, L).

        Returns:
            In nats, of whole sequences. Shape (B,).
        """
        return self._log_partition(emissions, mask) - self._score(emissions, tags, mask)

    def _score(self, emissions: Tensor, tags: Tensor, mask: Tensor) -> Tensor:
        tags = tags * mask
        at_place = emissions.gather(2, tags[:, :, None]).squeeze(2) * mask
        between = self.transitions[tags[:, :-1], tags[:, 1:]] * mask[:, 1:]
        last = tags.gather(1, mask.long().sum(1, keepdim=True) - 1).squeeze(1)
        return self.start[tags[:, 0]] + at_place.sum(1) + between.sum(1) + self.end[last]

    def _log_partition(self, emissions: Tensor, mask: Tensor) -> Tensor:
        inside = mask.bool()
        alpha = self.start + emissions[:, 0]
        for i in range(1, emissions.size(1)):
            following = torch.logsumexp(alpha[:, :, None] + self.transitions, 1) + emissions[:, i]
            alpha = torch.where(inside[:, i, None], following, alpha)
        return torch.logsumexp(alpha + self.end, 1)

    @torch.no_grad()
    def viterbi(self, emissions: Tensor, mask: Tensor) -> Tensor:
        """The tag sequences with the highest scores.

        Args:
            emissions: Shape (B, L, K).
            mask: Shape (B, L).

        Returns:
            Shape (B, L), zeros behind the mask.
        """
        batch, length, num_tags = emissions.shape
        inside = mask.bool()
        stay = torch.arange(num_tags, device=emissions.device).expand(batch, num_tags)
        best = self.start + emissions[:, 0]
        pointers = []
        for i in range(1, length):
            value, pointer = (best[:, :, None] + self.transitions).max(1)
            best = torch.where(inside[:, i, None], value + emissions[:, i], best)
            pointers.append(torch.where(inside[:, i, None], pointer, stay))
        tag = (best + self.end).argmax(1)
        path = [tag]
        for pointer in reversed(pointers):
            tag = pointer.gather(1, tag[:, None]).squeeze(1)
            path.append(tag)
        return torch.stack(path[::-1], 1) * inside
