"""Every bound, with its unit and the reason for that number. Units and bounds stand last in a name."""

from __future__ import annotations

from typing import Final

INT_MIN: Final = -(2**63)
INT_MAX: Final = 2**63 - 1
"""Integers are 64-bit: what Arrow, Parquet and every peer's wire format carry exactly."""

INT32_MIN: Final = -(2**31)
INT32_MAX: Final = 2**31 - 1
"""Elvin's smaller integers."""

FLOAT_EXACT_MAX: Final = 2**53
"""Integers up to here are exact as float64, the number the index compares; beyond it a match is verified."""

FILTER_CHARS_MAX: Final = 65_536
"""A filter's text. The longest hand-written selectors we found have 4 thousand characters."""

FILTER_DEPTH_MAX: Final = 64
"""Nesting of a filter's tree: far below Python's recursion limit in every walk we do."""

FILTER_PREDICATES_MAX: Final = 4_096
"""Comparisons in one filter, list members included: one subscription may not cost like a thousand."""

REGEX_PROGRAM_BYTES_MAX: Final = 1 << 20
"""Memory RE2 may use for one compiled expression."""

PATTERN_PART_CHARS_MAX: Final = 256
"""What stands between two `%` of a LIKE pattern, if it has a `_` in it: such a part is tried at each place of a text,
so this times the text is what it can cost."""

DISJUNCTS_MAX: Final = 16
"""Rows one filter may become in the index; an OR beyond it is verified instead of expanded."""

ACCESS_KEYS_MAX: Final = 1_024
"""Hash keys one row may be filed under, the members of its IN: a long watch list still is found by its members, at 28
bytes and its other predicates each; a longer one is verified instead."""

EVENT_DEPTH_MAX: Final = 32
"""Nesting of objects and lists in an event."""

EVENT_BYTES_MAX: Final = 16 << 20
"""One JSON line, and an event that a broker takes in."""

ID_CHARS_MAX: Final = 1_024
"""A subscription's id."""

NAME_CHARS_MAX: Final = 64
CLIENT_NAME_CHARS_MAX: Final = 128
"""The name that a broker or a client is given, and that of any client: a guest's has its principal's in it."""

SUBSCRIBED_ID_CHARS_MAX: Final = 768
"""The id of a subscription at a broker. Entries file it under its home, its client and how often that moved: with both
names and ten characters beside them it stays within ID_CHARS_MAX."""

TOPIC_CHARS_MAX: Final = 65_535
"""A topic or a pattern: MQTT's bound, so that every MQTT topic fits."""

DESTINATIONS_MAX: Final = 1 << 20
"""Destinations of one index: 32 sub-units on four levels (Narada §7)."""

XML_BYTES_MAX: Final = 10 << 20
"""An event's `$xml` in UTF-8: the rest of the largest event is left to its other values."""

XML_MARKS_MAX: Final = 200_000
"""`<` and `=` in a document: each tag and attribute has one, so this bounds its nodes before any is made, and with them
the memory (some 200 bytes each)."""

XML_DEPTH_MAX: Final = 256
"""Nesting of elements: libxml2's own bound, and more than any document we met."""

XPATH_WORK_MAX: Final = 50_000_000
"""Steps that one XPath may need on one document, by the bound of filters/xpath_cost.py: some tenths of a second."""

XML_SMALL_SIZE_MAX: Final = 4_096
"""Size of a document (nodes, text counted in) whose values decide an XPath in the index. The common XPath is at most
10 million steps there, far from the bound on its work; on a larger document libxml2 confirms, within that bound."""

XPATH_COMPILED_MAX: Final = 8_192
"""Compiled XPaths that are kept, some 5 KB each."""

FRAME_BYTES_MAX: Final = (128 << 10) + 4_096
"""A frame's content: small messages up to a chunk, a chunk, and what stands around them. It holds a link of 10 Mbit/s
for 0.1 s."""

CHUNK_BYTES_MAX: Final = 64 << 10
"""A part of a large message, so that small ones go in between."""

REQUEST_BYTES_MAX: Final = EVENT_BYTES_MAX
"""A subscription, or a type and its code, as a client asks for it."""

DESTINATION_CHARS_MAX: Final = 1 << 20
"""The names of the clients that an event is for, together: ten thousand of the longest."""

ANSWERS_BYTES_MAX: Final = 1 << 20
"""Answers of behaviours that travel with an event, together with what was asked: sixteen of the largest."""

PART_BYTES_MAX: Final = 1 << 20
"""A part of a Delta or of an owner's advertisements, if it has more than one thing in it: a tenth of a second on a link
of 100 Mbit/s."""

MESSAGE_BYTES_MAX: Final = EVENT_BYTES_MAX + (8 << 20)
"""A message: the largest event; what goes with it, its destinations (4 MB of UTF-8), its answers and the paused program
of an agvent; and what a broker writes around it, some 200 bytes for each home."""

LINK_WINDOW_FRAMES: Final = 64
"""Frames on their way unacknowledged: 64 chunks fill 10 Gbit/s at 3 ms, and bound what a receiver keeps to sort."""

LINK_HEARTBEAT_US: Final = 1_000_000
"""Silence after which an end says that it is there."""

LINK_SILENCE_US: Final = 3_500_000
"""Silence after which a link counts as down: three heartbeats lost in a row, which one frame in ten lost makes 1 in
1,000."""

LINK_STALL_US: Final = 1_400_000
"""Silence after which a link between brokers counts as down while a frame waits for its acknowledgement, which takes
LINK_ACK_US: the frame was then sent three times."""

LINK_ACK_US: Final = 20_000
"""How long an acknowledgement waits for a frame to travel with; below what a person notices."""

LINK_REPEAT_US: Final = 300_000
LINK_REPEAT_MAX_US: Final = 2_400_000
"""The first and the longest wait before a frame is sent again; twice as long each time."""

EARLY_ADVERTS_MAX: Final = 1_024
"""Changes of advertisements that a broker keeps because they overtook a larger one: a minute of sixteen a second. What
comes beyond it is asked for again."""

LARGE_MESSAGES_MAX: Final = 4
"""Large messages that a link takes apart at once, so that a receiver puts together at most four."""

REPLACED_VERSIONS_MAX: Final = 16
"""Versions of one subscription that were replaced while events from before may still come: thirty-two changes a second
while all brokers answer at once. The next change is rejected."""

ANSWER_WAIT_US: Final = 2_000_000
ANSWER_WAIT_MAX_US: Final = 16_000_000
"""The first and the longest wait for an answer from across the network; twice as long each time."""

HOPS_MAX: Final = 64
"""Brokers that a message passes: twice the diameter of any network we simulate, and the end of every loop."""

SEEK_WAIT_US: Final = 1_000_000
"""The first wait before a broker is sought again; twice as long each time, up to ANSWER_WAIT_MAX_US."""

COPIES_MAX: Final = 65_536
COPIES_BYTES_MAX: Final = 1 << 30
"""Events in a broker's custody, and their bytes. Beyond it copies in transit are refused; beyond three quarters of it
publishers wait, so that two brokers full of their own events still pass on each other's."""

HOME_COPIES_MAX: Final = COPIES_MAX // 4
HOME_COPIES_BYTES_MAX: Final = COPIES_BYTES_MAX // 4
"""What of it waits for one home: a home that is away for long does not stop the publishers for all the others. Beyond
it the oldest become a gap notice."""

PASSED_MAX: Final = 4_096
"""Pairs of an entry and a home whose copies went to one neighbour last: whom to tell if it cannot be reached."""

UNTAKEN_COPIES_MAX: Final = 256
"""Copies sent to a neighbour that it has not taken: a slow link keeps no more than that waiting in memory twice."""

TRANSIT_KEEP_US: Final = 30_000_000
"""How long a broker on the way keeps a copy that finds no way on: its entry has it still, and sends it again."""

DELIVERY_WINDOW: Final = 1_024
DELIVERY_WINDOW_BYTES_MAX: Final = 32 << 20
"""Deliveries that a client may have unacknowledged, and the bytes of their events; one it may have always. An
acknowledgement waits for an fsync of 10 ms, in which a client takes some hundreds."""

CLIENT_DELIVERIES_MAX: Final = 65_536
CLIENT_QUEUE_BYTES_MAX: Final = 256 << 20
"""What waits for one client: at a thousand events a second, a minute's absence. Beyond it the oldest become a gap
notice."""

MOVE_WAIT_US: Final = 300_000_000
MOVE_UNKNOWN_WAIT_US: Final = 5_000_000
"""How long a client that moved waits for what its old home has: until somebody has started that again. And for one that
nobody here has heard of: until a broker that just joined knows the others. Then a gap notice."""

SOURCES_MAX: Final = 64
"""Homes that a client may name as those before: it would have to move on so often within five minutes."""

GUEST_WAIT_US: Final = 300_000_000
"""How long a guest whose connection broke may take to come back, here or at another broker."""

GIVEN_UP_MAX: Final = 4_096
"""Homes that were away for too long, each with a client that has another now: they close its part when they return. Of
more, the oldest are left alone."""

GIVEN_UP_ASK_US: Final = 30_000_000
"""How often such a home is asked: it may be away for days."""

CLIENT_KEYS_MAX: Final = SOURCES_MAX
"""What a client may be called at one broker, to which it came back so often before that had handed over what it had
from the times before."""

RETRIED_MAX: Final = 16
"""Changes of entry that a publication tells of, and that a home remembers of a publisher's life."""

TICK_US: Final = 500_000
"""How often a broker looks at what waits for an answer."""

PUBLISH_CREDIT: Final = 1_024
PUBLISH_BYTES_MAX: Final = 32 << 20
"""Publications that a client may have unacknowledged, and the bytes of their events; one it may have always. An
acknowledgement waits for an fsync, as those of deliveries do."""

BATCH_EVENTS_MAX: Final = 1_024
BATCH_BYTES_MAX: Final = 48 << 10
"""Events that travel as one, and their bytes: below a chunk, so that a batch keeps its place among the small messages.
A thousand share the cost of a step, and wait for each other less than a millisecond."""

PUBLISH_EVENTS_MAX: Final = 8_192
PUBLISH_UNDER_WAY_MAX: Final = PUBLISH_EVENTS_MAX + BATCH_EVENTS_MAX
"""Events that a client may have unacknowledged, batches counted by what is in them: what a home remembers of a life
that sent them to two entries."""

GIVEN_LIVES_MAX: Final = 65_536
"""Lives of publishers of which a client remembers what it was given."""

SOCKET_BUFFER_BYTES_MAX: Final = 256 << 10
"""What waits in a socket's buffer: more would hide from the link, and from whoever chooses routes, that it is slow."""

INTRODUCTION_SECONDS_MAX: Final = 5.0
"""How long a connection may take to say who it is: ten round trips around the world."""

NEARER_SECONDS_MAX: Final = 1.0
"""How long after the first broker's answer a client waits for its home's or a nearer one's: three round trips across an
ocean, which a connection takes, and a broker's longest step. One that stands still would not answer later either."""

CLOSE_SECONDS_MAX: Final = 2.0
"""How long a connection that ends may take to send its last words."""

CONNECTIONS_MAX: Final = 8_192
CONNECTIONS_MIN: Final = 16
DESCRIPTORS_RESERVED: Final = 256
"""Connections of one broker, some 400 MB if all are idle. A process with fewer descriptors has all but the reserved
ones, which are for the journal, dialled links, operators, the admin port and the sandbox host; at least 16."""

STRANGERS_MAX: Final = 1_024
"""Connections that have not introduced themselves, or a quarter of all: at ten thousand new ones a second each has
0.1 s, several round trips, before it has to go."""

OPERATORS_MAX: Final = 64
OPERATOR_SILENCE_SECONDS_MAX: Final = 60.0
"""Operators at a time, and how long one that asks nothing stays: a command asks at once, and is gone."""

OPERATOR_ANSWER_SECONDS_MAX: Final = 10.0
"""How long a command waits for each frame of an answer: a broker that lives answers between two steps."""

ADMIN_REQUESTS_MAX: Final = 32
"""Requests to the admin port at a time: whoever collects figures asks one by one."""

CLIENT_BACKLOG_MESSAGES_MAX: Final = 4_096
"""Answers that wait for a client which does not read: sixteen times what it may have under way. Beyond it the
connection ends."""

PRINCIPAL_KEPT_BYTES_MAX: Final = 256 << 20
"""What the connections of one principal keep in a broker's memory: answers and deliveries that are not acknowledged,
large messages that are not whole, publications before their turn. One client with all its windows full has 220 MB."""

KEPT_BYTES_MAX: Final = 1 << 30
"""The same of all principals together, as much as custody: where nobody shows a key, names cost nothing."""

PRINCIPAL_MESSAGES_PER_SECOND_MAX: Final = 10_000
PRINCIPAL_BYTES_PER_SECOND_MAX: Final = 160_000_000
"""What one principal may say: each keeps a broker busy for about half of its time. A batch is one message."""

PRINCIPAL_CLIENTS_MAX: Final = 1_024
"""Names of one principal's clients that a broker is home to: each may have a queue of CLIENT_QUEUE_BYTES_MAX."""

PRINCIPAL_CONNECTIONS_MAX: Final = 256
"""Connections of one principal: one that opens more takes no place from the others."""

CLIENT_SUBSCRIPTIONS_MAX: Final = 100_000
"""Subscriptions of one client, some 2 KB each in the index."""

PUBLISHER_TYPES_MAX: Final = 4_096
"""Types that one publisher advertises at a broker, those it took back counted too: each leaves a tombstone of some
hundred bytes at every broker."""

CLIENT_UNACKNOWLEDGED_MAX: Final = 2 * PUBLISH_EVENTS_MAX
"""Events that a client process keeps unacknowledged before `publish` waits: enough to fill any credit."""

REDIAL_SECONDS_MIN: Final = 0.1
REDIAL_SECONDS_MAX: Final = 5.0
"""The first and the longest wait before a broker is dialled again; twice as long each time, shortened at random by up
to half so that a restarted broker is not dialled by all at once."""

JOURNAL_RETRY_SECONDS: Final = 1.0
"""How long a broker whose disk is full waits before it tries again."""

LOG_LINES_PER_SECOND_MAX: Final = 20
"""Lines of one kind that a broker logs in a second; a flood of connections is one line more."""

HOPS_KEPT_MAX: Final = 100_000
"""Hops that a broker remembers for `agvent trace`, some 200 bytes each."""

JOURNAL_SEGMENT_BYTES_MAX: Final = 64 << 20
"""A segment of the journal: read at a start in 0.3 s, and small beside the disk it is dropped from."""

JOURNAL_GROWTH_MAX: Final = 4
"""How often a snapshot's size is written before the next: a fifth of what is written is snapshots, at most."""

JOURNAL_RESERVE_BYTES: Final = 4 << 20
"""Room that a journal keeps for the day the disk is full: a group of records, and a snapshot of tables in which little
waits, fit into it."""

JOURNAL_COMPACT_TRIES_MAX: Final = 64
"""Of the tries to write on a full disk, at least every how manieth also looks whether a snapshot would make room: the
first ones more often. Of large tables that takes a second."""

FOLLOWED_BYTES_MAX: Final = 32 << 20
"""What is taken of one journal into the event log at once: the rows of it, some hundred thousand, are in memory."""

FOLLOWED_RECORDS_MAX: Final = 65_536
"""Records of a journal that wait for another's to be read, before no more are read of it."""

CONDITIONS_KEPT_MAX: Final = 8_192
"""Conditions of a saved index that are kept once read, some 2 KB each."""

MASTER_ANSWER_SECONDS_MAX: Final = 5.0
"""How long a cluster's master may take to accept a connection. Spark itself would try for a minute."""

ROW_GROUP_ROWS: Final = 131_072
"""Rows in a row group of the event log: large enough to compress, small enough that a task reads one of many."""

SEGMENT_ROWS_MAX: Final = 1_048_576
"""Rows in a segment of the event log. Retention drops whole segments, so this is also its grain."""

COVER_PROOFS_MAX: Final = 200_000
"""Pairs of filters that an analysis tries to prove equal: it ends, whatever the log."""

PROGRAM_BYTES_MAX: Final = 256 << 10
"""The text of a program: some 6,000 lines, loaded in under 0.1 s."""

CODE_BYTES_MAX: Final = 64 << 20
"""Signed programs that a broker keeps for its sandbox host: some ten thousand of ordinary size."""

PROGRAMS_MAX: Final = 4_096
"""Programs that a host keeps: a gigabyte if each were of the largest size."""

PRINCIPAL_PROGRAMS_MAX: Final = PROGRAMS_MAX // 16
"""Those of one principal: some hundred types in two versions. The least recently needed goes, and comes again when it
is needed."""

CALL_SECONDS_MAX: Final = 0.25
"""Time of one call of a behaviour, by the clock: ten thousand times what an ordinary one takes, so that want of a core
does not make it a fault."""

BATCH_SECONDS_MAX: Final = 1.0
"""Time of a batch of calls: one that loops holds the others of its publisher for so long before they run alone."""

ARRIVAL_SECONDS_MAX: Final = 1.0
"""Time of an arrival, which happens once for each subscriber."""

WORKER_GRACE_SECONDS: Final = 0.25
"""How long after its time a worker that does not stop by itself is killed."""

WORKER_SILENCE_SECONDS_MAX: Final = 5.0
"""Time after which a worker that does not answer is killed, whatever its program's limits say."""

WORKER_START_SECONDS_MAX: Final = 30.0
"""How long a turn waits for a worker, on a machine that is short of everything."""

SANDBOX_WORKERS: Final = 2
"""Workers of a host that was not told how many: a publisher that holds one leaves one to the others."""

SANDBOX_BYTES_MAX: Final = 48 << 20
"""Memory of a session, its program and the batch in it: the largest agvent, 10 MB, is there three times when it moves,
and a worker for each core stays below what a broker needs."""

SANDBOX_DEPTH_MAX: Final = 200
"""Calls inside calls, as deep as a walk over EVENT_DEPTH_MAX levels needs, six times."""

ANSWER_BYTES_MAX: Final = 64 << 10
"""An answer of a behaviour, and all that an agvent says on its arrival: it travels with every copy of the event."""

PRINTED_BYTES_MAX: Final = 4 << 10
"""What a program may print in a batch. Nobody reads it."""

FAULT_CHARS_MAX: Final = 200
"""The text of a fault, which travels with the event."""

BATCH_CALLS_MAX: Final = 512
"""Calls that go to a worker at once: more are no faster, and all wait for the slowest."""

SESSION_BATCHES_MAX: Final = 5_000
"""Batches after which a session ends and another begins: what a program leaves in memory goes with it."""

SESSION_SUSPENSIONS_MAX: Final = 20_000
"""Times that programs of a session ask outside themselves: ten stops of the most talkative route. Each is some 20 µs
that a program's own clock does not count, so this is also what ends one that does nothing else."""

ANSWERS_KEPT_MAX: Final = 65_536
ANSWERS_KEPT_BYTES_MAX: Final = 32 << 20
"""Answers that a host keeps to give again, some 250 bytes each, and the bytes of those that are no numbers."""

FAULTS_MAX: Final = 3
"""Limits or crashes of a program, or of one call of it, each at least a call's time of a worker, that lead to
quarantine."""

SUSPECT_CALLS_MAX: Final = 1_024
"""Calls of a program that ran into limits and are remembered, some 300 bytes each; the oldest goes."""

CALLS_KNOWN_MAX: Final = 65_536
"""Calls that a host remembers to have answered, some 150 bytes each: they go on when others put their program into
quarantine."""

QUARANTINE_US: Final = 60_000_000
QUARANTINE_MAX_US: Final = 3_600_000_000
"""The first and the longest quarantine; twice as long each time."""

HIDES_PER_KEY_MAX: Final = 65_536
"""Agvents that a publisher hides with one key pair: a thousandth of the cost of a pair for each."""

HIDING_KEYS_KEPT_MAX: Final = 4_096
"""Ciphers that a host keeps, one for each publisher's key pair in use."""

HOST_CLOSE_SECONDS_MAX: Final = 5.0
"""How long a sandbox host may take to end its workers before it is killed: ten times what it takes."""

HOST_REQUESTS_MAX: Final = 32
"""Requests that a sandbox host works on at once: most wait for their principal's turn."""

CLIENT_CALLS_MAX: Final = 2_048
"""Requests for the sandbox host that a client may have unanswered: an arrival for each delivery of its window, and as
many calls."""

RESIDENTS_MAX: Final = 1_024
RESIDENTS_BYTES_MAX: Final = 64 << 20
HOME_RESIDENTS_BYTES_MAX: Final = 1 << 30
"""Agvents that a home keeps for one subscriber, the bytes of their events, and those of all subscribers; the oldest
goes. A person looks at fewer, and six of the largest fit."""

RESIDENCE_US: Final = 3_600_000_000
"""How long a host keeps an agvent that has no expiry and that its subscriber does not dispose of."""

JOURNEY_HOPS_MAX: Final = HOPS_MAX
"""Links that one instance of an agvent goes over on its own way, as far as any message goes."""

JOURNEY_CLONES_MAX: Final = 1_024
"""Clones of one agvent, all generations together: one for each broker of the largest network we simulate."""

JOURNEY_BYTES_MAX: Final = 4 << 30
"""Bytes that one agvent and its clones put on links: the largest event to four hundred brokers."""

JOURNEY_TIME_MAX_US: Final = 3_600_000_000
"""Time that an agvent has on its way: homes keep its publisher's later events back as long."""

STOP_MESSAGES_MAX: Final = 1_000
"""Messages that an agvent says at a stop: a question and a request for each of some hundred targets."""

STOP_SAID_BYTES_MAX: Final = 1 << 20
"""All that an agvent says at a stop, as MessagePack: the ids of some thirty thousand subscribers."""

STOP_SECONDS_MAX: Final = 1.0
"""Time of a stop, which happens once at each broker."""

STOP_CLOCK_FACTOR: Final = 5
"""How many times as long a stop may take by the clock: its program's own time leaves out its messages, and each of
these waits for a core twice."""

STOP_TRIES_MAX: Final = 3
"""How often a route is asked at its entry, if who wants the agvent changes meanwhile; then it goes the default
route."""

SNAPSHOT_BYTES_MAX: Final = 1 << 20
"""A paused program, some 10 KB, what it made, and the small fields that it reads: it travels beside the event."""

SNAPSHOT_BLOCK_BYTES_MIN: Final = 1 << 10
"""A text or bytes of an agvent that are left out of its snapshot: large beside the few bytes that stand for them."""

SNAPSHOT_BLOCKS_MISSED_MAX: Final = 32
"""Blocks sought in vain in a dump, each some milliseconds in the largest."""

STOPS_WAITING_MAX: Final = 4_096
"""Agvents that wait in memory to be executed; the origins of others send them again."""

STOPS_REMEMBERED_MAX: Final = 65_536
"""Paths of agvents that a broker remembers to have executed, some 200 bytes each. A leg is repeated for as long as its
origin has no answer, and is on its way for seconds: in that time a broker executes some thousands."""

STOPPED_KEPT_MAX: Final = 1_024
"""What a client keeps of what it was told about its agvents; the oldest goes. Whoever reads none loses none that
matters."""

ENDED_KEPT_MAX: Final = 1_024
"""Ids of subscriptions that a client has ended and remembers, the last ones: what was under way to them came within
seconds."""

KEY_DAYS_MAX: Final = 36_500
"""How long a certificate or token is good for: a century, beyond which nobody plans, and dates have an end."""

LOG_KEEP_HOURS_MAX: Final = 876_000
LOG_KEEP_MB_MAX: Final = 1_000_000_000
"""What an event log may be told to keep: a century, and a petabyte, which no disk here has."""

FLEET_BROKERS_MAX: Final = 10_000
"""Brokers that one machine is asked to start: each has two ports, of which there are 65,535."""

WAIT_SECONDS_MAX: Final = 86_400
"""How long a command waits for answers, or from commit to commit: a day, in which somebody looks."""
