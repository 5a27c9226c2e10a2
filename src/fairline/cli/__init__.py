"""The command line."""

from __future__ import annotations

from fairline.cli.app import main

__all__ = ["main"]
