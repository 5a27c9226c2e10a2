"""The settings of the server: from defaults, then a file, then FAIRLINE_* variables, then flags; the later wins."""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from enum import StrEnum
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct, field

from fairline.domain.address import base_address, origin
from fairline.domain.drand import INSTALL, PUBLIC_KEY_SIZE, can_check_signatures, is_public_key
from fairline.domain.mail import check_sender, relay_of
from fairline.domain.spelling import did_you_mean
from fairline.domain.ticket import TOKEN_SECONDS
from fairline.errors import InvalidSettings

_DURATION = re.compile(r"(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)")
_UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86_400}
#: Read from the working directory if no file is given.
DEFAULT_FILE = Path("fairline.toml")


class ServerRole(StrEnum):
    """What a process does: everything, only HTTP, or only the work of the keeper."""

    ALL = "all"
    WEB = "web"
    KEEPER = "keeper"


class LogFormat(StrEnum):
    """The format of logs: `auto` is text on a terminal and JSON elsewhere."""

    AUTO = "auto"
    JSON = "json"
    TEXT = "text"


class PrivateAddresses(StrEnum):
    """Whether webhooks may be sent to private addresses: loopback, private networks and similar."""

    REFUSE = "refuse"
    ALLOW = "allow"


class BeaconKind(StrEnum):
    """Where draws get public randomness from: nowhere, so that the server's secret decides alone, or from drand."""

    OFF = "off"
    DRAND = "drand"


def default_data() -> Path:
    """The default data folder, in the user's data directory."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "fairline"


class ServerSettings(Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """All settings of `fairline serve`."""

    host: str = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535)] = 8080
    store: str = "embedded"
    data: Path = field(default_factory=default_data)
    workers: Annotated[int, Meta(ge=1, le=256)] = field(default_factory=lambda: os.cpu_count() or 1)
    role: ServerRole = ServerRole.ALL
    admin_key: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    secret: Annotated[str, Meta(min_length=1, max_length=1000)] | None = None
    trusted_proxies: list[str] = []
    cors_origins: list[str] = []
    public_url: str = ""
    tick_seconds: Annotated[float, Meta(ge=0.1, le=60)] = 1.0
    sweep_seconds: Annotated[float, Meta(ge=0.1, le=300)] = 5.0
    token_seconds: Annotated[float, Meta(ge=60, le=2_592_000)] = TOKEN_SECONDS
    streams_per_address: Annotated[int, Meta(ge=0, le=1_000_000)] = 2000
    wrong_keys_per_minute: Annotated[int, Meta(ge=0, le=1_000_000)] = 100
    log_format: LogFormat = LogFormat.AUTO
    webhook_private_addresses: PrivateAddresses = PrivateAddresses.REFUSE
    smtp_url: str = ""
    mail_from: str = ""
    beacon: BeaconKind = BeaconKind.OFF
    beacon_urls: list[str] = []
    beacon_chain: str = ""
    beacon_public_key: str = ""
    beacon_genesis: Annotated[int, Meta(ge=0, le=4_000_000_000)] = 0
    beacon_period_seconds: Annotated[int, Meta(ge=1, le=60)] = 3


NAMES = ServerSettings.__struct_fields__
#: A secret with fewer characters could be guessed.
MIN_SECRET_LENGTH = 16
SECRETS = ("secret", "admin_key")
_PREFIX = "FAIRLINE_"
#: Variables with this prefix that are not server settings: the command line reads FAIRLINE_URL.
_OTHER_VARIABLES = ("URL",)
_DURATIONS = {name for name in NAMES if name.endswith("_seconds")}
_LISTS = {"trusted_proxies", "cors_origins", "beacon_urls"}
#: The most addresses of a beacon: each is asked in turn, and all of them within seconds.
MOST_BEACON_URLS = 10
_HEX = re.compile(r"([0-9a-f]{2})+")


def load(
    *,
    file: Path | None = None,
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    serving: bool = False,
) -> ServerSettings:
    """Return the settings from all sources, or raise InvalidSettings with the setting and its source. For a server that
    is about to start (`serving`), secrets that could be guessed are refused too."""
    environ = os.environ if environ is None else environ
    if file is None and DEFAULT_FILE.is_file():
        file = DEFAULT_FILE
    found: dict[str, tuple[Any, str]] = {}
    if file is not None:
        found |= {name: (value, str(file)) for name, value in _read(file).items()}
    for name in NAMES:
        if environ.get(_variable(name)):
            found[name] = (environ[_variable(name)], _variable(name))
    found |= {
        name: (value, f"--{name.replace('_', '-')}") for name, value in (flags or {}).items() if value is not None
    }
    try:
        plain = {name: _plain(name, value) for name, (value, _) in found.items()}
        settings = msgspec.convert(plain, ServerSettings, strict=False, dec_hook=lambda _, path: Path(path))
    except msgspec.ValidationError as error:
        name = str(error).partition(" - at `$.")[2].rstrip("`").partition("[")[0]
        value, source = found[name]
        got = "got something else" if name in SECRETS else f"got {value!r:.80}"  # never show a secret
        raise InvalidSettings(name, f"must be {_allowed(name)}; {got} from {source}") from None
    for name in SECRETS if serving else ():
        if name in found:
            _check_secret(name, *found[name])
    _check_mail(settings)
    _check_beacon_settings(settings)
    if serving:
        check_beacon(settings)
    for network in settings.trusted_proxies:
        try:
            ip_network(network, strict=False)
        except ValueError:
            raise InvalidSettings(
                "trusted_proxies", f"must be addresses or networks such as 10.0.0.0/8; got {network!r:.80}"
            ) from None
    return msgspec.structs.replace(
        settings,
        public_url=settings.public_url and _public_url(settings.public_url),
        cors_origins=[_origin(text) for text in settings.cors_origins],
        beacon_urls=[_beacon_url(text) for text in settings.beacon_urls],
    )


def unknown_variables(environ: Mapping[str, str] | None = None) -> list[str]:
    """A warning for each FAIRLINE_* variable that nothing reads, because it may be mistyped."""
    known = [*map(str.upper, NAMES), *_OTHER_VARIABLES]
    given = sorted(os.environ if environ is None else environ)
    unknown = [name for each in given if (name := each.removeprefix(_PREFIX)) != each and name not in known]
    hints = (did_you_mean(name, known, prefix=_PREFIX) for name in unknown)
    return [
        f"{_PREFIX}{name} is not a setting and is ignored.{hint}" for name, hint in zip(unknown, hints, strict=True)
    ]


def _variable(name: str) -> str:
    return f"{_PREFIX}{name.upper()}"


def _allowed(name: str) -> str:
    """What a setting allows, as text."""
    from msgspec import inspect  # imported late: only needed after a mistake

    (kind,) = (each.type for each in msgspec.structs.fields(ServerSettings) if each.name == name)
    match inspect.type_info(kind):
        case inspect.IntType(ge=least, le=most):
            return f"a whole number from {least:,} to {most:,}"
        case inspect.FloatType(ge=least, le=most):
            return f"from {least:,g} to {most:,.0f} seconds, or text such as 10s or 5m"
        case inspect.EnumType(cls=kinds):
            return f"one of {', '.join(each.value for each in kinds)}"
        case inspect.ListType():
            return "a list of texts, or one text with commas"
        case inspect.UnionType(types=(inspect.StrType(max_length=most), *_)):
            return f"text of 1 to {most:,} characters"
    return "text"


def _check_secret(name: str, value: str, source: str) -> None:
    length = len(value.strip())
    if length < MIN_SECRET_LENGTH:
        problem = f"has {length} characters in {source}; it needs at least {MIN_SECRET_LENGTH}, or it can be guessed"
        raise InvalidSettings(name, f"{problem}. Create a good one: openssl rand -hex 32")


def _public_url(text: str) -> str:
    found = base_address(text)
    if found is None:
        problem = "must be the address at which people reach this server, such as https://wait.example"
        raise InvalidSettings("public_url", f"{problem}; got {text!r:.80}")
    return found


def _origin(text: str) -> str:
    found = "*" if text == "*" else origin(text)
    if found is None:
        problem = "must be origins such as https://shop.example, without a path, or * for any"
        raise InvalidSettings("cors_origins", f"{problem}; got {text!r:.80}")
    return found


def _check_mail(settings: ServerSettings) -> None:
    if settings.smtp_url:
        relay_of(settings.smtp_url)
        if not settings.mail_from:
            raise InvalidSettings("mail_from", "is required with smtp_url: the sender address of mail")
    if settings.mail_from:
        check_sender(settings.mail_from)


def _check_beacon_settings(settings: ServerSettings) -> None:
    own = {name: getattr(settings, name) for name in ("beacon_chain", "beacon_public_key", "beacon_genesis")}
    if any(own.values()):
        for name, value in {**own, "beacon_urls": settings.beacon_urls}.items():
            if not value:
                given = next(other for other in own if own[other])
                raise InvalidSettings(name, f"is required with {given}, which describes a drand network of your own")
        for name, size in (("beacon_chain", 32), ("beacon_public_key", PUBLIC_KEY_SIZE)):
            if len(own[name]) != 2 * size or not _HEX.fullmatch(own[name]):
                raise InvalidSettings(name, f"must be {size} bytes in lower-case hex; got {own[name]!r:.80}")
    if len(settings.beacon_urls) > MOST_BEACON_URLS:
        raise InvalidSettings("beacon_urls", f"must be at most {MOST_BEACON_URLS}; got {len(settings.beacon_urls)}")


def check_beacon(settings: ServerSettings) -> None:
    """Refuse a beacon whose signatures cannot be checked on this machine, as a server that is about to start does."""
    if settings.beacon is BeaconKind.OFF:
        return
    if not can_check_signatures():
        problem = f"drand needs the extra that checks its signatures. Install it: {INSTALL}, or set beacon to off"
        raise InvalidSettings("beacon", problem)
    if settings.beacon_public_key and not is_public_key(settings.beacon_public_key):
        raise InvalidSettings("beacon_public_key", "is not a public key of bls-unchained-g1-rfc9380: copy it again")


def _beacon_url(text: str) -> str:
    found = base_address(text)
    if found is None:
        problem = "must be addresses of drand, such as https://api.drand.sh"
        raise InvalidSettings("beacon_urls", f"{problem}; got {text!r:.80}")
    return found


def duration(text: str) -> float | None:
    """The seconds of a duration such as `10s` or `1.5h`; None if the text is not a duration."""
    found = _DURATION.fullmatch(text.strip())
    return float(found.group(1)) * _UNITS[found.group(2)] if found else None


def _read(file: Path) -> dict[str, Any]:
    import yaml  # imported late: it loads slowly, and most servers have no file

    try:
        text = file.read_text(encoding="utf-8")
        content = yaml.safe_load(text) if file.suffix in {".yaml", ".yml"} else tomllib.loads(text)
    except OSError as error:
        raise InvalidSettings("config", f"cannot read {file}: {error.strerror or error}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, yaml.YAMLError) as error:
        raise InvalidSettings("config", f"{file} is not valid TOML or YAML: {error}") from None
    if not isinstance(content, dict):
        raise InvalidSettings("config", f"{file} must hold names and values")
    for name in map(str, content):
        if name not in NAMES:
            hint = did_you_mean(name, NAMES) or f" Settings are: {', '.join(NAMES)}."
            raise InvalidSettings(name[:80], f"is not a server setting, in {file}.{hint}")
    return content


def _plain(name: str, value: Any) -> Any:
    """Read the text forms of values: durations such as `10s`, and lists such as `a, b`."""
    if name in _DURATIONS and isinstance(value, str):
        seconds = duration(value)
        return value if seconds is None else seconds
    if name in _LISTS and isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return str(value) if isinstance(value, Path) else value
