"""One reading of /metrics, and the names that tests ask it for."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

JOIN = "POST /api/v1/queues/{queue}/join"
HEARTBEAT = "POST /api/v1/heartbeat"
HEARTBEATS = "waiting_room_heartbeats_received_total"
LATENCY = "waiting_room_heartbeat_latency_seconds"
EXPIRED = "waiting_room_positions_expired_total"

Labels = frozenset[tuple[str, str]]


class Reading:
    """One reading of /metrics."""

    def __init__(self, text: str) -> None:
        families = list(text_string_to_metric_families(text))
        self.types = {family.name: family.type for family in families}
        assert len(families) == len(self.types), "a metric appears twice"
        self.samples: dict[tuple[str, Labels], float] = {}
        for family in families:
            for sample in family.samples:
                key = sample.name, frozenset(sample.labels.items())
                assert key not in self.samples, f"{key} appears twice"
                self.samples[key] = sample.value

    def of(self, name: str, **labels: str) -> float:
        return self.samples.get((name, frozenset(labels.items())), 0.0)

    def sum(self, name: str, **labels: str) -> float:
        """Over all samples with these labels among theirs."""
        return sum(
            value for (found, of), value in self.samples.items() if found == name and labels.items() <= dict(of).items()
        )

    def values(self, label: str) -> set[str]:
        """All values of a label."""
        return {value for _, labels in self.samples for name, value in labels if name == label}
