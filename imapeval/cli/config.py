"""Options from a file: `imapeval.toml`, or `[tool.imapeval]` in `pyproject.toml`."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from imapeval.errors import InputError
from imapeval.parsing import parse_toml

FILE = "imapeval.toml"
_PROJECT_FILE = "pyproject.toml"

_NOT_FROM_FILES = {
    **dict.fromkeys(("base-url", "engine", "token"), "send texts and keys elsewhere"),
    **dict.fromkeys(("html", "junit", "out", "summary", "table"), "write to any file of yours"),
}
"""Options with which a file in a folder that somebody else made could do harm, and how."""

_FIX = "`imapeval COMMAND --help` lists the options of a command."


def read_config(group: Any, start: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the nearest configuration and the defaults in it; None if there is none.

    The file is looked for in a folder and its parents. A key is the name of an option without "--", and stands for that
    option of every command that has it; in a table with a command's name, such as [score] or [study.correlate], for
    that command's only. A list stands for several values, a table for values such as those of --map.

    Args:
        group: The command `imapeval`, as click knows it.
        start: The folder.

    Returns:
        The file, and its values as a `default_map` of click.

    Raises:
        InputError: The file is not valid TOML, or no command has such an option.
    """
    found = _find(start)
    if found is None:
        return None
    path, text, content = found
    reader = _Reader(path, text)
    return path, reader.read_group(group, content, {})


def _find(start: Path) -> tuple[Path, str, dict[str, Any]] | None:
    for folder in (start, *start.parents):
        for name in (FILE, _PROJECT_FILE):
            path = folder / name
            try:
                text = path.read_text(encoding="utf-8")
            except (FileNotFoundError, NotADirectoryError, PermissionError, IsADirectoryError):
                continue
            except (OSError, UnicodeDecodeError) as error:
                raise InputError(f"cannot be read ({error})", path=path, fix="Save it as UTF-8.") from error
            if name == _PROJECT_FILE and "imapeval" not in text:
                continue
            content: dict[str, Any] | None = parse_toml(text, path)
            for key in ("tool", "imapeval") if name == _PROJECT_FILE else ():
                inner: Any = None if content is None else content.get(key)
                if not isinstance(inner, dict | None):
                    raise InputError(f"{key} is not a table", path=path, fix="Write options below [tool.imapeval].")
                content = cast("dict[str, Any] | None", inner)
            if content is not None:
                return path, text, content
    return None


class _Reader:
    """Turns the content of a file into defaults."""

    def __init__(self, path: Path, text: str) -> None:
        self._path = path
        self._lines = text.splitlines()

    def read_group(self, group: Any, content: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
        """Return the defaults of the commands of a group, given those that all commands share."""
        tables = cast(
            "dict[str, dict[str, Any]]",
            {key: value for key, value in content.items() if key in group.commands and isinstance(value, dict)},
        )
        own = {_option_name(key): value for key, value in content.items() if key not in tables}
        known = {name for command in walk_commands(group) for name in _options(command)}
        for key in own:
            if key not in known:
                raise self._error(f"no command has an option --{key}", key)
        defaults: dict[str, Any] = {}
        for name, command in group.commands.items():
            read = self.read_group if hasattr(command, "commands") else self._read_command
            defaults[name] = read(command, tables.get(name, {}), {**shared, **own})
        return defaults

    def _read_command(self, command: Any, table: Mapping[str, Any], shared: Mapping[str, Any]) -> dict[str, Any]:
        options = _options(command)
        own = {_option_name(key): value for key, value in table.items()}
        for key in own:
            if key not in options:
                raise self._error(f"`{command.name}` has no option --{key}", key)
        values = {**{key: value for key, value in shared.items() if key in options}, **own}
        return {options[key].name: self._convert(options[key], key, value) for key, value in values.items()}

    def _convert(self, option: Any, key: str, value: Any) -> Any:
        if key in _NOT_FROM_FILES:
            raise self._error(
                f"--{key} is not read from a file: a folder from somewhere else could {_NOT_FROM_FILES[key]}",
                key,
                fix=f"Give --{key} on the command line.",
            )
        if isinstance(value, bool) != bool(option.is_flag):
            raise self._error(f"{key} is {value!r}", key, fix=f"{'Write true or false' if option.is_flag else _FIX}.")
        if isinstance(value, dict):
            value = list(_flatten(cast("dict[str, Any]", value)))
        if isinstance(value, list):
            texts = [str(item) for item in cast("list[Any]", value)]
            return texts if option.multiple else ",".join(texts)
        return [str(value)] if option.multiple else value

    def _error(self, problem: str, key: str, *, fix: str = _FIX) -> InputError:
        spelled = re.escape(key).replace(r"\-", "[-_]")
        pattern = re.compile(rf"""\s*(\[(.*\.)?)?["']?{spelled}["']?\s*[]=.]""")
        line = next((number for number, text in enumerate(self._lines, 1) if pattern.match(text)), None)
        return InputError(problem, path=self._path, line=line, fix=fix)


def _option_name(key: str) -> str:
    return key.replace("_", "-")


def walk_commands(group: Any) -> Iterator[Any]:
    """Yield the commands of a group and of the groups in it."""
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from walk_commands(command)
        else:
            yield command


def _options(command: Any) -> dict[str, Any]:
    """Return the options of a command by their long names."""
    return {
        name.removeprefix("--"): parameter
        for parameter in command.params
        for name in parameter.opts
        if parameter.param_type_name == "option" and name.startswith("--")
    }


def _flatten(table: Mapping[str, Any], prefix: str = "") -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from _flatten(cast("dict[str, Any]", value), f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}={value}"
