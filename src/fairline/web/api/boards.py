"""What the boards of queues show, read once for all who look, and the calls that tell it: once, or live."""

from __future__ import annotations

import time
from collections import OrderedDict
from urllib.parse import unquote

from fairline.domain.estimate import Forecast
from fairline.domain.queue import QueueId
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
from fairline.web.server.http import Outcome, Pending, Request, Response, Running, Sent, encode

#: So many queues fit on one screen.
MOST_QUEUES = 8
#: So many queues are followed from look to look; of the others the last calls are read anew.
FOLLOWED = 200
#: Whoever has missed more events than these pages hold reads the last calls anew.
MOST_PAGES = 10


class Follower:
    """One queue, as its board showed it at the last look."""

    def __init__(self, service: Fairline, queue: QueueId) -> None:
        self._service = service
        self._queue = queue
        self._calls = Calls()
        self._after: str | None = None
        self.read_at = 0.0
        """When it was last read, by our own clock; 0 before that."""
        self.stirred = False
        """Whether anything happened since."""
        self.answer: BoardAnswer | None = None
        self.encoded = b""
        """The answer as JSON."""

    async def hear(self) -> bool:
        """Read what happened since the last time; says whether it was more than people joining."""
        if self._after is None:
            self._after = await self._service.last_event(self._queue)
            self._calls = Calls(await self._service.calls(self._queue))
            return True
        more = False
        for _ in range(MOST_PAGES):
            events = await self._service.events(self._queue, self._after, PAGE)
            self.stirred = self.stirred or bool(events)
            more = self._calls.add(events) or more
            self._after = events[-1].id if events else self._after
            if len(events) < PAGE:
                return more
        self._after = None
        return await self.hear()

    async def look(self) -> None:
        """Read how those called stand now."""
        self.stirred = False
        self.answer = _told(await read_board(self._service, self._queue, self._calls))
        self.encoded = encode(self.answer)
        self.read_at = time.monotonic()


class Boards:
    """The calls of boards."""

    def __init__(self, context: Context, assets: Assets) -> None:
        self._context = context
        self._boards = RecentReads(context.service, self._look, FRESH_SECONDS, FOLLOWED)
        self._followed: OrderedDict[QueueId, Follower] = OrderedDict()
        self.version = assets.version("board.js", "board.css")

    async def board(self, request: Request) -> Response:
        """What the board of a queue shows."""
        follower = await self.fresh(named_queue(request.params["queue"]))
        return Response(200, follower.encoded, headers=((b"cache-control", b"public, max-age=1"),))

    def stream(self, request: Request) -> Outcome:
        """The boards of some queues, live: see screens."""
        queues = named_queues(request.params["queues"])
        board_streams = self._context.board_streams
        if board_streams is None:
            raise InvalidRequest("", "This server has no streams. Ask for the board again and again.")

        async def opened() -> Sent:
            told = [(queue, (await self.fresh(queue)).encoded) for queue in queues]
            return board_streams.open(self._context.counted_address(request), told, self.version)

        return Pending(Running(opened()), lambda sent: sent)

    async def fresh(self, queue: QueueId) -> Follower:
        """The board of a queue as it is set now, at most a second old; QueueNotFound where there is none."""
        return await self._boards.get(queue)

    async def _look(self, queue: QueueId) -> Follower:
        follower = self._followed.pop(queue, None) or Follower(self._context.service, queue)
        await follower.hear()
        await follower.look()
        self._followed[queue] = follower
        while len(self._followed) > FOLLOWED:
            self._followed.popitem(last=False)
        return follower


def named_queues(text: str) -> list[QueueId]:
    """The queues an address names, with commas between them; each once, in their order."""
    names = list(dict.fromkeys(name for name in unquote(text).split(",") if name))
    if not 1 <= len(names) <= MOST_QUEUES:
        raise InvalidRequest(
            "queues", f"must be 1 to {MOST_QUEUES} queues with commas between them, such as 'a,b'; got {len(names)}"
        )
    return [named_queue(name) for name in names]


def _told(board: Board) -> BoardAnswer:
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
    )


def _serving(shown: BoardEntry) -> ServingAnswer:
    return ServingAnswer(
        label=shown.label,
        desk=shown.desk or None,
        since=moment(shown.called.at),
        status="called" if shown.status is Status.ADMITTED else "serving",
    )
