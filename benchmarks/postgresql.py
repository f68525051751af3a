"""A PostgreSQL server from Debian's package, started for tests and benchmarks, and killed by some of them."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg


class Server:
    """A PostgreSQL server that listens only on a Unix socket in its own folder."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        # The server refuses to run as root, and its socket's path may have 107 characters.
        self._user: dict[str, Any] = {}
        self.folder = Path(tempfile.mkdtemp(prefix="imapeval-pg-", dir="/tmp"))
        if os.geteuid() == 0:
            self._user = {"user": "nobody", "group": "nogroup", "extra_groups": ()}
            shutil.chown(self.folder, "nobody", "nogroup")
        self._call("initdb", "-D", f"{self.folder}/data", "-U", "imapeval", "-A", "trust", "--no-sync", "-E", "UTF8")

    def _call(self, program: str, *args: str) -> None:
        command = [str(self._programs / program), *args]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd="/", **self._user)

    def start(self) -> None:
        options = f"-k {self.folder} -c listen_addresses='' -c max_connections=200"
        self._call("pg_ctl", "-D", f"{self.folder}/data", "-l", f"{self.folder}/log", "-w", "-o", options, "start")

    def kill(self) -> None:
        """End all its processes with SIGKILL."""
        main = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        # Stopped first, so that it starts no further process once its processes have been listed.
        os.kill(main, signal.SIGSTOP)
        found = subprocess.run(["pgrep", "-P", str(main)], capture_output=True, text=True, check=False)
        processes = [main, *map(int, found.stdout.split())]
        for process in processes:
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        # A new server refuses to start while a process of the old one exists.
        while any(self._runs(process) for process in processes):
            time.sleep(0.01)
        # A zombie, which its parent has not reaped yet, would count as running.
        for lock in ("data/postmaster.pid", ".s.PGSQL.5432.lock"):
            (self.folder / lock).unlink()

    @staticmethod
    def _runs(process: int) -> bool:
        try:
            return ") Z " not in Path(f"/proc/{process}/stat").read_text()
        except OSError:
            return False

    def close(self) -> None:
        with suppress(subprocess.CalledProcessError):
            self._call("pg_ctl", "-D", f"{self.folder}/data", "-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def make_database(self) -> str:
        """Make an empty database and return its URL."""
        name = f"study_{secrets.token_hex(6)}"
        with psycopg.connect(host=str(self.folder), user="imapeval", dbname="postgres", autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}".encode())
        return f"postgresql://imapeval@/{name}?host={self.folder}"


def find_programs(folder: Path = Path("/usr/lib/postgresql")) -> Path | None:
    """Return the folder of the newest PostgreSQL's programs; None if there is none."""
    found = (path.parent for path in folder.glob("*/bin/initdb"))
    return max(found, key=lambda path: float(path.parent.name), default=None)


@contextmanager
def run_server(programs: Path) -> Iterator[Server]:
    """Start a server and end it afterwards."""
    server = Server(programs)
    try:
        server.start()
        yield server
    finally:
        server.close()
