"""The Hub: what is published there, with one plan and one commit a repository, and what is taken from there."""
