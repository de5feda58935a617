"""The asyncio shell: it listens, dials, keeps time, writes the journal and carries out effects; and the client's API.

Every decision is the broker's or the session's, which are pure; here is what touches sockets, disks and clocks. One
event loop runs everything of a broker but the writing of its journal. The formats are in
docs/reference/wire.md and docs/reference/journal.md.
"""
