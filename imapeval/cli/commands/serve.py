"""`imapeval serve`: a scorer behind HTTP."""

from typing import Annotated

import typer

from imapeval.cli.llm_options import LlmOptions
from imapeval.cli.options import (
    DEVICES,
    REFERENCES,
    DeviceOption,
    EncoderOption,
    KgOption,
    ReferencesOption,
    SetOption,
    choose_metrics,
    choose_one,
    expand_options,
    parse_settings,
)
from imapeval.cli.output import echo


@expand_options
def serve(
    *,
    host: Annotated[
        str, typer.Option(help="Address to listen on; one that other computers can reach requires a token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="Port; 0 for any free one.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="Bearer token that requests must carry. Set it as IMAPEVAL_TOKEN in the environment: other users can "
            "see a command line.",
            envvar="IMAPEVAL_TOKEN",
        ),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Maximum size of a request body.")] = 1 << 20,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Maximum time that a request may take.")
    ] = 60,
    max_waiting: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of answers waiting or being scored.")
    ] = 1000,
    metrics: Annotated[str, typer.Option(metavar="A,B", help="Metrics; the first one gives the score.")] = "imapscore",
    set_: SetOption = None,
    references: ReferencesOption = "mean",
    device: DeviceOption = "auto",
    llm_options: Annotated[
        LlmOptions,
        ("llm", "base_url", "votes", "relations", "concurrency", "rpm", "tpm", "price", "max_cost"),
    ],
    kg: KgOption = None,
    encoder: EncoderOption = "use",
) -> None:
    """Serve over HTTP: POST /score, /score-all, /extract and /relate, GET /health and /docs.

    Ctrl-C stops the server when current requests are done.
    """
    from imapeval._optional import require
    from imapeval.metrics.registry import select_llm_metrics

    for package in ("fastapi", "uvicorn"):
        require(package, distribution=package, extra="serve", needed_for="imapeval serve")

    from imapeval.scoring import Scorer
    from imapeval.serve.app import load, make_app
    from imapeval.serve.guard import RequestLimits
    from imapeval.serve.server import check_token, listen, run

    chosen = choose_metrics(metrics, parse_settings(set_))
    settings = llm_options.make_settings(judging=bool(select_llm_metrics(chosen)))
    scorer = Scorer(
        chosen,
        references=choose_one(references, "--references", REFERENCES),
        llm=llm_options.llm,
        base_url=llm_options.base_url,
        votes=llm_options.votes,
        relations="llm" if settings is not None and settings.relations else "graph",
        concurrency=llm_options.concurrency,
        rpm=llm_options.rpm,
        tpm=llm_options.tpm,
        price=None if settings is None else settings.price,
        max_cost=llm_options.max_cost,
        kg=kg,
        encoder=encoder,
        device=choose_one(device, "--device", DEVICES),
    )
    limits = RequestLimits(body=max_body, work=timeout, waiting=max_waiting)
    bearer = check_token(token)
    # Before anything is loaded: a port in use is reported at once.
    with listen(host, port, token=bearer) as sock, scorer:
        loaded = load(scorer, llm=llm_options.llm)
        place = f"[{host}]" if ":" in host else host
        message = f"imapeval serve: http://{place}:{sock.getsockname()[1]} (documentation at /docs; Ctrl-C stops it)"
        run(make_app(loaded, limits, token=bearer), limits, sock=sock, ready=lambda: echo(message))
