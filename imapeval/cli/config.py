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
    "url": "send raters' links elsewhere",
    **dict.fromkeys(("html", "junit", "out", "summary", "table"), "write to any file of yours"),
}
"""Options with which a file in a folder that somebody else made could do harm, and how."""

_Value = tuple[Any, str]
"""A value, and the table that holds it: "" for the file itself, "tool.imapeval" for that of `pyproject.toml`."""

_FIX = "`imapeval COMMAND --help` lists the options of a command."


def read_config(group: Any, start: Path) -> tuple[Path, dict[str, Any]] | None:
    """Return the nearest configuration and the defaults in it; None if there is none.

    The file is looked for in a folder and its parents. A key is the name of an option without "--", and stands for that
    option of every command that has it, as a flag if the value is true or false; in a table with a command's name, such
    as [score] or [study.correlate], for that command's only. A list stands for several values, a table for values such
    as those of --map.

    Args:
        group: The command `imapeval`, as click knows it.
        start: The folder.

    Returns:
        The file, and its values as a `default_map` of click.

    Raises:
        InputError: The file is not valid TOML, a key is there twice, or no command has such an option.
    """
    found = _find(start)
    if found is None:
        return None
    path, text, content = found
    reader = _Reader(path, text)
    return path, reader.read_group(group, content, {}, table="" if path.name == FILE else "tool.imapeval")


def _find(start: Path) -> tuple[Path, str, dict[str, Any]] | None:
    for folder in (start, *start.parents):
        for name in (FILE, _PROJECT_FILE):
            path = folder / name
            try:
                raw = path.read_bytes()
            except (FileNotFoundError, NotADirectoryError, PermissionError, IsADirectoryError):
                continue
            except OSError as error:
                raise InputError(f"cannot be read ({error.strerror})", path=path, fix="Make it readable.") from error
            if name == _PROJECT_FILE and b"imapeval" not in raw:
                continue
            try:
                text = raw.decode("utf-8-sig")  # Windows Notepad writes a byte-order mark
            except UnicodeDecodeError as error:
                raise InputError(f"is not UTF-8 ({error})", path=path, fix="Save it as UTF-8.") from error
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
        self._lines = text.split("\n")

    def read_group(
        self, group: Any, content: Mapping[str, Any], shared: Mapping[str, _Value], *, table: str
    ) -> dict[str, Any]:
        """Return the defaults of the commands of a group, given those that all commands share.

        Args:
            group: The group.
            content: What the file says of it.
            shared: Values for every command that has the option, by its name.
            table: The name of the table that holds the content.

        Raises:
            InputError: A key is there twice, or no command has such an option.
        """
        tables = cast(
            "dict[str, dict[str, Any]]",
            {key: value for key, value in content.items() if key in group.commands and isinstance(value, dict)},
        )
        own = self._name_options({key: value for key, value in content.items() if key not in tables}, table)
        known = [_options(command) for command in walk_commands(group)]
        for key, (value, _) in own.items():
            options = [options[key] for options in known if key in options]
            if not options:
                raise self._error(f"{f'[{table}]: ' if table else ''}no command has an option --{key}", key, table)
            if not any(_fits(option, value) for option in options):
                raise self._kind_error(options[0], key, value, table)
        defaults: dict[str, Any] = {}
        for name, command in group.commands.items():
            read = self.read_group if hasattr(command, "commands") else self._read_command
            inner = f"{table}.{name}" if table else name
            defaults[name] = read(command, tables.get(name, {}), {**shared, **own}, table=inner)
        if group.invoke_without_command:
            defaults |= self._read_command(group, {}, {**shared, **own}, table=table)
        return defaults

    def _read_command(
        self, command: Any, content: Mapping[str, Any], shared: Mapping[str, _Value], *, table: str
    ) -> dict[str, Any]:
        options = _options(command)
        own = self._name_options(content, table)
        for key in own:
            if key not in options:
                raise self._error(f"`{command.name}` has no option --{key}", key, table)
        # An option may be a flag of one command, and take a value in another.
        fitting = {key: item for key, item in shared.items() if key in options and _fits(options[key], item[0])}
        values = {**fitting, **own}
        return {options[key].name: self._convert(options[key], key, *item) for key, item in values.items()}

    def _name_options(self, content: Mapping[str, Any], table: str) -> dict[str, _Value]:
        named: dict[str, _Value] = {}
        for key, value in content.items():
            name = key.replace("_", "-")
            if name in named:
                raise self._error(f"{name} is given twice", name, table, fix="Keep one.")
            named[name] = value, table
        return named

    def _convert(self, option: Any, key: str, value: Any, table: str) -> Any:
        if key in _NOT_FROM_FILES:
            raise self._error(
                f"--{key} is not read from a file: a folder from somewhere else could {_NOT_FROM_FILES[key]}",
                key,
                table,
                fix=f"Give --{key} on the command line.",
            )
        if not _fits(option, value):
            raise self._kind_error(option, key, value, table)
        if isinstance(value, dict):
            value = list(_flatten(cast("dict[str, Any]", value)))
        if isinstance(value, list):
            texts = [str(item) for item in cast("list[Any]", value)]
            return texts if option.multiple else ",".join(texts)
        return [str(value)] if option.multiple else value

    def _kind_error(self, option: Any, key: str, value: Any, table: str) -> InputError:
        return self._error(f"{key} is {value!r}", key, table, fix="Write true or false." if option.is_flag else _FIX)

    def _error(self, problem: str, key: str, table: str, *, fix: str = _FIX) -> InputError:
        spelled = re.escape(key).replace(r"\-", "[-_]")
        pattern = re.compile(rf"""\s*(\[(.*\.)?)?["']?{spelled}["']?\s*[]=.]""")
        header = re.compile(rf"\s*\[\s*{re.escape(table)}\s*\]")
        begin = next((index for index, text in enumerate(self._lines) if header.match(text)), 0)
        # The table may also be written in another way, such as `score.limit = 1` at the beginning.
        order = [*range(begin, len(self._lines)), *range(begin)]
        line = next((index + 1 for index in order if pattern.match(self._lines[index])), None)
        return InputError(problem, path=self._path, line=line, fix=fix)


def _fits(option: Any, value: Any) -> bool:
    """Return whether a value has the kind of an option: true or false if it is a flag."""
    return isinstance(value, bool) == bool(option.is_flag)


def walk_commands(command: Any) -> Iterator[Any]:
    """Yield a command, or those of a group and of the groups in it; also groups that do something by themselves."""
    inner: dict[str, Any] | None = getattr(command, "commands", None)
    if inner is None or command.invoke_without_command:
        yield command
    for one in (inner or {}).values():
        yield from walk_commands(one)


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
        elif isinstance(value, list):
            yield f"{prefix}{key}={','.join(map(str, cast('list[Any]', value)))}"
        else:
            yield f"{prefix}{key}={value}"
