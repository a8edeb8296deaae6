#!/usr/bin/env python3
"""Run the notebooks top to bottom, each in a fresh kernel, and keep their outputs.

    scripts/notebooks.py                          all of notebooks/, in place
    scripts/notebooks.py notebooks/acks.ipynb     one of them
    scripts/notebooks.py --out DIR                the executed ones to DIR instead

What depends on when or where they ran is not kept, so that a notebook changes only when its
cells or its outputs do. A warning is an error, as in the tests; the first failing cell ends it.
"""

from __future__ import annotations

import argparse
import base64
import io
import re
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from PIL import Image
from traitlets.config import Config

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}
STRICT = """
import warnings
warnings.simplefilter("error")
warnings.filterwarnings("default", module="ipykernel")  # the kernel's own
del warnings
"""
COLOUR = r"\x1b\[[\d;]*m"
SECONDS_PER_CELL = 120


def executed(path: Path) -> nbformat.NotebookNode:
    """The notebook with the outputs of a fresh run in its own folder, and nothing of the machine.

    Raises CellExecutionError for a cell that fails or warns.
    """
    notebook = nbformat.read(path, as_version=4)
    notebook.cells.insert(0, nbformat.v4.new_code_cell(STRICT))
    with TemporaryDirectory() as sockets:  # rather than ports, which others could open
        NotebookClient(
            notebook,
            config=Config(KernelManager={"transport": "ipc", "ip": f"{sockets}/kernel"}),
            timeout=SECONDS_PER_CELL,
            kernel_name="python3",
            resources={"metadata": {"path": str(path.parent)}},
            record_timing=False,
            coalesce_streams=True,
        ).execute()
    del notebook.cells[0]
    notebook.metadata = nbformat.from_dict(METADATA)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, 1):
        cell.metadata.clear()
        cell.execution_count = number
        for output in cell.outputs:
            if output.output_type == "execute_result":
                output.execution_count = number
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = smaller(output.data["image/png"])
    return notebook


def smaller(png: str) -> str:
    """The same picture in 256 colours, about half the size; base64, as notebooks keep it."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB")
    reduced = io.BytesIO()
    picture.quantize(256, dither=Image.Dither.NONE).save(reduced, "PNG", optimize=True)
    return base64.b64encode(reduced.getvalue()).decode()


def main() -> int:
    """Execute what the command line names; 1 when a notebook failed."""
    about, _, more = (__doc__ or "").partition("\n\n")
    parser = argparse.ArgumentParser(
        description=about, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("notebooks", nargs="*", type=Path, help="all of notebooks/ if left out")
    parser.add_argument("--out", type=Path, metavar="DIR", help="where to write them")
    options = parser.parse_args()
    for path in options.notebooks or sorted(FOLDER.glob("*.ipynb")):
        try:
            done = executed(path.resolve())
        except CellExecutionError as error:
            print(f"{path}: {re.sub(COLOUR, '', str(error))}", file=sys.stderr)
            return 1
        target = options.out / path.name if options.out else path
        nbformat.write(done, target)
        print(target)
    return 0


if __name__ == "__main__":
    sys.exit(main())
