"""How the tests run: a slow machine breaks no property, and a JVM that lives for minutes is not compiled for hours."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

settings.register_profile("agvent", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("agvent")

# For every JVM that a test starts: the quick compiler alone, and one thread for garbage. A third less of two cores.
os.environ["JDK_JAVA_OPTIONS"] = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
