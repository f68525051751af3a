"""Writes docs/cli.md out of the commands themselves: `python docs/write_cli.py`. A test compares the two."""

from pathlib import Path
from typing import Any

import typer

from imapeval.cli.main import app

PAGE = Path(__file__).with_name("cli.md")

HEAD = """# The command line

Written by `python docs/write_cli.py` out of what `--help` shows.

Every command prints a table or a sentence for people and, with `--json`, JSON for machines. Exit codes:

| code | meaning |
|---|---|
| 0 | done |
| 1 | more samples failed than `--max-failures` allows; without that option, all of them; or a `--threshold` is missed |
| 2 | bad usage or bad input: one message on stderr says what, where, and what to do about it |
| 130, 143, 129 | stopped with Ctrl-C, SIGTERM or SIGHUP (a closed terminal); the message says how to go on |
"""


def render() -> str:
    """Return the page."""
    group: Any = typer.main.get_command(app)
    return HEAD + "".join(_command(f"imapeval {name}", command) for name, command in _walk("", group))


def _walk(prefix: str, group: Any) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, command in group.commands.items():
        path = f"{prefix} {name}".strip()
        found += _walk(path, command) if hasattr(command, "commands") else [(path, command)]
    return found


def _command(name: str, command: Any) -> str:
    shown = [parameter for parameter in command.params if parameter.name != "help"]
    arguments = [parameter for parameter in shown if parameter.param_type_name == "argument"]
    usage = " ".join([name, *(_label(argument) for argument in arguments), "[OPTIONS]"])
    rows = "".join(f"| `{_label(parameter)}` | {_explain(parameter)} |\n" for parameter in shown)
    text = "\n".join(line.strip() for line in (command.help or "").splitlines())
    return f"\n## {name}\n\n    {usage}\n\n{text}\n" + (f"\n| | |\n|---|---|\n{rows}" if rows else "")


def _label(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return parameter.metavar or parameter.name.upper()
    value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
    return ", ".join(parameter.opts) + value


def _explain(parameter: Any) -> str:
    default = parameter.default
    told = "" if default is None or default is False or parameter.required else f" [default: `{default}`]"
    return " ".join(f"{parameter.help or ''}{told}".split()).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    PAGE.write_text(render(), encoding="utf-8")
