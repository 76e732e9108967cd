"""Example in the description of the API: one worker, and its queue."""

from datetime import timedelta

from service.experiments.examples import CREATED, RUN_ID
from service.workload.schemas import QueueList, QueueOut, WorkerList, WorkerOut

QUEUE = QueueOut(device="cpu", queued=3, running=1, oldest_seconds=4.2, workers=1, expected_wait_seconds=32.6)
WORKER = WorkerOut(
    id="wrk_01KAJ3TZX4G6P8D1K3N5B7F9HJ",
    host="node-1",
    pid=4711,
    device="cpu",
    queues=["auto", "cpu"],
    fused=True,
    run_id=RUN_ID,
    started_at=CREATED - timedelta(minutes=5),
    heartbeat_at=CREATED + timedelta(seconds=4),
)
QUEUES = QueueList(items=[QUEUE])
WORKERS = WorkerList(items=[WORKER])
