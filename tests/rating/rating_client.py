"""A rater as a process of its own: rates what it is given, and logs each entry once it has been saved."""

import random
import secrets
from multiprocessing.synchronize import Barrier
from pathlib import Path

from imapeval.rating import Entry, RatingStudy


def rate(place: str, secret: str, log: Path, start: Barrier) -> None:
    """Rate until nothing is left, and send every third entry twice, as a client does that got no answer."""
    rng = random.Random(secret)
    with log.open("w") as told, RatingStudy(place) as study:
        rater = study.identify(secret)
        if rater is None:
            raise SystemExit("no such rater")
        start.wait()
        while (item := study.next_item(rater)) is not None:
            values = {"accuracy": rng.randint(0, 10) / 2, "completeness": rng.randint(0, 10) / 2}
            entry = Entry(client_id=secrets.token_hex(8), values=values, seconds=1.5)
            # Told before and after: what was sent but not confirmed may be saved or not, and once at most.
            print("sending", item.token, entry.client_id, file=told, flush=True)
            study.save(rater, item.token, entry)
            print("saved", item.token, entry.client_id, file=told, flush=True)
            if rng.random() < 1 / 3 and not study.save(rater, item.token, entry).repeated:
                raise SystemExit("saved twice")
