"""ASQP data: reading, checking, splitting, describing and publishing aspect sentiment quads."""

from asqp_datasets.errors import AsqpError, DataError, UsageError
from asqp_datasets.schema import NULL, SENTIMENTS, Quad, Sample

__all__ = ["NULL", "SENTIMENTS", "AsqpError", "DataError", "Quad", "Sample", "UsageError"]
