"""The pages for people: what someone who waits sees in a browser."""

from fairline.web.pages.waiting import WaitingPages

__all__ = ["WaitingPages"]
