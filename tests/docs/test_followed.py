"""Every command in the README, the tutorial and the how-tos does what the page says: typed in order, as written."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from fairline.domain.calendar import WEEKDAYS
from fairline.domain.settings_checks import checked
from fairline.store.postgres.client import connect
from fairline.store.postgres.embedded import EmbeddedPostgres
from fairline.store.valkey.embedded import find_server
from tests.backends import HOST, Node
from tests.docs.conftest import NewReader
from tests.docs.pages import ROOT, TYPED, Block, blocks_of, followed
from tests.receiver import Receiver
from tests.web.running import RunningServer

pytestmark = pytest.mark.timeout(300)  # a page has twenty commands, and each starts a Python

HOW_TO = "docs/how-to/"
INSTALL, BACK_UP = f"{HOW_TO}install.md", f"{HOW_TO}back-up.md"
#: These say how the server is started; the others need one that runs.
NGINX = f"{HOW_TO}protect-a-site-with-nginx.md"
STARTING = ["README.md", NGINX, f"{HOW_TO}use-the-client-on-your-site.md"]
TUTORIAL = "docs/tutorial/first-line.md"
#: These also need a store of one's own.
POSTGRES, VALKEY = f"{HOW_TO}postgresql.md", f"{HOW_TO}run-on-your-valkey.md"
#: What this one shows depends on the day of the week.
HOURS = f"{HOW_TO}walk-in-line.md"
#: These change the machine or the cluster that a server is installed on. What of them can be typed without that, is,
#: below.
OF_THE_MACHINE = {
    f"{HOW_TO}{name}.md"
    for name in (
        "install",
        "run-in-a-container",
        "run-under-systemd",
        "run-on-kubernetes",
        "serve-over-https",
        "back-up",
    )
}
#: What is typed is indented: a fence in one of these languages would not be.
SHELLS = ("sh", "bash", "shell", "console")
NEEDING = [page for page in followed() if page not in {*STARTING, TUTORIAL, POSTGRES, VALKEY, HOURS, *OF_THE_MACHINE}]


@pytest.mark.parametrize("page", STARTING)
def test_pages_that_start_a_server(page: str, new_reader: NewReader) -> None:
    new_reader().follow(blocks_of(page))


def test_the_tutorial_and_nobody_in_it_expires_while_it_is_read(new_reader: NewReader) -> None:
    reader, looked_at = new_reader(), []

    def look(block: Block) -> None:
        for ticket in reader.tickets("sale"):
            looked_at.append(ticket["ticket"])
            left = ticket["deadline"] and datetime.fromisoformat(ticket["deadline"]) - datetime.now(UTC)
            assert left is None or left > timedelta(minutes=15), f"{block}: {left} are left for {ticket}"

    reader.follow(blocks_of(TUTORIAL), then=look)
    assert set(looked_at) == {1, 2, 3, 4, 5}


@pytest.mark.parametrize("page", NEEDING)
def test_pages_that_need_a_server(page: str, new_reader: NewReader, server: RunningServer, receiver: Receiver) -> None:
    hooks = dict.fromkeys(("https://shop.example/fairline", "https://crm.example/hook"), receiver.url)
    new_reader(server, **hooks).follow(blocks_of(page))


def test_the_page_on_postgresql(new_reader: NewReader, tmp_path: Path) -> None:
    blocks = blocks_of(POSTGRES)
    database = EmbeddedPostgres(tmp_path / "postgres", options={"fsync": "off"})
    try:
        owner = database.start()
        made, settings = (block.text.replace("…", "secret") for block in blocks if block.language == "sql")
        asyncio.run(_execute(owner, made))
        here = {"@db.internal/fairline": f"@/fairline?{owner.partition('?')[2]}", ":…@": ":secret@"}
        new_reader(**here).follow(blocks)
        asyncio.run(_execute(owner, settings))
    finally:
        database.stop()


async def _execute(owner: str, statements: str) -> None:
    async with await connect(owner) as connection:
        for statement in statements.strip().split("\n"):
            await connection.execute(statement.encode())


def test_the_page_on_a_valkey_of_ones_own(new_reader: NewReader, tmp_path: Path) -> None:
    blocks = blocks_of(VALKEY)
    (settings,) = (block.text for block in blocks if block.language == "conf")
    with ExitStack() as ending:
        node = Node(tmp_path / "valkey", find_server(), ending=ending)
        for line in settings.splitlines():
            node.ask("CONFIG", "SET", *line.split())
        new_reader(**{"valkey.internal:6379": f"{HOST}:{node.port}"}).follow(blocks)


def test_a_page_with_opening_hours_holds_on_any_day(new_reader: NewReader, server: RunningServer) -> None:
    """With hours by which it is closed all day, wherever on earth the queue is; and, from where there are hours, with
    such by which it is open."""
    blocks = blocks_of(HOURS)
    (hours,) = re.findall(r"opening_hours=({\".*})'", "".join(map(_typed, blocks)))
    checked({"opening_hours": json.loads(hours)})
    far = WEEKDAYS[(datetime.now(UTC).weekday() + 3) % 7]
    new_reader(server, **{hours: json.dumps({far: ["09:00-10:00"]})}).follow(blocks)
    since = next(i for i, block in enumerate(blocks) if hours in _typed(block))
    always = {day: ["00:00-24:00"] for day in WEEKDAYS}
    new_reader(server, **{hours: json.dumps(always)}).follow(blocks[since:])


@pytest.mark.long  # tests/package installs the wheel and serves each time
@pytest.mark.timeout(600)  # forty packages come from a registry
def test_who_installs_it_for_themselves_has_a_server(new_reader: NewReader, tmp_path: Path) -> None:
    new_reader().follow(_shell_blocks(INSTALL, "~/fairline/bin/fairline serve"))
    assert (tmp_path / "fairline/bin/fairline").is_file()
    assert (tmp_path / ".local/share/fairline/admin-key").is_file()


def test_a_backup_taken_while_the_server_runs_is_restored_into_an_empty_folder(
    new_reader: NewReader, server: RunningServer, tmp_path: Path
) -> None:
    backups, restored = tmp_path / "backups", tmp_path / "restored"
    backups.mkdir()
    here = {"sudo -u fairline ": "", "/var/backups": str(backups)}
    (taken,) = _shell_blocks(BACK_UP, "fairline backup /var/backups/fairline --data")
    typed = [taken, _printed(taken, "Wrote 2 queues to …\n…\n- the secret that signs tokens")]
    new_reader(server, **here, **{"/var/lib/fairline": str(server.data)}).follow(typed)
    (block,) = _shell_blocks(BACK_UP, "fairline restore /var/backups/fairline --data")
    (line,) = (each for each in block.text.splitlines() if "fairline restore" in each)
    typed = [
        replace(block, text=f"{line}\n"),
        _printed(block, "Restored, as it was at …\n…\ndemo …\n…\nPut the file secret into …"),
    ]
    new_reader(**here, **{"/var/lib/fairline": str(restored)}).follow(typed)
    assert (restored / "secret").read_bytes() == (server.data / "secret").read_bytes()


def _shell_blocks(page: str, containing: str) -> list[Block]:
    """The fences of a page with something in them, as if they were indented: typed."""
    found = [block for block in blocks_of(page) if block.language == "sh" and containing in block.text]
    assert found, f"{page} does not say {containing!r} any more"
    return [replace(block, language=TYPED) for block in found]


def _printed(block: Block, text: str) -> Block:
    return replace(block, language="text", text=text)


def test_no_other_page_depends_on_the_day() -> None:
    days = re.compile("opening_hours=|closed_dates=")
    assert [page for page in followed() if days.search("".join(map(_typed, blocks_of(page))))] == [HOURS]


def _typed(block: Block) -> str:
    return block.text if block.language == TYPED else ""


def test_a_block_that_is_not_run_says_why() -> None:
    unrun = {
        str(block): block.reason_not_to_run or ""
        for page in followed()
        if page not in OF_THE_MACHINE
        for block in blocks_of(page)
        if block.language == TYPED and block.reason_not_to_run is not None
    }
    assert {block for block, why in unrun.items() if len(why) < 10} == set()
    assert len(unrun) <= 8, unrun


def test_whatever_is_typed_is_indented_as_that_is_what_is_run() -> None:
    pages = [page for page in followed() if page not in OF_THE_MACHINE]
    assert [str(block) for page in pages for block in blocks_of(page) if block.language in SHELLS] == []


def test_the_five_lines_of_the_readme_are_those_of_the_how_to() -> None:
    (short,) = (block.text for block in blocks_of("README.md") if block.language == "nginx")
    (whole,) = (block.text for block in blocks_of(NGINX) if block.language == "nginx")
    lines = [line.strip() for line in whole.splitlines()]
    wanted = [line.strip() for line in short.splitlines()]
    assert len(wanted) == 5
    for line in wanted:
        assert line in lines, f"{line!r} is not in what is left of the how-to's file"
        lines = lines[lines.index(line) + 1 :]


def test_the_numbers_of_the_readme_were_measured() -> None:
    readme, benchmarks = ((ROOT / page).read_text("utf-8") for page in ("README.md", "docs/reference/benchmarks.md"))
    figures = re.findall(r"^\| [^|]+ \| ([\d,.]+(?: \w+)?) \|$", readme.partition("| [measured]")[2], re.MULTILINE)
    assert len(figures) == 3
    assert [figure for figure in figures if figure not in benchmarks] == []


#: What is wrong with a page, and what is said of it.
WRONG = {
    "    ls no-such-file\n": "ends with 2",
    "    curl -X POST http://127.0.0.1:8080/api/v1/queues/nowhere/join; echo\n": "in trouble",
    "    python -c 1/0 | cat\n": "in trouble",
    "    echo one\n\n```text\ntwo\n```\n": "what is printed is\none",
    "<!-- refused -->\n\n    curl http://127.0.0.1:8080/healthz\n": "is not refused",
    "    TOKEN=…\n": "nothing was printed that TOKEN could be",
    "    echo …\n": "what goes in place of …",
    "    fairline top\n\nThen:\n\n    echo\n": "no terminal is free",
    "<!-- in another terminal -->\n\n    echo\n": "does not say that another terminal is needed",
    "<!-- quickly -->\n\n    echo\n": "means nothing",
}


def test_a_page_that_does_not_hold_is_found_out(new_reader: NewReader, server: RunningServer) -> None:
    new_reader(server).follow(blocks_of("right", "# Page\n\n    echo one\n\n```text\no…\n```\n"))
    for page, said in WRONG.items():
        with pytest.raises(AssertionError, match=re.escape(said)):
            new_reader(server).follow(blocks_of("wrong", f"# Page\n\n{page}"))
