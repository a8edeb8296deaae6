"""Start Dask's processes by forking one that has loaded their modules, which saves a second each."""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
from multiprocessing.process import BaseProcess as Process
from pathlib import Path

import dask

_FORKING = multiprocessing.get_context("forkserver")
_FORKING.set_forkserver_preload(
    [
        *("__main__", "distributed.cli.dask_scheduler", "distributed.cli.dask_worker"),
        *("pandas", "pyarrow.parquet", "scipy.stats", "netlimits.campaign.mesh.worker"),
    ]
)


def begin(log: Path, *argv: str) -> Process:
    """Start `python -m dask` in the folder of its log."""
    process = _FORKING.Process(target=_dask, args=(log, *argv))
    process.start()
    return process


def _dask(log: Path, *argv: str) -> None:
    os.chdir(log.parent)
    with log.open("a") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    dask.config.set({"distributed.worker.profile.enabled": False})  # it samples every 10 ms
    sys.argv[1:] = argv
    runpy.run_module("dask", run_name="__main__", alter_sys=True)
