"""Questions and servers of `closed_logs.py`: made from the shipped graph; answered by a model, or as written here."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

from imapeval.graph.store.graph import Graph
from imapeval.llm.providers import llama_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from imapeval.types import Lang

Item = dict[str, Any]
"""`id`, `question`, `options` and the index `right` of the correct one."""

SIZES = {"medqa": 100, "pubmedqa": 50, "cmb": 50}
VERDICTS = ("yes", "no", "maybe")
REPLIES = (
    ("refused", "I'm sorry, but I cannot give medical advice.", "stop"),
    ("refused", "抱歉，我无法回答这个问题。", "stop"),
    ("several", "A and C", "stop"),
    ("several", "The answer is A. The answer is C.", "stop"),
    ("cut", "Let us think about what the patient needs first: since", "length"),
    ("read", "The answer is (B) because it helps.", "stop"),
)
"""What a reply is, its text, and why it ended; option B is right."""

SHOTS = (
    {"id": "shot-0", "question": "Which of these is a colour?", "options": ["Dog", "Blue", "Chair"], "right": 1},
    {
        "id": "shot-1",
        "question": "Which of these is an animal?",
        "options": ["Cow", "Red", "Ink", "Rye"],
        "right": 0,
    },
    {"id": "shot-2", "question": "哪一项是水果？", "options": ["椅子", "河", "苹果", "书", "马"], "right": 2},
)
"""Examples before each question of Inspect and HELM: without them this model hardly writes what they look for."""

SERVER = {"alias": "smollm2", "slots": 1, "context": 8192, "threads": 1, "cache_mib": 2048}


def make_items() -> dict[str, list[Item]]:
    """Return the questions of each set."""
    rng = random.Random(21)
    found: dict[str, list[Item]] = {name: [] for name in SIZES}
    langs: dict[str, Lang] = {"medqa": "en", "pubmedqa": "en", "cmb": "zh"}
    with Graph.open() as graph:
        for name, items in found.items():
            named: dict[str, str] = {}
            for concept in rng.sample([*graph.all_ids()], 6000):
                names = graph.names(concept, lang=langs[name])
                if names and graph.concept(concept).type == "disease":
                    named[concept] = names[0].text
            known = list(named)
            for concept in known:
                parents = [one for one in graph.concept(concept).parents if one in named and not graph.is_general(one)]
                others = [one for one in rng.sample(known, 12) if parents and not graph.is_a(one, parents[0])]
                others = [one for one in others if one not in (concept, *parents)]
                if not parents or len(others) < 4 or len(items) == SIZES[name]:
                    continue
                kind, text = named[parents[0]], named[concept]
                item: Item = {"id": f"{name}-{len(items)}"}
                if name == "pubmedqa":
                    right = len(items) % 3
                    told = (kind, named[others[0]], None)[right]
                    context = f"{text} is a kind of {told}." if told else f"{text} is seen in clinics."
                    item |= {"context": context, "question": f"Is {text} a kind of {kind}?", "options": VERDICTS}
                else:
                    options = [named[one] for one in others[: 3 if name == "medqa" else 4]]
                    right = rng.randrange(len(options) + 1)
                    options.insert(right, text)
                    ask = "Which of the following is a kind of: {}?" if name == "medqa" else "下列哪一项属于{}？"
                    item |= {"question": ask.format(kind), "options": options}
                items.append(item | {"right": right})
    return found


def join_context(item: Item) -> Item:
    """Return an item whose question begins with its context, as Inspect's and HELM's PubMedQA have it."""
    return item | {"question": f"{item['context']} {item['question']}"} if "context" in item else item


def format_item(name: str, item: Item) -> dict[str, Any]:
    """Return an item in the format of its dataset."""
    if name == "pubmedqa":
        return {
            "id": item["id"],
            "QUESTION": item["question"],
            "CONTEXTS": [item["context"]],
            "final_decision": VERDICTS[item["right"]],
        }
    if name == "cmb":
        options = dict(zip("ABCDE", item["options"], strict=False))
        return {
            "id": item["id"],
            "question": item["question"],
            "option": options,
            "answer": "ABCDE"[item["right"]],
        }
    endings = {f"ending{place}": text for place, text in enumerate(item["options"])}
    return {"id": item["id"], "sent1": item["question"], "sent2": "", **endings, "label": item["right"]}


@contextmanager
def serve_model(gguf: Path) -> Iterator[str]:
    """Serve the real model."""
    # -P: the script's folder has modules named like packages, such as openai.py.
    command = [sys.executable, "-P", llama_server.__file__, json.dumps({"path": str(gguf), **SERVER})]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, **pipes, text=True) as process:
        try:
            address = process.stdout.readline().strip()
            if not address:
                sys.exit("the llama.cpp server did not start: pip install 'imapeval[local]'")
            yield f"{address}/v1"
        finally:
            process.kill()


@contextmanager
def serve_replies() -> Iterator[str]:
    """Serve the written replies, by the number before the question."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            _, text, reason = next(reply for n, reply in enumerate(REPLIES) if f"{n}: what helps?" in body)
            choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": text}}
            usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
            told = {"id": "0", "object": "chat.completion", "created": 0, "model": "smollm2"}
            sent = json.dumps(told | {"choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(sent)))
            self.end_headers()
            self.wfile.write(sent)

        def log_message(self, *_: Any) -> None:
            """Log nothing: the benchmark's own output is on the same terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
