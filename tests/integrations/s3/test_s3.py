"""Data and runs in S3: s3fs with moto's server, which implements S3's HTTP API."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

s3fs = pytest.importorskip("s3fs", reason="needs s3fs")
moto_server = pytest.importorskip("moto.server", reason="needs moto[server]")


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    server = moto_server.ThreadedMotoServer(ip_address="127.0.0.1", port=0)
    server.start()
    host, port = server.get_host_and_port()
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_DEFAULT_REGION": "us-east-1",
        "IMAPEVAL_CACHE": str(tmp_path / "cache"),
    }.items():
        monkeypatch.setenv(name, value)
    storage = s3fs.S3FileSystem(skip_instance_cache=True, use_listings_cache=False)
    storage.mkdir("bucket")
    yield storage
    # Buckets outlive the server, in this process.
    storage.rm("bucket", recursive=True)
    server.stop()


def imapeval(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "imapeval", *args], cwd=folder, capture_output=True, text=True, check=False
    )


def test_score_and_extract(s3: Any, tmp_path: Path) -> None:
    rows = [
        {"id": f"q{n}", "question": "Which drug?", "reference": "Aspirin.", "response": "Aspirin."} for n in range(4)
    ]
    for number in range(2):
        lines = [json.dumps(row) + "\n" for row in rows[2 * number : 2 * number + 2]]
        s3.pipe_file(f"bucket/data/part-{number}.jsonl", "".join(lines).encode())
    command = ["score", "s3://bucket/data/part-*.jsonl", "--metrics", "rouge1,imapscore", "--format", "shards"]
    for _ in range(2):  # the second time it is complete, and only read
        done = imapeval(tmp_path, *command, "--out", "s3://bucket/runs/one", "--json")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout)["run"] == "s3://bucket/runs/one"
        assert len(s3.cat("bucket/runs/one/results.jsonl").splitlines()) == 8
    assert s3.exists("bucket/runs/one/report.html")
    assert s3.exists("bucket/runs/one/results/part-00000.parquet")
    assert not s3.exists("bucket/runs/one/.lock")
    done = imapeval(tmp_path, "extract", "s3://bucket/data", "--out", "s3://bucket/imaps.jsonl")
    assert done.returncode == 0, done.stderr
    assert len(s3.cat("bucket/imaps.jsonl").splitlines()) == 4
    assert imapeval(tmp_path, "extract", "s3://bucket/data", "--out", "s3://bucket/imaps.jsonl").returncode == 2


def test_a_bucket_that_is_not_there(s3: Any, tmp_path: Path) -> None:
    done = imapeval(tmp_path, "score", "s3://nowhere/data.jsonl", "--metrics", "rouge1")
    assert done.returncode == 2
    assert "s3://nowhere/data.jsonl" in done.stderr
    assert "Traceback" not in done.stderr


def test_no_access(s3: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    s3.pipe_file("bucket/data.jsonl", b'{"question": "Q?", "reference": "A", "response": "A"}\n')
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    done = imapeval(tmp_path, "score", "s3://bucket/data.jsonl", "--metrics", "rouge1")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
