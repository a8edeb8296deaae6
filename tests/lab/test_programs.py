"""Programs that a lab calls: what is missing is named with the package to install."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import netlimits.lab
from netlimits.errors import LabError
from netlimits.lab import programs
from netlimits.lab.guests import contents

NAMED_LIKE_THEIR_PACKAGE = {"ethtool", "mount", "netperf", "perl", "sudo", "zstd"}


def called() -> set[str]:
    """The programs that the package's sources name in a call of `output`, `program` or `need`."""
    everything = set(contents._NEEDED.split())
    for source in Path(netlimits.lab.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(source.read_text())):
            if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
                continue
            words = [a.value if isinstance(a, ast.Starred) else a for a in node.args]
            words = [w.elts[0] if isinstance(w, ast.Tuple) else w for w in words]
            names = [w.value for w in words if isinstance(w, ast.Constant)]
            if node.func.id in ("output", "program"):
                everything.update(names[:1])
            elif node.func.id == "need":
                everything.update(names)
    return everything


def test_every_program_that_a_lab_calls_has_a_package():
    assert {"ip", "ldd", "setpriv", "mksquashfs", "dpkg-deb"} <= called()
    assert called() <= programs._PACKAGES.keys() | NAMED_LIKE_THEIR_PACKAGE


def test_what_is_missing_is_named_with_its_packages(monkeypatch):
    monkeypatch.setattr(programs.shutil, "which", lambda *_, **__: None)
    with pytest.raises(LabError, match=r"setpriv, ldd, zstd; .*install libc-bin util-linux zstd$"):
        programs.need("setpriv", "ldd", "zstd")
