"""A rater as a process of its own: rates what it is given, and prints each entry once it has been saved.

Usage: rating_client.py STUDY SECRET. It prints an empty line and begins once it is sent one. It sends every third entry
twice, as a client does that got no answer.
"""

import random
import secrets
import sys

from imapeval.rating import Entry, RatingStudy

place, secret = sys.argv[1:3]
rng = random.Random(secret)
with RatingStudy(place) as study:
    rater = study.identify(secret)
    if rater is None:
        raise SystemExit("no such rater")
    print(flush=True)
    sys.stdin.readline()
    while (item := study.next_item(rater)) is not None:
        values = {"accuracy": rng.randint(0, 10) / 2, "completeness": rng.randint(0, 10) / 2}
        entry = Entry(client_id=secrets.token_hex(8), values=values, seconds=1.5)
        # Told before and after: what was sent but not confirmed may be saved or not, and once at most.
        print("sending", item.token, entry.client_id, flush=True)
        study.save(rater, item.token, entry)
        print("saved", item.token, entry.client_id, flush=True)
        if rng.random() < 1 / 3 and not study.save(rater, item.token, entry).repeated:
            raise SystemExit("saved twice")
