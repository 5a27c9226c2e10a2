"""The pages for people: what someone who waits sees in a browser, and the screen at the counter."""

from fairline.web.pages.board import BoardPages
from fairline.web.pages.waiting import WaitingPages

__all__ = ["BoardPages", "WaitingPages"]
