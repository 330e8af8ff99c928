"""Executes the notebooks and the examples of the manual as they are."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

import pytest

from conftest import missing, no_file_system

DOCS = Path(__file__).parents[3] / "docs"


NOTEBOOKS = ["first-comparison", "fitted-drive", "sweep-and-search", "head-time", "crash-laboratory"]


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_a_notebook_runs(name: str, here: Path) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    pytest.importorskip("ipykernel")
    if name == "crash-laboratory" and (lacks := no_file_system() or missing("sqlite3")):
        pytest.skip(lacks)
    if name == "fitted-drive" and os.environ.get("SEEKWISE_DRAWS") != "all":
        pytest.skip("the fit takes minutes: it runs with SEEKWISE_DRAWS=all; the how-to has its steps")
    notebook = nbformat.read(DOCS / "notebooks" / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without output"
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    html = [out.data["text/html"] for cell in notebook.cells for out in cell.get("outputs", []) if "text/html" in out.get("data", {})]
    assert html, "a result shows itself"


def test_every_notebook_is_tested() -> None:
    names = {path.stem for path in (DOCS / "notebooks").glob("*.ipynb")}
    assert names == set(NOTEBOOKS)


def test_the_examples_of_the_manual_run(here: Path) -> None:
    for name in ("pandas", "polars", "duckdb", "pyarrow", "optuna"):
        pytest.importorskip(name)
    blocks = re.findall(r"^```python\n(.*?)^```", (DOCS / "python.md").read_text(), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 6
    known: dict[str, object] = {}
    for block in blocks:
        # As in a notebook: what a block ends in can show itself.
        tree = ast.parse(block)
        exec(compile(tree, "docs/python.md", "exec"), known)
        for statement in tree.body:
            if isinstance(statement, ast.Expr):
                assert repr(eval(compile(ast.Expression(statement.value), "docs/python.md", "eval"), known))
