"""Helpers for asyncio that any layer may use: grouped calls and debounced work."""
