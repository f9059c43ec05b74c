"""ASQP models."""
