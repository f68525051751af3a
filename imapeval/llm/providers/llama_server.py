"""A script that serves a model with llama.cpp on the loopback interface; `imapeval.llm.providers.llama_cpp` runs it.

It imports nothing from imapeval. It prints one line to standard output, its address, once the model is loaded;
llama.cpp's log goes to standard error. It runs until its standard input is closed, so it never outlives the process
that started it.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from typing import Any

_LOG_SECONDS = 1.0
"""How long llama.cpp has for writing its log after it failed."""


def main() -> None:
    """Serve until standard input is closed. The only argument is a JSON object of settings."""
    settings = json.loads(sys.argv[1])
    # llama.cpp may write to standard output, too.
    stdout = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any free port
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["context"] * settings["slots"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = settings["cache_mib"]
    params.enable_reasoning = 0
    params.cors_origins = "localhost"  # the default allows requests from any web page
    params.offline = True
    params.ui = False
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:  # the error has no message, but the log gives the reason
        # llama.cpp writes its log in a thread, and what that has not written at exit is lost.
        time.sleep(_LOG_SECONDS)
        sys.exit(1)
    with stdout:
        stdout.write(f"{server.listening_address}\n")
    sys.stdin.read()
    # Without waiting for requests in flight: there is no one left to read the reply.
    os._exit(0)


if __name__ == "__main__":
    main()
