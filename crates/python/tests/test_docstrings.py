"""Holds the docstrings of public calls: each has its parameters, what it returns and raises, and an example that runs."""

from __future__ import annotations

import doctest
import inspect
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import seekwise as sw
from conftest import DRIVE, STUDY
from seekwise._native import Plan
from seekwise._setup import setup_call

#: Classes that users construct; others come from calls.
CONSTRUCTED = {"Disk", "FolderStore", "RayEngine", "ThreadEngine", "UrlStore", "Work"}


def public_calls() -> Iterator[tuple[str, Any]]:
    """Public functions, methods of public classes, and constructors that users call."""
    for name in sw.__all__:
        value = getattr(sw, name)
        if name.startswith("__"):
            continue
        if not inspect.isclass(value):
            yield name, value
            continue
        if name in CONSTRUCTED:
            yield name, value
        bases = [base for base in value.__mro__ if base.__module__.startswith("seekwise")]
        members = {member: getattr(value, member) for base in bases for member in vars(base) if not member.startswith("_")}
        for member, call in members.items():
            hidden = ("set_word", "limits_tuple", "fingerprint", "saved_calls", "make_calls")
            # Of a method without words of its own, the class above has them.
            if callable(call) and call.__doc__ and not inspect.isclass(call) and member not in hidden:
                yield f"{name}.{member}", call


def public_values() -> Iterator[tuple[str, Any]]:
    """Public classes, and the properties of them."""
    for name in sw.__all__:
        value = getattr(sw, name)
        if inspect.isclass(value):
            yield name, value
            for member, found in vars(value).items():
                if not member.startswith("_") and isinstance(found, property | cached_property):
                    yield f"{name}.{member}", found


CALLS = dict(public_calls())


def parameters(name: str, call: Any) -> list[str]:
    """The names of a call's parameters."""
    try:
        known = inspect.signature(call.__new__ if inspect.isclass(call) and "__new__" in vars(call) else call).parameters
    except ValueError:
        return []
    return [parameter for parameter in known if parameter not in ("self", "cls")]


@pytest.mark.parametrize("name", CALLS)
def test_a_docstring_has_parameters_returns_raises_and_an_example(name: str) -> None:
    call = CALLS[name]
    text = inspect.getdoc(call) or ""
    missing = [parameter for parameter in parameters(name, call) if f"\n    {parameter}: " not in text]
    assert not missing, f"{name}: no {', '.join(missing)}"
    for heading in ("Returns:", "Raises:", ">>> "):
        assert heading in text, f"{name}: no {heading}"


def test_every_class_and_property_says_what_it_is() -> None:
    for name, value in public_values():
        assert value.__doc__, name


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Results by the names that examples use."""
    folder = tmp_path_factory.mktemp("examples")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        lines = [f"R,{at * 7919 % 400_000_000},8,{4 + at % 7},0" for at in range(400)]
        Path("measured.csv").write_text("\n".join(["op,lba,sectors,measured_response_ms,think_ms", *lines]) + "\n")
        rows = [f"{128166372003061629 + at * 200000},h,0,Read,{at * 8192 * 37},4096,1" for at in range(300)]
        Path("trace.csv").write_text("\n".join(rows) + "\n")
        Path("study.toml").write_text(STUDY)
        vary = {"job.depth": [1, 4]}
        command = setup_call("random-read", DRIVE, None, 1, "1s")
        return {
            "folder": folder,
            "sw": sw,
            "plan": Plan.of_setup(command, [], 1),
            "result": sw.run("random-read", on=DRIVE, runtime="1s", out="of-run"),
            "comparison": sw.compare("random-read", on=DRIVE, vary=vary, runs=2, runtime="1s", out="kept"),
            "choice": sw.choose(
                "random-read", sw.grid({"job.depth": [1, 4]}, on=[DRIVE]), keep={"p99_ms": "< 200"}, most="iops", runs=3, runtime="2s"
            ),
            "study": sw.study(sw.Text(STUDY), out="studied"),
            "validation": sw.validate("measured.csv", "atlas-10k-v-300"),
            "cuts": sw.power_cut("random-write", on=DRIVE, cuts=20, runtime="1s"),
            "rebuilt": sw.rebuild(DRIVE, "raid-1", 2, users=20, live=0.01),
            "fitted": sw.fit("measured.csv", "atlas-10k-v-300", only="overhead", generations=1, points=25),
        }


@pytest.mark.parametrize("name", CALLS)
def test_an_example_runs(name: str, known: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    pytest.importorskip("matplotlib.pyplot").close("all")
    monkeypatch.chdir(known["folder"])
    names = {**known, "disk": sw.Disk(DRIVE)}
    text = inspect.getdoc(CALLS[name]) or ""
    example = doctest.DocTestParser().get_doctest(text, names, name, None, 0)
    said: list[str] = []
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    ran = doctest.DocTestRunner(optionflags=flags).run(example, out=said.append)
    assert ran.failed == 0, "".join(said)
