"""The process in which llama.cpp serves a model on loopback; `imapeval.llm.providers.llama_cpp` runs this file as a script.

It imports nothing of imapeval. Its one line on standard output is the address, written once the model is loaded; what
llama.cpp says goes to standard error. It lives as long as its standard input is open, so that it does not outlive the
process that started it, whichever way that one ends.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any


def main() -> None:
    """Serve until standard input ends. The one argument is a JSON object of the settings."""
    settings = json.loads(sys.argv[1])
    # llama.cpp may write to standard output as well.
    answer = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = settings["path"]
    params.model_alias = {settings["alias"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0  # any that is free
    params.n_parallel = settings["slots"]
    params.n_ctx = settings["context"] * settings["slots"]
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = settings["threads"]
    params.cache_ram_mib = settings["cache_mib"]
    params.enable_reasoning = 0
    params.cors_origins = "localhost"  # by default the pages of any site may ask it
    params.offline = True
    params.ui = False
    try:
        server = xllamacpp.Server(params)
    except RuntimeError:  # says nothing; the log does
        sys.exit(1)
    with answer:
        answer.write(f"{server.listening_address}\n")
    sys.stdin.read()
    # Without waiting for the request under way: nobody is left to read the answer.
    os._exit(0)


if __name__ == "__main__":
    main()
