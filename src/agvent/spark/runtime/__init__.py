"""The Spark session, the Java below it and the errors above it.

Rules of this layer: it knows neither events nor subscriptions. Spark's errors leave it as errors of `agvent.errors`.
`worker_daemon` runs in Spark's own processes: `session` names it by a string.
"""
