"""The floor baseline: what a dictionary of the training set can do, without a neural network.

Aspect and opinion terms of the training set are found in the text, weighed by how often they are annotated
where they occur, in which neighbourhood and at which distance from each other, and given the category and
the sentiment that the pair, or else its parts, had most often. It shows what a score on a corpus is worth.
"""

from asqp_models.lexicon.model import LexiconModel

__all__ = ["LexiconModel"]
