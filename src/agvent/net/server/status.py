"""The status of a broker as plain data, for `agvent status`, the admin port and the metrics."""

from __future__ import annotations

import os
from typing import Any

from agvent.net.server.config import Config
from agvent.net.server.driver import BrokerDriver
from agvent.net.server.identity import Identity
from agvent.net.server.neighbours import Neighbours
from agvent.net.server.programs import ProgramRunner
from agvent.wire.names import first_number


class StatusReport:
    """Reads the parts of a broker and changes nothing."""

    def __init__(
        self, config: Config, identity: Identity, driver: BrokerDriver, neighbours: Neighbours, programs: ProgramRunner
    ) -> None:
        self._config, self._identity, self._driver = config, identity, driver
        self._neighbours, self._programs = neighbours, programs
        self._started = driver.clock.now()

    def status(self, *, admin_port: int = 0, is_draining: bool = False) -> dict[str, Any]:
        driver, tables = self._driver, self._driver.broker.tables
        journal = driver.commit.journal
        return {
            "broker": self._config.name,
            "incarnation": self._identity.incarnation,
            "boot": tables.boot,
            "pid": os.getpid(),
            "admin": f"{self._config.admin.host}:{admin_port}" if self._config.admin and admin_port else "",
            "sandbox_pid": self._programs.pid,
            "quarantined": self._quarantined(),
            "uptime_s": (driver.clock.now() - self._started) // 1_000_000,
            "draining": is_draining,
            "disk_full": driver.commit.full,
            "links": self._links(),
            "clients": self._clients(),
            "subscriptions": len(tables.local.current),
            "brokers": tables.advertisements.owners(),
            "custody": tables.custody.event_count,
            "epoch": tables.interests.epoch,
            "fast_lost": dict(tables.fast_lost),
            "journal_bytes": journal.segment_bytes + journal.snapshot_bytes,
            "counts": {
                **driver.hops.counts,
                "messages_rejected": driver.broker.refused,
                "journal_groups": driver.commit.groups,
                "journal_records": driver.commit.records,
            },
        }

    def _quarantined(self) -> list[dict[str, str]]:
        return [
            {
                "publisher": one.principal,
                "type": one.type,
                "program": one.program,
                "call": one.call,
                "fault": one.fault,
            }
            for one in self._programs.quarantined
        ]

    def _links(self) -> list[dict[str, Any]]:
        neighbours, custody = self._neighbours, self._driver.broker.tables.custody
        found = []
        for name in neighbours.known:
            connection = neighbours.links.neighbours.get(name)
            end = connection.end if connection is not None else None
            found.append(
                {
                    "neighbour": name,
                    "state": "cut" if name in neighbours.cut else "up" if end is not None and end.up else "down",
                    "rtt_us": end.rtt_us if end is not None else 0,
                    "queued": end.queued if end is not None else 0,
                    "unacknowledged": custody.untaken.get(name, 0),
                    "last_error": neighbours.errors.get(name, ""),
                }
            )
        return found

    def _clients(self) -> list[dict[str, Any]]:
        return [
            {
                "client": name,
                "attached": bool(client.link),
                "queued": client.durable.event_count,
                "delivered": client.durable.received - first_number(name),
                "moving": "here" if client.is_moving else "away" if client.claimed else "",
            }
            for name, client in sorted(self._driver.broker.tables.deliveries.clients.items())
        ]

    def types(self) -> list[dict[str, Any]]:
        """The advertisements that this broker knows."""
        found = self._driver.broker.tables.advertisements.found("")
        return [{"broker": owner, "publisher": publisher, "type": type} for owner, publisher, type in found]
