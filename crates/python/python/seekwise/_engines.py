"""Engines, which run the parts of a sweep: threads of this process, or Ray. Callers may write others with the same
three methods."""

from __future__ import annotations

import logging
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

#: Seconds of a wait for parts, after which Ctrl-C is noticed.
WAIT_S = 0.05


#: What Ray costs beside threads if it has this machine alone (docs/python.md has the measurement).
LOCAL_RAY_COST = (
    "starts on this machine alone, which takes some 4 s, 4 processor seconds and 600 MiB more than engine threads, and runs "
    "no part sooner; expected address= or RAY_ADDRESS of a cluster"
)

_log = logging.getLogger("seekwise")

#: The last plan that this process parsed, by its text: a worker runs many parts of one plan.
_last_plan: dict[str, Plan] = {}


def _parsed_plan(text: str) -> Plan:
    plan = _last_plan.get(text)
    if plan is None:
        plan = Plan.from_text(text)
        _last_plan.clear()
        _last_plan[text] = plan
    return plan


@dataclass(frozen=True, slots=True)
class Work:
    """The work of a worker: it runs a part and keeps its file. It is made of texts, so any machine with the same build
    can do it.

    Parameters:
        plan: the plan of a sweep as a text.
        store: where parts are kept.

    Returns:
        a function of a part.

    Raises:
        nothing: a plan that cannot be read is an error of its first part.

    >>> sw.Work(plan.text, sw.FolderStore("of-work"))(plan.parts(1)[0])
    'part-0-1-....parquet'
    """

    #: The plan as a text, with all that it was made from.
    plan: str = field(repr=False)
    #: Where parts are kept.
    store: Store

    def __call__(self, part: PartWords, cancel: CancelFlag | None = None) -> str:
        """Runs a part and keeps its file. Done twice, it keeps equal bytes.

        Parameters:
            part: its first cell, the cell after its last, the name of its file.
            cancel: ends the run when it is set.

        Returns:
            the file's name.

        Raises:
            SeekwiseError: the part cannot run, or cannot be kept.

        >>> sw.Work(plan.text, sw.FolderStore("of-work"))(plan.parts(1)[0])
        'part-0-1-....parquet'
        """
        self.store.write(part[2], _parsed_plan(self.plan).run(part, cancel))
        return part[2]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a part ended. Without an error it is kept. With an error it is run again if its worker was lost; else the
    sweep ends."""

    part: PartWords
    error: BaseException | None = None
    lost: bool = False


class Engine(Protocol):
    """Runs parts anywhere, in any order, once or more often. Parts that it loses are handed to it again. It may have
    `slots`, the number of parts that run at once.
    """

    def submit(self, work: Work, part: PartWords) -> None:
        """Takes a part to run.

        Parameters:
            work: what runs it.
            part: its first cell, the cell after its last, the name of its file.

        Returns:
            nothing; `as_completed` says how it ended.

        Raises:
            RuntimeError: after `cancel`.

        >>> engine = sw.ThreadEngine(1)  # a sweep calls it, and so may a test of an engine of one's own
        >>> engine.submit(sw.Work(plan.text, sw.FolderStore("of-engine")), plan.parts(1)[0])
        >>> [outcome.part[:2] for outcome in engine.as_completed()]
        [(0, 1)]
        """
        ...

    def as_completed(self) -> Iterator[Outcome]:
        """Yields how each part ended that was taken, also parts that are taken meanwhile; returns when none is left.

        Returns:
            an iterator of outcomes, in the order in which parts end.

        Raises:
            nothing: an error of a part is in its outcome.

        >>> list(sw.ThreadEngine(1).as_completed())
        []
        """
        ...

    def cancel(self) -> None:
        """Gives up all parts that were taken.

        Returns:
            nothing.

        Raises:
            nothing.

        >>> sw.ThreadEngine(1).cancel()
        """
        ...


class ThreadEngine(Engine):
    """Runs parts on the cores of this machine. Threads are enough: the interpreter is free while a part runs.

    Parameters:
        threads: how many parts run at once; 0, the default, is one for each core.

    Returns:
        an engine for `sweep`, `choose` and `search`.

    Raises:
        SeekwiseError: `threads` is below 0.

    >>> by_four = sw.ThreadEngine(4)
    >>> one = sw.grid(on="exos-x18")
    >>> sw.sweep("random-read", one, runs=1, runtime="1s", out="by-four", engine=by_four, progress=False).title
    'random-read on exos-x18'
    """

    def __init__(self, threads: int = 0) -> None:
        if threads < 0:
            raise SeekwiseError(f"threads={threads}; expected 1 or more, or 0 for one for each core")
        self.slots: int = threads or os.cpu_count() or 1
        self._pool = ThreadPoolExecutor(self.slots, thread_name_prefix="seekwise")
        self._cancel = CancelFlag()
        self._running: dict[Future[str], PartWords] = {}

    def submit(self, work: Work, part: PartWords) -> None:
        self._running[self._pool.submit(work, part, self._cancel)] = part

    def as_completed(self) -> Iterator[Outcome]:
        while self._running:
            done, _ = wait(self._running, timeout=WAIT_S, return_when=FIRST_COMPLETED)
            for future in done:
                yield Outcome(self._running.pop(future), future.exception())

    def cancel(self) -> None:
        self._cancel.set()
        self._pool.shutdown(cancel_futures=True)
        self._running.clear()


def _run_remotely(work: Work, part: PartWords) -> str:
    return work(part)


def import_before_tasks() -> None:
    """Does nothing, but a worker of Ray calls it before its first task, and thereby imports this module. For tasks, Ray
    makes a worker look for modules in the driver's current folder before all others, and anybody's `seekwise.py` may
    lie there."""


class RayEngine(Engine):
    """Runs parts on Ray: the cluster of `RAY_ADDRESS` or of `address`, else processes of this machine. Each worker
    needs this build. Before Ray starts on this machine, a warning of the logger `seekwise` says what that costs.

    Parameters:
        address: the address of a cluster, such as "10.0.0.1:6379" or "auto".
        options: of `ray.init`, such as `num_cpus=2`.

    Returns:
        an engine for `sweep`, `choose` and `search`.

    Raises:
        SeekwiseError: Ray is not installed.
        ConnectionError: there is no cluster at the address.

    >>> engine = sw.RayEngine("auto")  # doctest: +SKIP
    >>> sw.sweep("file-server", sw.grid(on="exos-x18"), out="s3://lab/swept", engine=engine)  # doctest: +SKIP
    """

    def __init__(self, address: str | None = None, **options: Any) -> None:
        try:
            ray: Any = import_module("ray")
        except ImportError as error:
            why = "engine ray: Ray is not installed; expected engine threads, or `pip install seekwise[ray]`"
            raise SeekwiseError(why) from error
        self._ray = ray
        if not ray.is_initialized():
            if address is None and not os.environ.get("RAY_ADDRESS"):
                _log.warning("engine ray: %s", LOCAL_RAY_COST)
            worker_setup = {"worker_process_setup_hook": f"{__name__}.{import_before_tasks.__name__}"}
            ray.init(address=address, log_to_driver=False, **{"runtime_env": worker_setup, **options})
        self._remote_function = ray.remote(_run_remotely)
        #: Work that was sent, and Ray's reference to it, by its plan.
        self._sent_work: dict[str, tuple[Work, Any]] = {}
        self._running: dict[Any, PartWords] = {}
        self.slots: int = int(ray.cluster_resources().get("CPU", 1))

    def submit(self, work: Work, part: PartWords) -> None:
        sent_work, reference = self._sent_work.get(work.plan, (None, None))
        if sent_work != work:
            # The plan is sent to each machine once, not with each part.
            reference = self._ray.put(work)
            self._sent_work[work.plan] = (work, reference)
        self._running[self._remote_function.remote(reference, part)] = part

    def as_completed(self) -> Iterator[Outcome]:
        while self._running:
            done, _ = self._ray.wait(list(self._running), num_returns=1, timeout=WAIT_S)
            for reference in done:
                part = self._running.pop(reference)
                try:
                    self._ray.get(reference)
                    yield Outcome(part)
                except self._ray.exceptions.RayTaskError as error:
                    yield Outcome(part, error.cause if isinstance(error.cause, Exception) else error)
                except self._ray.exceptions.RayError as error:
                    # Ray itself has retried it some times before.
                    yield Outcome(part, error, lost=True)

    def cancel(self) -> None:
        for reference in self._running:
            self._ray.cancel(reference, force=True)
        self._running.clear()


def engine_by_name(name: str, address: str | None = None) -> Engine:
    """The engine of this name."""
    match name:
        case "threads":
            return ThreadEngine()
        case "ray":
            return RayEngine(address)
    raise SeekwiseError(f"engine {name}: no such engine; expected threads or ray")
