"""Fairline: a fair waiting line for websites and counters."""

__version__ = "0.1.0"
