"""Builds kg/names.faiss and kg/names.json from kg/graph.sqlite: `python kg/build_index.py`."""

from __future__ import annotations

from pathlib import Path

from rich.progress import Progress

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex
from imapeval.graph.store.graph import Graph

MAX_BYTES = 9_000_000
"""Maximum size of kg/names.faiss, which is part of the wheel."""


def main() -> None:
    """Encode all names and write the index."""
    encoder, path = open_encoder(), Path(__file__).parent / "names.faiss"
    with Graph.open() as graph, Progress() as bar:
        task = bar.add_task("encoding names", total=None)
        index = NameIndex.build(
            graph,
            encoder,
            path,
            max_bytes=MAX_BYTES,
            progress=lambda n, of: bar.update(task, completed=n, total=of),
        )
    print(f"{path}: {len(index)} names, {path.stat().st_size / 1e6:.1f} MB, encoder {encoder.identity}, {index.recipe}")
    print(f"recall: {index.recall}")


if __name__ == "__main__":
    main()
