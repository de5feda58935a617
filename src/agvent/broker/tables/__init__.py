"""What a broker knows, and how a record changes it.

Rules of this layer: a table changes only by `apply(record)`, or in a field of the list below, by a named method. No
other part assigns to a field of a table or of what is in it. A table sends nothing and reads no clock. Of the rest of
the broker it imports only records.py and notices.py.

Fields that change without a record. Each is in memory, because a restart begins it anew:

    custody       Copy.standing, neighbour, due, wait_us, attempt, came, again; HeldEvent.trace, before, ready, since;
                  the sums and indexes over them (`untaken`, `_waiting`). Where a copy stands on its way: after a
                  restart every copy that is held waits, and is sent again, by the trace that it came with.
    journeys      Errand.neighbour, due, wait_us, attempt. The same of a leg or report: it is sent again.
    deliveries    HomeClient.link, `gone_guests`: where a client is attached now; after a restart nowhere.
                  Queue.sent, sent_waiting, sent_bytes, sent_of: what was sent on that link.
    interests     `_partial`: parts of a Delta whose others have not come; its home says it again. `refused`: a count
                  since the start.
    tables        `fast_lost`: a count since the start.
    interests, local_subscriptions
                  `_foreseen`, `_answered`: found again when asked; they change no answer.

Fast events are in memory whole: their records (Accepted, Kept, Arrived) are applied and not written down. What ends
them has no record: `Custody.confirm`, `drop` and `let_go` with a boot, `Deliveries.acknowledge_fast`, `let_go_fast`.
"""
