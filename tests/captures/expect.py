"""Write what comes of a capture into the second file of its pair, for review.

    python tests/captures/expect.py iperf3/tcp-321 '{"options": {"seconds": 1}, "status": 0}'

The JSON is what the reader is told; left out where the pair's second file says it. What that file
expects already is never changed: figures that come out otherwise are told, and nothing is written.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import pairs


def conflicts(expected: Any, outcome: Any, where: str = "") -> list[str]:
    """What is expected and does not come out, in words; more may come out."""
    if isinstance(expected, dict) and isinstance(outcome, dict):
        return [
            line
            for key, value in expected.items()
            for line in conflicts(value, outcome.get(key, "nothing"), f"{where}/{key}")
        ]
    if isinstance(expected, list) and isinstance(outcome, list) and len(expected) == len(outcome):
        return [
            line
            for n, (value, now) in enumerate(zip(expected, outcome, strict=True))
            for line in conflicts(value, now, f"{where}/{n}")
        ]
    return (
        [] if expected == outcome else [f"{where[1:]}: {expected!r} is expected, not {outcome!r}"]
    )


def main(place: str, given: str = "") -> int:
    folder, _, name = place.rpartition("/")
    path = pairs.CAPTURES / folder / f"{name}.json"
    about = json.loads(path.read_text()) if path.exists() else {}
    about["given"] = json.loads(given) if given else about.get("given", {})
    outcome = pairs.outcome_of(folder, pairs.output(folder, name), about["given"])
    if wrong := conflicts(about.get("expected", {}), outcome):
        print(f"{path}: {'; '.join(wrong)}", file=sys.stderr)
        return 1
    contents = {"given": about["given"], "expected": outcome}
    path.write_text(json.dumps(contents, indent=1, ensure_ascii=False) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]) if len(sys.argv) in (2, 3) else __doc__)
