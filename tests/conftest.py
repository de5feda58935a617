"""How the property tests run: a slow or busy machine is no failure."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

settings.register_profile("agvent", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("agvent")
