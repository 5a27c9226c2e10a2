"""The calls of boards, once or as a live stream. A board is read once for everybody who looks at it."""

from __future__ import annotations

import time
from collections import OrderedDict
from hashlib import blake2b
from urllib.parse import unquote

from fairline.domain.estimate import Forecast
from fairline.domain.queue import QueueId
from fairline.domain.queue_settings import QueueSettings
from fairline.domain.ticket import Status
from fairline.errors import InvalidRequest
from fairline.service.board import Board, BoardEntry, Calls, read_board
from fairline.service.fairline import PAGE, Fairline
from fairline.service.join_calendar import refused_now
from fairline.service.recent_reads import RecentReads
from fairline.web.api.people import named_queue
from fairline.web.api.queue_states import FRESH_SECONDS
from fairline.web.api.wire import BoardAnswer, CalledAnswer, ServingAnswer, moment
from fairline.web.context import Context
from fairline.web.server.assets import Assets
from fairline.web.server.http import Request, Response, Sent, encode

#: The most queues on one screen.
MOST_QUEUES = 8
#: The most queues whose calls are remembered from one reading to the next; for others they are read again.
FOLLOWED = 200
#: The most pages of missed events that are read; after more, the last calls are read again instead.
MOST_PAGES = 10


class Follower:
    """Follows the events of one queue and keeps its board as it was last read."""

    def __init__(self, service: Fairline, queue: QueueId) -> None:
        self._service = service
        self._queue = queue
        self._calls = Calls()
        self._after: str | None = None
        self.read_at = 0.0
        """When the board was last read, by our own clock; 0 before that."""
        self.changed = False
        """Whether there were events since."""
        self.answer: BoardAnswer | None = None
        self.settings = QueueSettings()
        """The settings of the queue when its board was read."""
        self.encoded = b""
        """The answer as JSON."""

    async def read_events(self) -> bool:
        """Read the events since the last time; returns whether there were others than joins."""
        if self._after is None:
            self._after = await self._service.last_event(self._queue)
            self._calls = Calls(await self._service.calls(self._queue))
            return True
        relevant = False
        for _ in range(MOST_PAGES):
            events = await self._service.events(self._queue, self._after, PAGE)
            self.changed = self.changed or bool(events)
            relevant = self._calls.add(events) or relevant
            self._after = events[-1].id if events else self._after
            if len(events) < PAGE:
                return relevant
        self._after = None
        return await self.read_events()

    async def read_board(self) -> None:
        """Read the board: the current status of the tickets that were called."""
        self.changed = False
        board = await read_board(self._service, self._queue, self._calls)
        self.answer, self.settings = _answer(board), board.settings
        self.encoded = encode(self.answer)
        self.read_at = time.monotonic()


class Boards:
    """The API calls of boards."""

    def __init__(self, context: Context, assets: Assets) -> None:
        self._context = context
        self._boards = RecentReads(context.service, self._read_board, FRESH_SECONDS, FOLLOWED)
        self._followed: OrderedDict[QueueId, Follower] = OrderedDict()
        self.version = assets.version("board.js", "board.css")

    async def board(self, request: Request) -> Response:
        """The board of a queue."""
        follower = await self.fresh(named_queue(request.params["queue"]))
        return Response(200, follower.encoded, headers=((b"cache-control", b"public, max-age=1"),))

    async def stream(self, request: Request) -> Sent:
        """The boards of some queues, live: see board_streams."""
        queues = named_queues(request.params["queues"])
        board_streams = self._context.board_streams
        if board_streams is None:
            raise InvalidRequest("", "This server has no streams. Poll the board instead.")

        boards = [(queue, (await self.fresh(queue)).encoded) for queue in queues]
        return board_streams.open(self._context.proxies.counted_address(request), boards, self.version)

    async def fresh(self, queue: QueueId) -> Follower:
        """The board of a queue with its current settings, at most a second old; QueueNotFound if there is none."""
        return await self._boards.get(queue)

    async def _read_board(self, queue: QueueId) -> Follower:
        follower = self._followed.pop(queue, None) or Follower(self._context.service, queue)
        await follower.read_events()
        await follower.read_board()
        self._followed[queue] = follower
        while len(self._followed) > FOLLOWED:
            self._followed.popitem(last=False)
        return follower


def named_queues(text: str) -> list[QueueId]:
    """The queues in an address, separated by commas; each once, in their order."""
    names = list(dict.fromkeys(name for name in unquote(text).split(",") if name))
    if not 1 <= len(names) <= MOST_QUEUES:
        raise InvalidRequest(
            "queues", f"must be 1 to {MOST_QUEUES} queues separated by commas, such as 'a,b'; got {len(names)}"
        )
    return [named_queue(name) for name in names]


def _answer(board: Board) -> BoardAnswer:
    settings, snapshot = board.settings, board.snapshot
    wait = Forecast(settings, snapshot).wait(snapshot.waiting + 1)
    return BoardAnswer(
        queue=board.queue,
        name=settings.name or board.queue,
        status=settings.status,
        open=refused_now(board.queue, settings, snapshot) is None,
        queue_length=snapshot.waiting,
        estimated_wait_seconds=round(wait.seconds) if wait else None,
        estimated_wait_range=(int(wait.low), int(wait.high) + 1) if wait else None,
        serving=[_serving(shown) for shown in board.serving],
        called=[
            CalledAnswer(
                label=shown.label,
                desk=shown.desk or None,
                at=moment(shown.called.at),
                times_called=shown.called.times,
            )
            for shown in board.called
        ],
        appearance=_appearance(settings),
    )


def _appearance(settings: QueueSettings) -> str:
    """A digest of what the page of the board has from the settings."""
    shown = (settings.logo, settings.accent_colour, settings.background_colour, settings.has_join_form)
    return blake2b(repr(shown).encode(), digest_size=8).hexdigest()


def _serving(shown: BoardEntry) -> ServingAnswer:
    return ServingAnswer(
        label=shown.label,
        desk=shown.desk or None,
        since=moment(shown.called.at),
        status="called" if shown.status is Status.ADMITTED else "serving",
    )
