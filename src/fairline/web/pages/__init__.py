"""The pages for people: what someone who waits sees in a browser, on the wall and at the door."""

from fairline.web.pages.arrival import ArrivalPages
from fairline.web.pages.board import BoardPages
from fairline.web.pages.door import Door
from fairline.web.pages.drawing import Drawing
from fairline.web.pages.home import HomePage
from fairline.web.pages.joining import JoinPages
from fairline.web.pages.kiosk import KioskPages
from fairline.web.pages.operations import page_operations
from fairline.web.pages.waiting import WaitingPages

__all__ = [
    "ArrivalPages",
    "BoardPages",
    "Door",
    "Drawing",
    "HomePage",
    "JoinPages",
    "KioskPages",
    "WaitingPages",
    "page_operations",
]
