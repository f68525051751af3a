"""`imapeval datasets`: the sample data that is part of imapeval."""

from imapeval.cli.options import Json
from imapeval.cli.output import Column, emit

_COLUMNS = [
    Column("name", lambda row: row["name"], text=True, wrap=False),
    Column("samples", lambda row: row["samples"]),
    Column("path", lambda row: row["path"], text=True),
]


def datasets(json_output: Json = False) -> None:
    """List the shipped sample data; `imapeval score NAME` scores one of them."""
    from imapeval.evaluation.samples import read, shipped_samples

    rows = [{"name": name, "samples": len(read(path)), "path": str(path)} for name, path in shipped_samples().items()]
    emit(rows, _COLUMNS, as_json=json_output)
