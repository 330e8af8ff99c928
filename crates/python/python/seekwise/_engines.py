"""What runs the parts of a sweep: threads of this process, or Ray. Any other engine has the same three methods."""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Protocol

from seekwise._error import SeekwiseError
from seekwise._native import CancelFlag, Plan
from seekwise._setup import PartWords
from seekwise._stores import Store

#: Seconds from one look for Ctrl-C to the next.
LOOK = 0.05


#: The plan that this process had last: a worker runs many parts of one.
_plans: dict[str, Plan] = {}


def _plan(text: str) -> Plan:
    plan = _plans.get(text)
    if plan is None:
        plan = Plan.of_text(text)
        _plans.clear()
        _plans[text] = plan
    return plan


@dataclass(frozen=True, slots=True)
class Work:
    """What a worker does with a part. It is made of texts, so any machine with the same build can do it."""

    #: The plan, with all that it was made from.
    plan: str = field(repr=False)
    #: Where parts are kept.
    store: Store

    def __call__(self, part: PartWords, cancel: CancelFlag | None = None) -> str:
        """Runs a part, keeps it, and answers its name. Done twice, it keeps the same bytes."""
        self.store.write(part[2], _plan(self.plan).run(part, cancel))
        return part[2]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a part ended. Without an error it is kept; with one it is made again if its worker was lost, and else it is the end."""

    part: PartWords
    error: BaseException | None = None
    lost: bool = False


class Engine(Protocol):
    """Runs parts anywhere, in any order, once or more often. What it loses is handed to it again."""

    def submit(self, work: Work, part: PartWords) -> None:
        """Takes a part to run."""
        ...

    def as_completed(self) -> Iterator[Outcome]:
        """How each part ended that was taken, also while more come; it ends when none is left."""
        ...

    def cancel(self) -> None:
        """Gives up all that was taken."""
        ...


class ThreadEngine:
    """The cores of this machine. Threads are enough: the interpreter is let go while a part runs."""

    def __init__(self, threads: int = 0) -> None:
        self.slots: int = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.slots, thread_name_prefix="seekwise")
        self._cancel = CancelFlag()
        self._running: dict[Future[str], PartWords] = {}

    def submit(self, work: Work, part: PartWords) -> None:
        """Takes a part to run."""
        self._running[self._pool.submit(work, part, self._cancel)] = part

    def as_completed(self) -> Iterator[Outcome]:
        """How each part ended."""
        while self._running:
            done, _ = wait(self._running, timeout=LOOK, return_when=FIRST_COMPLETED)
            for future in done:
                yield Outcome(self._running.pop(future), future.exception())

    def cancel(self) -> None:
        """Gives up all that was taken."""
        self._cancel.set()
        self._pool.shutdown(cancel_futures=True)
        self._running.clear()


def _remote(work: Work, part: PartWords) -> str:
    return work(part)


def begin() -> None:
    """A worker of Ray calls this before its first task. So this module is imported by then: for tasks Ray has a worker look into the
    driver's current folder before all others, and anybody's `seekwise.py` may lie there."""


class RayEngine:
    """Ray: the cluster of `RAY_ADDRESS` or of `address`, else processes of this machine. Each worker needs this build."""

    def __init__(self, address: str | None = None, **options: Any) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            why = "engine ray: Ray is not installed; expected engine threads, or `pip install seekwise[ray]`"
            raise SeekwiseError(why) from error
        self._ray = ray
        if not ray.is_initialized():
            first = {"worker_process_setup_hook": f"{__name__}.{begin.__name__}"}
            ray.init(address=address, log_to_driver=False, **{"runtime_env": first, **options})
        self._run = ray.remote(_remote)
        self._work: tuple[Work, Any] | None = None
        self._running: dict[Any, PartWords] = {}
        self.slots: int = int(ray.cluster_resources().get("CPU", 1))

    def submit(self, work: Work, part: PartWords) -> None:
        """Takes a part to run."""
        if self._work is None or self._work[0] != work:
            # The plan is sent to each machine once, not with each part.
            self._work = (work, self._ray.put(work))
        self._running[self._run.remote(self._work[1], part)] = part

    def as_completed(self) -> Iterator[Outcome]:
        """How each part ended."""
        while self._running:
            done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=LOOK)
            for answer in done:
                part = self._running.pop(answer)
                try:
                    self._ray.get(answer)
                    yield Outcome(part)
                except self._ray.exceptions.RayTaskError as error:
                    yield Outcome(part, error.cause if isinstance(error.cause, Exception) else error)
                except self._ray.exceptions.RayError as error:
                    # Ray itself tried again some times by then.
                    yield Outcome(part, error, lost=True)

    def cancel(self) -> None:
        """Gives up all that was taken."""
        for answer in self._running:
            self._ray.cancel(answer, force=True)
        self._running.clear()


def engine_of(name: str, address: str | None = None) -> Engine:
    """The engine of this name."""
    match name:
        case "threads":
            return ThreadEngine()
        case "ray":
            return RayEngine(address)
    raise SeekwiseError(f"engine {name}: no such engine; expected threads or ray")
