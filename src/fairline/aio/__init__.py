"""Helpers for asyncio that any layer may use: calls that go out together, and work that is done a little later."""
