"""Where subscriptions come from: an index, a list, a DataFrame, or a file; always a roster in the end."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from io import FileIO
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from agvent.errors import CallerError, FilterError, SubscriptionError
from agvent.filters.subscription import FIELDS, Subscription, subscription_of
from agvent.matching.subscriptions import Subscriptions
from agvent.spark.files.file_slices import is_log, is_parquet
from agvent.spark.rosters.roster import Roster, audience_of
from agvent.store.index_file import MAGIC
from agvent.store.log_reader import LogReader
from agvent.store.subscription_file import SubscriptionFile

CONDITION_FIELDS: Final = {*FIELDS} - {"context"}
"""What says which events a subscription wants; a context is for publishers' filters, which a broker evaluates."""

COLUMNS_OF_A_LOG: Final = {"subscription": "id", "topic_number": "topic", "channel_number": "channel"}


def roster_of(source: Any, *, in_force: Any = None, language: str = "sql") -> Roster:
    """The roster of subscriptions in any form.

    A path is that of JSON Lines as `agvent match` reads them, of Parquet, of a saved index, or of an event log, whose
    versions are then matched where and when they were in force. A table has the columns
    of a subscription (`id`, `filter`, `language`, `type`, `topic`, `pattern`, `channel`), and `version` beside them if
    `in_force` gives the epochs of each version; see `Roster.of_versions`.
    """
    if in_force is not None:
        return Roster.of_versions(_versions(_table(source), language), _table(in_force))
    if isinstance(source, Roster):
        return source
    if isinstance(source, Subscriptions):
        return Roster.of(source)
    if isinstance(source, (str, os.PathLike)):
        return _from_path(Path(source), language)
    if isinstance(source, pa.Table) or _is_dataframe(source):
        return Roster.of(_index(_subscriptions(_table(source), language)))
    return Roster.of(_index(source))


def log_roster(log: LogReader, *, catalogue: int | None = None) -> Roster:
    """The versions in a log's catalogue, each with its epochs."""
    versions = log.versions(catalogue=catalogue)
    roster = roster_of(versions, in_force=log.in_force(catalogue=catalogue))
    return Roster(roster.index, roster.names, roster.in_force, audience_of(versions))


def _from_path(path: Path, language: str) -> Roster:
    if not path.exists():
        raise CallerError(
            f"{path} does not exist; subscriptions are JSON Lines, Parquet, a saved index or an event log"
        )
    if is_log(path):
        return log_roster(LogReader(path))
    if path.is_dir() or is_parquet(str(path)):
        return roster_of(pq.read_table(path), language=language)
    if _begins_with(path, MAGIC):
        return Roster.open(path)
    index = Subscriptions()
    with FileIO(str(path)) as stream:
        SubscriptionFile(stream, language=language).load_into(index, str(path))
    return Roster.of(index)


def _begins_with(path: Path, magic: bytes) -> bool:
    with path.open("rb") as file:
        return file.read(len(magic)) == magic


def _is_dataframe(source: Any) -> bool:
    return hasattr(source, "toArrow")


def _table(source: Any) -> pa.Table:
    if isinstance(source, pa.Table):
        return source
    if _is_dataframe(source):
        return source.toArrow()
    if isinstance(source, (str, os.PathLike)):
        return pq.read_table(source)
    raise CallerError(f"expected a DataFrame, an Arrow table or a path, not {type(source).__name__}")


def _versions(table: pa.Table, language: str) -> Iterable[tuple[Subscription, Any]]:
    if "version" not in table.column_names:
        raise CallerError("the subscriptions have no column version", hint="in_force has the intervals of each version")
    return zip(_subscriptions(table, language), table["version"].to_pylist(), strict=True)


def _subscriptions(table: pa.Table, language: str) -> Iterable[Subscription]:
    """Each row's subscription; a null is a part that is not given. An event log calls the id `subscription`, and has a
    column of its own for a topic or channel that is a number."""
    if "subscription" in table.column_names and "id" in table.column_names:
        table = table.drop_columns(["id"])  # in a catalogue it is the version's
    if not {"id", "subscription"} & {*table.column_names}:
        raise CallerError(
            f"the subscriptions have no column id, only {', '.join(table.column_names)}",
            hint=f"a subscription has the columns {', '.join(FIELDS)}",
        )
    wanted = [name for name in table.column_names if COLUMNS_OF_A_LOG.get(name, name) in CONDITION_FIELDS]
    for row, source in enumerate(table.select(wanted).to_pylist()):
        given = {COLUMNS_OF_A_LOG.get(name, name): value for name, value in source.items() if value is not None}
        try:
            yield subscription_of({"language": language, **given})
        except CallerError as error:
            raise SubscriptionError(f"subscription in row {row}: {error.message}", hint=error.hint) from None


def _index(subscriptions: Iterable[Subscription]) -> Subscriptions:
    """The index; a filter that cannot be read is named by its subscription's id."""
    listed = list(subscriptions)
    for one in listed:
        if not isinstance(one, Subscription):
            kind = "a mapping" if isinstance(one, Mapping) else f"a {type(one).__name__}"
            raise CallerError(f"{kind} is not a Subscription", hint="make one: Subscription(id=…, filter=…)")
    try:
        return Subscriptions(listed)
    except FilterError:
        for one in listed:
            _check(one)
        raise


def _check(subscription: Subscription) -> None:
    try:
        subscription.condition()
    except FilterError as error:
        text = f"in the filter of {subscription.id!r}, {error}"
        raise SubscriptionError(text, hint=error.hint) from None
