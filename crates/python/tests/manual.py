"""Writes the Python code of the manual into a folder, for checkers of types: the blocks of each page as one file, as a
reader runs them in order, and the cells of each notebook as another. Called as `manual.py DOCS FOLDER`; the tests are copied there too."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

#: A block of Python in a page.
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)


def python_blocks(page: Path) -> list[str]:
    """The blocks of a page, in order."""
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def notebook_code(notebook: Path) -> str:
    """The code of a notebook, in order."""
    cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code") + "\n"


def write_files(docs: Path, folder: Path) -> int:
    """Writes a file for each page with blocks and for each notebook; returns how many."""
    codes = {f"page_{page.stem}": "\n".join(python_blocks(page)) for page in sorted(docs.rglob("*.md"))}
    codes |= {f"notebook_{path.stem}": notebook_code(path) for path in sorted((docs / "notebooks").glob("*.ipynb"))}
    kept = {name: code for name, code in codes.items() if code}
    for name, code in kept.items():
        (folder / f"{name.replace('-', '_')}.py").write_text(code, encoding="utf-8")
    return len(kept)


if __name__ == "__main__":
    for test in Path(__file__).parent.glob("*.py"):
        shutil.copy(test, sys.argv[2])
    print(f"{write_files(Path(sys.argv[1]), Path(sys.argv[2]))} files of the manual")
