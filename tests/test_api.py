from __future__ import annotations

import subprocess
import sys

import pytest

import netlimits as nl


def test_the_names_that_the_readme_uses_are_there():
    assert callable(nl.open)
    assert callable(nl.summary)
    assert callable(nl.charts.percentiles)
    assert set(nl.__all__) <= {*dir(nl)}


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nothing"):
        nl.nothing  # noqa: B018


def test_the_import_itself_imports_nothing_of_ours_or_others():
    code = "import sys, netlimits; print([m for m in sys.modules if m.startswith(('netlimits.', 'pandas'))])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_what_compares_is_had_as_other_analyses_are():
    assert nl.analysis.comparison.duet.__name__ == "duet"
