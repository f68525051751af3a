"""`imapeval serve`: a scorer behind HTTP."""

from typing import Annotated

import typer

from imapeval.cli.llm_options import make_llm_settings
from imapeval.cli.options import (
    BaseUrl,
    Concurrency,
    Encoder,
    Kg,
    Llm,
    MaxCost,
    Price,
    References,
    Relations,
    Rpm,
    Set,
    Tpm,
    Votes,
    choose_metrics,
    parse_device,
    parse_references,
    parse_settings,
)
from imapeval.cli.output import echo


def serve(
    host: Annotated[str, typer.Option(help="Address to listen at; one that others reach needs a token.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="0 for any that is free.")] = 8765,
    token: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT",
            help="What requests must bear. Give it as IMAPEVAL_TOKEN in the environment: others see a command line.",
            envvar="IMAPEVAL_TOKEN",
        ),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, metavar="BYTES", help="Largest body of a request.")] = 1 << 20,
    timeout: Annotated[
        float, typer.Option(min=0.1, metavar="SECONDS", help="Longest time that the work for a request may take.")
    ] = 60,
    max_waiting: Annotated[
        int, typer.Option(min=1, metavar="N", help="Most answers that wait or are being scored.")
    ] = 1000,
    metrics: Annotated[
        str, typer.Option(metavar="A,B", help="Which metrics; the first one gives the score.")
    ] = "imapscore",
    set_: Set = None,
    references: References = "mean",
    device: Annotated[str, typer.Option(help="Where metrics put their models: auto, cpu, cuda or mps.")] = "auto",
    llm: Llm = None,
    base_url: BaseUrl = None,
    votes: Votes = 1,
    relations: Relations = None,
    concurrency: Concurrency = None,
    rpm: Rpm = None,
    tpm: Tpm = None,
    price: Price = None,
    max_cost: MaxCost = None,
    kg: Kg = None,
    encoder: Encoder = "use",
) -> None:
    """Answer over HTTP: POST /score, /score-all, /extract and /relate, GET /health and /docs.

    Ctrl-C ends it when what is under way is done.
    """
    from imapeval._optional import require
    from imapeval.evaluation.forecast.dry_run import select_llm_metrics

    for package in ("fastapi", "uvicorn"):
        require(package, distribution=package, extra="serve", needed_for="imapeval serve")

    from imapeval.scoring import Scorer
    from imapeval.serve.app import load
    from imapeval.serve.limits import Limits
    from imapeval.serve.server import check_token, listen, run

    chosen = choose_metrics(metrics, parse_settings(set_))
    settings = make_llm_settings(
        llm,
        base_url=base_url,
        votes=votes,
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        price=price,
        max_cost=max_cost,
        relations=relations,
        judging=bool(select_llm_metrics(chosen)),
    )
    scorer = Scorer(
        chosen,
        references=parse_references(references),
        llm=llm,
        base_url=base_url,
        votes=votes,
        relations="llm" if settings is not None and settings.relations else "graph",
        concurrency=concurrency,
        rpm=rpm,
        tpm=tpm,
        price=None if settings is None else settings.price,
        max_cost=max_cost,
        kg=kg,
        encoder=encoder,
        device=parse_device(device),
    )
    limits = Limits(body=max_body, work=timeout, waiting=max_waiting)
    bearer = check_token(token)
    # Before the work of loading: a port that is taken is told at once.
    with listen(host, port, token=bearer) as sock, scorer:
        loaded = load(scorer, llm=llm)
        place = f"[{host}]" if ":" in host else host
        told = f"imapeval serve: http://{place}:{sock.getsockname()[1]} (fields at /docs; Ctrl-C ends it)"
        run(loaded, limits, sock=sock, token=bearer, ready=lambda: echo(told))
