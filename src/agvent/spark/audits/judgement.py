"""What became of every delivery that was due, and of every delivery that was made.

Events, due deliveries and recorded deliveries are put together by event and judged in one pass: each recorded delivery
is `met`, `duplicated` or `unexpected`, and each due one that was not met is `lost`, or `declared` if `gaps` names it.
So `met + lost + declared` is what was expected, and `met + duplicated + unexpected` what was delivered.

The unit is an event and a subscription. A retry at another entry broker gives an event two sets of due deliveries; each
home broker is judged by the one that it is nearest to, because it delivered the first copy that came and dropped the
other (DESIGN §6).
"""

from __future__ import annotations

from datetime import datetime
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as sf

from agvent.spark.audits.moved_subscribers import MovedSubscribers, moved_subscribers
from agvent.spark.log.frames import EVENT_KEY, arrow_frame
from agvent.store.log_reader import LogReader

EVENT, DUE, DELIVERY = 0, 1, 2
MET, LOST, DECLARED, DUPLICATED, UNEXPECTED, LEFT_OUT = (
    "met",
    "lost",
    "declared",
    "duplicated",
    "unexpected",
    "left out",
)

COPY: Final = ("entry_broker", "epoch")


def judged(
    events: DataFrame,
    due: DataFrame,
    deliveries: DataFrame,
    gaps: DataFrame,
    *,
    reader: LogReader,
    until: datetime | None,
) -> DataFrame:
    """A row for each recorded delivery and each due one that has none, with its `outcome`; order and time are apart.

    A delivery has `accepted_at`, that of the copy that was delivered. Events that are left out, because retention can
    have taken what belongs to them or because they were accepted after `until`, have one row each.
    """
    rows = _with_accepted(_together(events, due, deliveries))
    rows = _of_moved(_with_left_out(rows, reader, until), moved_subscribers(reader))
    rows = _of_one_copy(rows)
    return _declared(_with_outcome(rows), gaps)


def _together(events: DataFrame, due: DataFrame, deliveries: DataFrame) -> DataFrame:
    """All rows about an event in one partition, whatever table they are from."""
    kinds = [
        events.select(*EVENT_KEY, *COPY, "accepted_at", sf.lit(EVENT).alias("kind")),
        due.withColumn("kind", sf.lit(DUE)),
        deliveries.withColumn("kind", sf.lit(DELIVERY)),
    ]
    joined = reduce(lambda some, more: some.unionByName(more, allowMissingColumns=True), kinds)
    return joined.repartition(*EVENT_KEY)


def _is(kind: int) -> Column:
    return sf.col("kind") == kind


def _with_accepted(rows: DataFrame) -> DataFrame:
    """Deliveries get the time their copy was accepted; `copies` is how often the event stands in the log."""
    event = Window.partitionBy(*EVENT_KEY)
    accepted = sf.when(_is(EVENT), sf.col("accepted_at"))
    own = sf.max(accepted).over(Window.partitionBy(*EVENT_KEY, *COPY))
    copy = sf.when(_is(EVENT), sf.struct(*COPY))
    return rows.withColumns(
        {
            "accepted_at": sf.coalesce("accepted_at", own, sf.min(accepted).over(event)),
            "copies": sf.size(sf.collect_set(copy).over(event)),
        }
    )


def _with_left_out(rows: DataFrame, reader: LogReader, until: datetime | None) -> DataFrame:
    """Marks the events that cannot be judged: `agvent log` drops whole segments, and heads say what they reached to."""
    reasons = _gone(reader) + ([] if until is None else [sf.col("accepted_at") > sf.lit(until)])
    if not reasons:
        return rows.withColumn("left_out", sf.lit(False))
    one = reduce(lambda some, more: some | more, reasons)
    return rows.withColumn("left_out", sf.max(sf.coalesce(one, sf.lit(False))).over(Window.partitionBy(*EVENT_KEY)))


def _gone(reader: LogReader) -> list[Column]:
    """When what belongs to an event can have been dropped."""
    dropped = {stream: reader.heads[stream].dropped.ranges for stream in ("events", "deliveries")}
    found = []
    for broker, facts in dropped["events"].items():
        here = sf.col("entry_broker") == broker
        found.append(~_is(DELIVERY) & here & (sf.col("accepted_at") <= _time(facts["accepted_at"][1])))
        unknown = _is(DELIVERY) & (sf.col("copies") == 0)
        ranges = [sf.col(name).between(*facts[name]) for name in ("epoch", "sequence")]
        found.append(unknown & here & ranges[0] & ranges[1])
    for broker, facts in dropped["deliveries"].items():
        last = max(facts[name][1] for name in ("delivered_at", "noticed_at") if name in facts)
        found.append((sf.col("home_broker") == broker) & (sf.col("accepted_at") <= _time(last)))
    return found


def _time(text: str) -> Column:
    return sf.lit(datetime.fromisoformat(text))


def _of_moved(rows: DataFrame, moved: MovedSubscribers | None) -> DataFrame:
    """What is due to subscribers that moved, by a late copy: the log has it as if the event had entered at its home.

    The home before answers for what entered before a subscriber came: such a due delivery counts if it was made. And
    what brings it to the version that a subscriber left here is due; the filter of that one is not asked again.
    """
    if moved is None:
        return rows
    subscribers, left = (sf.broadcast(arrow_frame(rows.sparkSession, table)) for table in moved)
    rows = rows.join(subscribers, "subscriber", "left").join(left, ["home_broker", "subscription", "version"], "left")
    version = Window.partitionBy(*EVENT_KEY, "subscription", "version")
    at_home = sf.col("entry_broker") == sf.col("home_broker")
    by_all = sf.size(sf.collect_set(sf.when(_is(DUE), sf.struct(*COPY))).over(version)) == sf.col("copies")
    is_made = sf.max(_is(DELIVERY)).over(version)
    may_be_due = _is(DUE) & at_home & sf.col("has_moved") & ~by_all
    has_copy = sf.max(_is(EVENT)).over(Window.partitionBy(*EVENT_KEY, *COPY))
    is_left = _is(DELIVERY) & at_home & (sf.col("epoch") >= sf.col("left_at")) & has_copy
    rows = rows.withColumns({"is_moot": may_be_due & ~is_made, "is_left": is_left})
    kinds = sf.when(sf.col("is_left"), sf.array(sf.lit(DELIVERY), sf.lit(DUE))).otherwise(sf.array("kind"))
    rows = rows.where(~sf.coalesce("is_moot", sf.lit(False))).withColumn("kind", sf.explode(kinds))
    return rows.drop("is_moot", "is_left", "has_moved", "left_at")


def _of_one_copy(rows: DataFrame) -> DataFrame:
    """Takes out the due deliveries of the copy that a home broker did not deliver.

    Nearest is the copy with the fewest differences: due and not delivered, or delivered and not due. A due delivery
    that was made counts -1 and one that was not +1, so a copy without anything due at this home broker has 0; that
    another version was delivered is no difference. Of equal ones it is the first: a late copy stands in the log again,
    as if it had entered at its home, and later.
    """
    made = sf.max(_is(DELIVERY)).over(Window.partitionBy(*EVENT_KEY, "subscription", "version"))
    another = sf.max(_is(DELIVERY)).over(Window.partitionBy(*EVENT_KEY, "subscription"))
    weight = sf.when(_is(DUE), sf.when(made, -1).when(another, 0).otherwise(1))
    copy = Window.partitionBy(*EVENT_KEY, "home_broker", *COPY)
    home = Window.partitionBy(*EVENT_KEY, "home_broker")
    rows = rows.withColumn("difference", sf.sum(weight).over(copy))
    named = -sf.count(sf.when(_is(DELIVERY), 1)).over(copy)
    rows = rows.withColumn(
        "rank", sf.when(_is(DUE), sf.struct("difference", named.alias("named"), "accepted_at", *COPY))
    )
    addressed = sf.size(sf.collect_set(sf.when(_is(DUE), sf.struct(*COPY))).over(home))
    nearest = sf.min("rank").over(home)
    is_other = (sf.col("rank") != nearest) | ((sf.col("difference") > 0) & (addressed < sf.col("copies")))
    rows = rows.withColumn("other_copy", _is(DUE) & (sf.col("copies") > 1) & is_other)
    return rows.where(~sf.col("other_copy")).drop("difference", "rank", "other_copy")


def _with_outcome(rows: DataFrame) -> DataFrame:
    version = Window.partitionBy(*EVENT_KEY, "subscription", "version")
    pair = Window.partitionBy(*EVENT_KEY, "subscription", "kind")
    in_order = pair.orderBy(~sf.col("was_due"), "position", "version")
    rows = rows.withColumn("was_due", sf.coalesce(sf.max(_is(DUE)).over(version), sf.lit(False)))
    rows = rows.withColumn("number", sf.row_number().over(in_order))
    made = sf.max(_is(DELIVERY) & sf.col("was_due")).over(Window.partitionBy(*EVENT_KEY, "subscription"))
    delivered = sf.when(~sf.col("was_due"), UNEXPECTED).when(sf.col("number") == 1, MET).otherwise(DUPLICATED)
    missing = sf.when(~made & (sf.col("number") == 1), LOST)
    left_out = sf.when(_is(EVENT) & (sf.col("number") == 1), LEFT_OUT)
    outcome = sf.when(sf.col("left_out"), left_out).when(_is(DELIVERY), delivered).when(_is(DUE), missing)
    return rows.withColumn("outcome", outcome).where(sf.col("outcome").isNotNull())


def _declared(rows: DataFrame, gaps: DataFrame) -> DataFrame:
    """Turns `lost` into `declared`, with the reason, where a gap names the event. Gaps of a home broker as a whole and
    those of one subscription are looked up apart, so that a broker with many of the latter costs no more."""
    facts = sf.struct("publisher", "first_sequence", "last_sequence", "reason")
    for column, keys in (
        ("of_all", ["home_broker", "quality"]),
        ("of_one", ["home_broker", "quality", "subscription"]),
    ):
        chosen = gaps.where(sf.col("subscription").isNull() == (column == "of_all"))
        listed = chosen.groupBy(*keys).agg(sf.collect_list(facts).alias(column))
        rows = rows.join(listed, keys, "left")
    empty = sf.array().cast("array<struct<publisher:string,first_sequence:bigint,last_sequence:bigint,reason:string>>")
    both = sf.concat(sf.coalesce("of_one", empty), sf.coalesce("of_all", empty))
    naming = sf.when(sf.col("outcome") == LOST, sf.get(sf.filter(both, _names_event), sf.lit(0))["reason"])
    rows = rows.withColumn("reason", naming).drop("of_one", "of_all")
    return rows.withColumn("outcome", sf.when(sf.col("reason").isNotNull(), DECLARED).otherwise(sf.col("outcome")))


def _names_event(gap: Column) -> Column:
    sequence = sf.col("sequence")
    from_first = gap["first_sequence"].isNull() | (gap["first_sequence"] <= sequence)
    to_last = gap["last_sequence"].isNull() | (sequence <= gap["last_sequence"])
    return (gap["publisher"].isNull() | (gap["publisher"] == sf.col("publisher"))) & from_first & to_last
