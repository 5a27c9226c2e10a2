"""How fast a line drains where staff call: how long desks take for a person, and which of them still call."""

from __future__ import annotations

import math

from fairline.domain.phase import Phase
from fairline.domain.queue import QueueSnapshot
from fairline.domain.queue_settings import QueueSettings

#: The time constant with which the store's measured rate of calls fades.
FADE_SECONDS = 600
#: With fewer calls, no wait is shown where staff call: a single call after ten minutes would turn a line into hours.
CALLS_NEEDED = 3
#: What the usual minutes a person are worth, in calls that were measured.
USUAL_WORTH = 5.0
#: The relative variance of service times before it was measured, and what that is worth in calls.
SERVICE_VARIANCE, VARIANCE_WORTH = 0.4, 5.0
#: A desk that has not called for this many mean services may have closed: the range holds both.
DOUBTFUL_SERVICES = 1.25
#: A desk counts as closed after this many mean services without a call, or the mean and this many deviations.
SILENT_SERVICES, SILENT_DEVIATIONS = 2.5, 3.5


def silent_after(snapshot: QueueSnapshot, mean: float) -> float:
    """The seconds without a call after which a desk counts as closed, although nobody closed it."""
    return max(SILENT_SERVICES * mean, mean + SILENT_DEVIATIONS * snapshot.cycle_spread)


def service_of(settings: QueueSettings, snapshot: QueueSnapshot) -> tuple[float, float, float]:
    """The mean time a desk takes for a person, how many calls that is worth, and its relative variance.

    The first services to end are the quick ones. So while only few were measured, those that still go on count too."""
    calls, measured = float(snapshot.cycles), snapshot.cycle_seconds
    usual = settings.usual_service_minutes * 60
    worth = USUAL_WORTH * max(0.0, 1 - calls / settings.wait_sample) if usual else 0.0
    if calls + worth <= 0:
        return 0.0, 0.0, SERVICE_VARIANCE
    first = max(0.0, 1 - calls / settings.wait_sample)
    longest = silent_after(snapshot, measured) if calls >= CALLS_NEEDED else usual or math.inf
    going_on = first * sum(min(silence, longest) for silence in snapshot.silences) if calls else 0.0
    spread = (snapshot.cycle_spread / measured) ** 2 if measured > 0 else 0.0
    variance = (calls * spread + VARIANCE_WORTH * SERVICE_VARIANCE) / (calls + VARIANCE_WORTH)
    # A service that goes on is about half done, unless services differ so much that its age says nothing.
    half_done = first * len(snapshot.silences) * max(0.0, 1 - variance) / 2 if calls else 0.0
    mean = (calls * measured + going_on + worth * usual) / (calls + half_done + worth)
    return mean, calls + worth, variance


def call_phases(settings: QueueSettings, snapshot: QueueSnapshot) -> list[Phase]:
    """Where staff call: the open desks continue to call, each as fast as desks did recently."""
    if snapshot.desks_open:
        mean, seen, variance = service_of(settings, snapshot)
        if seen < CALLS_NEEDED or mean <= 0:
            return []
        calling = _calling(snapshot, mean)
        return [Phase(math.inf, calling / mean, seen, variance, calling)]
    seen = snapshot.calls_seen
    # What was told once is not withdrawn because nobody calls any more: both sides fade alike.
    span = seen / snapshot.call_rate if snapshot.call_rate > 0 else 0.0
    if seen <= 0 or seen < 0.999 * CALLS_NEEDED * (1 - min(1.0, span / FADE_SECONDS)):
        return []
    return [Phase(math.inf, snapshot.call_rate, max(0.5, _calls_worth(seen, span)))]


def doubtful_phases(
    settings: QueueSettings, snapshot: QueueSnapshot, phases: list[Phase]
) -> tuple[list[Phase], list[Phase]]:
    """The phases if one of the desks in doubt has closed, and if it still calls. That all have closed at once is
    unlikely: the others count by their chance."""
    mean, _, _ = service_of(settings, snapshot)
    doubtful = [chance for chance in _chances(snapshot, mean) if 0 < chance < 1]
    if not doubtful:
        return phases, phases
    (phase,) = phases
    fewest, most = max(1.0, phase.places - max(doubtful)), phase.places + 1 - min(doubtful)
    return [phase._replace(drain=fewest / mean, places=fewest)], [phase._replace(drain=most / mean, places=most)]


def desks_calling(snapshot: QueueSnapshot, mean: float) -> int:
    """How many of the open desks are not silent; one at least."""
    if not snapshot.silences:
        return snapshot.desks_open
    longest = silent_after(snapshot, mean)
    return max(1, sum(silence <= longest for silence in snapshot.silences))


def _calling(snapshot: QueueSnapshot, mean: float) -> float:
    """How many of the open desks still call, most likely."""
    return max(1.0, sum(_chances(snapshot, mean))) if snapshot.silences else float(snapshot.desks_open)


def _chances(snapshot: QueueSnapshot, mean: float) -> list[float]:
    """The chance of each open desk that it still calls: the longer it is silent, the likelier it has closed."""
    late, gone = DOUBTFUL_SERVICES * mean, 2 * silent_after(snapshot, mean) - DOUBTFUL_SERVICES * mean
    return [min(1.0, max(0.0, (gone - silence) / (gone - late))) for silence in snapshot.silences]


def _calls_worth(seen: float, span: float) -> float:
    """How many observations the measured rate of calls is worth. At first, that is the number of calls. Later, it is
    twice the faded number, because older calls fade but still count."""
    return 2 * seen / (2 - min(1.0, span / FADE_SECONDS))
