"""Templates of the cards that the Hub shows."""
