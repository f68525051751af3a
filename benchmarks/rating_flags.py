"""How often `imapeval rate status` flags careless raters, and careful ones by mistake: simulated studies.

Five raters rate all answers from 0 to 5 in half points, each in a different order. Four are careful: they differ from
the truth by -.5, 0 or .5. The fifth is careless in one way. Usage: python benchmarks/rating_flags.py [--studies 200]
"""

from __future__ import annotations

import argparse
import random

from imapeval.rating import Dimension
from imapeval.rating.rater_status import judge_rater
from imapeval.rating.records import RatingRecord

RATERS = 5
KINDS = ("careful", "random", "same run", "drift 1", "drift 2")
DIMENSIONS = (Dimension(name="accuracy", low=0, high=5, step=0.5),)
FLAGS = {"random": "no better than", "same run": "in a row", "drift": "became"}


def rate(kind: str, truth: float, place: float, rng: random.Random) -> float:
    """Return the rating by a kind of rater at a position in the order, 0..1."""
    value = truth + rng.choice((-0.5, 0.0, 0.5))
    if kind == "random":
        value = rng.uniform(0, 5)
    elif kind == "same run" and place > 0.75:
        value = 3.0
    elif kind.startswith("drift"):
        value -= float(kind.removeprefix("drift ")) * place
    return min(5.0, max(0.0, round(value * 2) / 2))


def simulate(kind: str, answers: int, rng: random.Random) -> list[RatingRecord]:
    """Return the ratings of a study whose fifth rater is of this kind."""
    truths = [rng.choice((0.5, 1.5, 2.5, 3.5, 4.5)) for _ in range(answers)]
    records: list[RatingRecord] = []
    for rater in range(RATERS):
        for order, answer in enumerate(rng.sample(range(answers), answers), 1):
            value = rate(kind if rater == RATERS - 1 else "careful", truths[answer], order / answers, rng)
            records.append(
                RatingRecord(
                    answer=answer,
                    id=str(answer),
                    question_number=answer,
                    kind="rating",
                    rater_id=rater,
                    rater=str(rater),
                    saw_facts=False,
                    order=order,
                    values={"accuracy": value},
                    cannot_judge={},
                    comment="",
                    confidence=None,
                    spans=(),
                    seconds=10,
                    revision=1,
                    saved_at="",
                    expected={},
                )
            )
    return records


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    studies = parser.parse_args().studies
    print("| fifth rater | answers | flagged: random | run | drift | careful ones flagged: random | run | drift |")
    print("|---|---|---|---|---|---|---|---|")
    for kind in KINDS:
        for answers in (20, 48):
            rng = random.Random(f"{kind}/{answers}")
            found = [dict.fromkeys(FLAGS, 0) for _ in range(2)]
            for _ in range(studies):
                records = simulate(kind, answers, rng)
                for rater in range(RATERS):
                    own = [record for record in records if record.rater_id == rater]
                    status = judge_rater(
                        "", own, records, DIMENSIONS, role="rater", invited=True, left=False, total=answers
                    )
                    for name, words in FLAGS.items():
                        found[rater < RATERS - 1][name] += any(words in flag for flag in status.flags)
            shares = [f"{count / studies:.1%}" for count in found[0].values()]
            shares += [f"{count / studies / (RATERS - 1):.1%}" for count in found[1].values()]
            print(f"| {kind} | {answers} | {' | '.join(shares)} |")


if __name__ == "__main__":
    main()
