"""What Spark needs and is not there is named before anything is started."""

from __future__ import annotations

import sys

import pytest

from agvent.errors import SparkFault
from agvent.spark.runtime.session import session


@pytest.mark.parametrize("missing", ["pyspark", "pandas"])
def test_a_missing_package_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the command that installs it."""
    module = sys.modules["agvent.spark.runtime.session"]
    monkeypatch.setattr(module, "find_spec", lambda name: None if name == missing else object())
    with pytest.raises(SparkFault) as caught:
        session("local[1]")
    assert (caught.value.message, caught.value.hint) == (
        f"{missing} is not installed",
        "pip install '.[spark]' in a checkout",
    )
