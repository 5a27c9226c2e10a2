"""Serves the shop: `python -m examples.shop.serve --port 8090`."""

from __future__ import annotations

import argparse

import uvicorn

from examples.shop.shop import Shop


def main() -> None:
    """Serve until told to end."""
    options = argparse.ArgumentParser(description="A small shop to put Fairline in front of.")
    options.add_argument("--host", default="127.0.0.1")
    options.add_argument("--port", type=int, default=8090)
    options.add_argument("--fairline", default="http://127.0.0.1:8080", help="the Fairline server")
    options.add_argument("--stock", type=int, default=50, help="how many lamps there are")
    given = options.parse_args()
    uvicorn.run(Shop(given.fairline, given.stock).app, host=given.host, port=given.port, log_level="warning")


if __name__ == "__main__":
    main()
