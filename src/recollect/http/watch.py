"""How the server is: alive, ready, and what it did. Logs and metrics tell of requests, never of memories."""

from __future__ import annotations

import logging
from typing import Any

from fastapi import Request
from starlette.responses import Response

from .gate import Visit
from .problems import answer
from .routing import Door
from .service import Service, ready

door = Door(tags=["server"])
log = logging.getLogger("recollect.http")


class Watch:
    """Told of every request: a line in the log, a count in the metrics."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def __call__(self, visit: Visit) -> None:
        self._service.counts.request(visit.path, visit.status, visit.ms / 1000)
        said = {
            "request": visit.id, "method": visit.scope["method"], "path": visit.path, "status": visit.status,
            "ms": round(visit.ms, 2), "bytes": visit.sent, "token": visit.caller.token if visit.caller else "",
        }  # fmt: skip
        if visit.trouble:
            said["trouble"] = visit.trouble
        log.log(logging.ERROR if visit.status >= 500 or visit.trouble else logging.INFO, "request", extra={"said": said})


@door.get("/health", answers=dict[str, str], summary="Whether the process is alive")
async def health() -> Response:
    return answer({"status": "ok"})


@door.get("/metrics", answers=str, summary="Counts for Prometheus", media="text/plain")
async def metrics(request: Request) -> Response:
    service: Service = request.scope["state"]["service"]
    waiting = await service.threads.run(service.memory.store.outbox.waiting, None)
    gauges = [("recollect_waiting_jobs", "Texts that wait for a vector.", waiting),
              ("recollect_calls_under_way", "Calls under way in this process.", len(service.threads))]  # fmt: skip
    return Response(service.counts.text(gauges), media_type="text/plain; version=0.0.4; charset=utf-8")


@door.get("/ready", answers=dict[str, Any], summary="Whether questions can be answered, by back end")
async def readiness(request: Request) -> Response:
    service: Service = request.scope["state"]["service"]
    backends = await service.threads.run(service.backends)
    well = ready(backends)
    return answer({"ready": well, "backends": backends}, status=200 if well else 503)
