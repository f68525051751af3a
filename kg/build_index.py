"""Builds kg/names.faiss and kg/names.json from kg/graph.sqlite: `python kg/build_index.py`.

With `--encoder SPEC` it builds the index of another encoder, into the user's cache, where imapeval finds it.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.progress import Progress

from imapeval.graph.encoder import open_encoder
from imapeval.graph.index.names import NameIndex, cached_path
from imapeval.graph.store.graph import Graph

MAX_BYTES = 9_000_000
"""Maximum size of kg/names.faiss: the whole wheel must stay under 15 MB."""


def main() -> None:
    """Encode all names and write the index."""
    parser = argparse.ArgumentParser(description="Build the name index of the shipped graph.")
    parser.add_argument("--encoder", default="use", help="'use' (shipped) or 'st:NAME_OR_PATH'")
    spec = parser.parse_args().encoder
    encoder = open_encoder(spec)
    with Graph.open() as graph, Progress() as bar:
        shipped = spec == "use"
        path = Path(__file__).parent / "names.faiss" if shipped else cached_path(graph, encoder)
        task = bar.add_task("encoding names", total=None)
        index = NameIndex.build(
            graph,
            encoder,
            path,
            max_bytes=MAX_BYTES if shipped else None,
            progress=lambda n, of: bar.update(task, completed=n, total=of),
        )
    print(f"{path}: {len(index)} names, {path.stat().st_size / 1e6:.1f} MB, encoder {encoder.identity}, {index.recipe}")
    print(f"recall: {index.recall}")


if __name__ == "__main__":
    main()
