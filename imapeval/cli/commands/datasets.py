"""`imapeval datasets`: the sample data that ships."""

import json

from imapeval.cli.options import Json
from imapeval.cli.output import echo


def datasets(json_output: Json = False) -> None:
    """List the shipped sample data; `imapeval score NAME` scores one of them."""
    from imapeval.evaluation.samples import read, shipped_samples

    rows = [{"name": name, "samples": len(read(path)), "path": str(path)} for name, path in shipped_samples().items()]
    if json_output:
        echo(json.dumps(rows, ensure_ascii=False, indent=2))
        return
    for row in rows:
        echo(f"{row['name']}  {row['samples']} samples  {row['path']}")
