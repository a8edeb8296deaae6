"""The JSON Schema of the output of `netlimits diagnose --json`: one object per direction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_NUMBER: Mapping[str, Any] = {"type": ["number", "null"]}
_TEXT: Mapping[str, Any] = {"type": "string"}


def _object(**properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": list(properties),
        "properties": properties,
    }


def _list(items: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


_COST: Mapping[str, Any] = {**_list(_NUMBER), "minItems": 2, "maxItems": 2}

SCHEMA: Mapping[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "netlimits diagnose",
    **_object(
        path={
            "description": "The two hosts, and what their link is.",
            **_object(sender=_TEXT, receiver=_TEXT, link=_TEXT),
        },
        workloads=_list(
            _object(
                workload={"description": "tcp, tcp-4, udp or rr.", **_TEXT},
                throughput_mbps={"description": "Mean that arrived; null of rr.", **_NUMBER},
                transaction_rate_tps={"description": "Mean of rr; null of others.", **_NUMBER},
                low={"description": "The mean's 95 % interval.", **_NUMBER},
                high=_NUMBER,
                limit={"description": "Class of `describe verdicts`; the likeliest if open.",
                       **_TEXT},
                state={"enum": ["proven", "suggested", "open"]},
                proof={"description": "The change that proves it, in words.", **_TEXT},
                cpu_us={
                    "description": "CPU time per KiB, of rr per transaction, µs.",
                    **_object(send=_NUMBER, receive=_NUMBER),
                },
                sensitivities=_list(
                    _object(
                        resource=_TEXT,
                        value={"description": "Δ ln throughput / Δ ln dose.", **_NUMBER},
                        low=_NUMBER,
                        high=_NUMBER,
                        state={"enum": ["proven", "ruled out", "open"]},
                    )
                ),
                ruled_out={
                    "description": "Resources that counters rule out without a change, and why.",
                    "type": "object",
                    "additionalProperties": _TEXT,
                },
                known={
                    "description": "What is known whatever the verdict, by column.",
                    "type": "object",
                    "additionalProperties": _NUMBER,
                },
                evidence={"description": "What the counters of a run say.", **_TEXT},
            )
        ),
        ladder=_list(
            _object(
                workload=_TEXT,
                change=_TEXT,
                ratio=_NUMBER,
                low=_NUMBER,
                high=_NUMBER,
                throughput={"description": "Mbit/s, of rr transactions/s.", **_NUMBER},
                cost={
                    "description": "CPU time before and after, as cpu_us.",
                    **_object(send=_COST, receive=_COST),
                },
                commands=_list(_TEXT),
                then={"description": "The limit that is next.", **_TEXT},
            )
        ),
        left_out={"description": "Changes that could not be made, and why.", **_list(_TEXT)},
        profile={"description": "What the CPU did, of --profile.", **_list(_TEXT)},
        restored={"type": "boolean"},
        results={"description": "The campaign's folder.", **_TEXT},
        pending={"description": "Number of planned runs without an outcome.", "type": "integer"},
    ),
}  # fmt: skip
