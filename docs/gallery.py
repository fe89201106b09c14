"""The gallery: pages of the documentation that are run, with what came out of them.

A hook of MkDocs. A page is run when its text has changed since, and its outputs are kept beside
the other figures; a notebook is written of each. A change of geodis alone runs nothing again:
`python docs/gallery.py --fresh` does, and so does a build from nothing.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from executed_page import Output, Page, as_markdown, as_notebook  # noqa: E402

PAGES = HERE / "pages"
FOLDERS = ("gallery",)
MADE = PAGES / "figures" / "gallery"
NOTEBOOKS = PAGES / "notebooks"


def sources() -> list[Path]:
    """The pages that are run, in their order."""
    return [path for name in FOLDERS for path in sorted((PAGES / name).glob("*.md"))
            if "```python" in path.read_text(encoding="utf-8")]  # fmt: skip


def on_pre_build(config: Any) -> None:
    """Run what has changed, before the pages are collected."""
    NOTEBOOKS.mkdir(exist_ok=True)
    for path in sources():
        book = as_notebook(Page(path), made(path))
        (NOTEBOOKS / f"{path.stem}.ipynb").write_text(book, encoding="utf-8")


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Put the outputs into a page that was run."""
    path = PAGES / page.file.src_uri
    if path not in sources():
        return markdown
    return as_markdown(
        Page(path), made(path), f"../figures/gallery/{path.stem}", f"../notebooks/{path.stem}.ipynb"
    )


def made(path: Path, fresh: bool = False) -> list[Output]:
    """Outputs of a page: those that are kept, if the page is still the same."""
    page, folder = Page(path), MADE / path.stem
    digest = hashlib.sha256(page.source.encode()).hexdigest()
    kept = folder / "outputs.json"
    if kept.exists() and not fresh:
        told = json.loads(kept.read_text(encoding="utf-8"))
        if told["source"] == digest:
            return [read_output(folder, number, *one) for number, one in enumerate(told["outputs"])]
    print(f"running {path.relative_to(PAGES)}", flush=True)
    before = time.process_time()
    outputs = page.run()
    print(f"  {time.process_time() - before:.1f} processor s", flush=True)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, output in enumerate(outputs):
        if output.suffix:
            (folder / f"{number}.{output.suffix}").write_bytes(output.figure)
    told = {"source": digest, "outputs": [[one.text, one.suffix] for one in outputs]}
    kept.write_text(json.dumps(told), encoding="utf-8")  # last: what is kept is whole
    return outputs


def read_output(folder: Path, number: int, text: str, suffix: str) -> Output:
    """What a block gave, from where it is kept."""
    return Output(text, suffix, (folder / f"{number}.{suffix}").read_bytes() if suffix else b"")


def main() -> None:
    """Run pages from the command line."""
    parser = argparse.ArgumentParser(description="Run the pages of the gallery.")
    parser.add_argument("names", nargs="*", help="stems of pages; all of them by default")
    parser.add_argument("--fresh", action="store_true", help="run pages that have not changed, too")
    parser.add_argument("--quick", action="store_true", help="in the short form; keep nothing")
    parser.add_argument("--show", action="store_true", help="print the text that came out")
    given = parser.parse_args()
    for path in sources():
        if given.names and path.stem not in given.names:
            continue
        before = time.process_time()
        outputs = Page(path).run(quick=True) if given.quick else made(path, given.fresh)
        if given.quick:
            print(f"{path.stem}: {time.process_time() - before:.1f} processor s", flush=True)
        if given.show:
            for number, output in enumerate(outputs):
                print(f"--- {number + 1} {output.suffix}\n{output.text}")


if __name__ == "__main__":
    main()
