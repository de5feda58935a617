"""The properties a run is judged by, a file each. A checker gives one sentence for each violation it finds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from agvent.sim.checkers.ahead import ahead_of_disk
from agvent.sim.checkers.answers import misanswered
from agvent.sim.checkers.calm import disturbed, restless
from agvent.sim.checkers.content import changed
from agvent.sim.checkers.convergence import unconverged
from agvent.sim.checkers.conversation import misspoken
from agvent.sim.checkers.custody import undrained
from agvent.sim.checkers.disk import damaged
from agvent.sim.checkers.duplicated import duplicated
from agvent.sim.checkers.ended import misended
from agvent.sim.checkers.interest import misknown
from agvent.sim.checkers.journal import unfaithful
from agvent.sim.checkers.let_go import let_go
from agvent.sim.checkers.links import broken_links
from agvent.sim.checkers.log import untrue
from agvent.sim.checkers.lost import lost
from agvent.sim.checkers.memory import unbounded
from agvent.sim.checkers.notices import misnoticed
from agvent.sim.checkers.order import out_of_order
from agvent.sim.checkers.overspent import overspent
from agvent.sim.checkers.promised import broken
from agvent.sim.checkers.refused import misrefused
from agvent.sim.checkers.resent import resent
from agvent.sim.checkers.restarted import changed_by_restart
from agvent.sim.checkers.routes import misrouted
from agvent.sim.checkers.traffic import wasted
from agvent.sim.checkers.unasked import unasked
from agvent.sim.checkers.unconfirmed import unconfirmed
from agvent.sim.checkers.unexpected import unexpected
from agvent.sim.ledger import Ledger
from agvent.sim.world import World

Checker = Callable[[World, Ledger], list[str]]

CHECKERS: Final[dict[str, Checker]] = {
    "promised": broken,
    "unasked": unasked,
    "lost": lost,
    "duplicated": duplicated,
    "unexpected": unexpected,
    "order": out_of_order,
    "unconfirmed": unconfirmed,
    "convergence": unconverged,
    "custody": undrained,
    "memory": unbounded,
    "traffic": wasted,
    "routes": misrouted,
    "restarted": changed_by_restart,
    "ahead": ahead_of_disk,
    "calm": disturbed,
    "restless": restless,
    "resent": resent,
    "overspent": overspent,
    "released": let_go,
    "links": broken_links,
    "interest": misknown,
    "content": changed,
    "conversation": misspoken,
    "answers": misanswered,
    "refused": misrefused,
    "notices": misnoticed,
    "disk": damaged,
    "journal": unfaithful,
    "ended": misended,
    "log": untrue,
}
