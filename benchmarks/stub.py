"""A stub of an OpenAI-compatible server with a fixed latency: `python benchmarks/stub.py PORT SECONDS IN_FLIGHT`.

It answers our own prompts with pairs that occur in the answers of `throughput.py`, and everything else with replies
that DeepEval's GEval and RAGAS's FactualCorrectness can parse. Requests beyond IN_FLIGHT at a time wait. It is written
with bare asyncio streams, so that it takes little CPU time from the clients that are measured. GET /calls returns the
number of completions so far.
"""

from __future__ import annotations

import asyncio
import json
import sys

QUESTION = {"query": ["treatment"], "constraint": [{"term": "disease", "values": ["gout"]}]}
INFORM = {"inform": [{"term": "treatment", "values": ["rest the joint", "drink water", "no aspirin"]}]}


def answer(body: bytes) -> str:
    """Return the text of the completion."""
    # Found by words in the raw body: parsing 8 kB of JSON a call would cost as much as the rest.
    if b'"question-imap"' in body:
        return json.dumps(QUESTION)
    if b'"answer-inform"' in body:
        return json.dumps(INFORM)
    if b"evaluation_steps" in body or b"Evaluation Steps" in body or b"evaluation steps" in body:
        return json.dumps({"reason": "agrees", "score": 8, "steps": ["compare", "judge"]})
    if b"claims" in body and b"verdict" not in body:
        return json.dumps({"claims": ["Rest the joint.", "Drink water."]})
    return json.dumps({"statements": [{"statement": "Rest the joint.", "reason": "stated", "verdict": 1}]})


async def main(port: int, latency: float, in_flight: int) -> None:
    """Serve until killed."""
    gate = asyncio.Semaphore(in_flight)
    calls = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal calls
        while head := await _head(reader):
            length = next(
                (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
            )
            body = await reader.readexactly(length)
            if head.startswith(b"GET"):
                reply = json.dumps({"calls": calls})
            else:
                async with gate:
                    await asyncio.sleep(latency)
                calls += 1
                reply = json.dumps(
                    {
                        "id": "stub",
                        "object": "chat.completion",
                        "created": 0,
                        "model": "stub",
                        "choices": [
                            {
                                "index": 0,
                                "finish_reason": "stop",
                                "message": {"role": "assistant", "content": answer(body)},
                            }
                        ],
                        "usage": {"prompt_tokens": 900, "completion_tokens": 30, "total_tokens": 930},
                    }
                )
            writer.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(reply), reply.encode())
            )
            await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", port, limit=2**24, backlog=1024)
    async with server:
        await server.serve_forever()


async def _head(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])))
