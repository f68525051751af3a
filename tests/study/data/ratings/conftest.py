from collections.abc import Callable
from pathlib import Path

import pytest

from imapeval.study.data.ratings import Ratings

FILES = Path(__file__).parent / "files"
"""`label-studio.json` was written by us in the form that https://labelstud.io/guide/task_format shows; each annotation
passes `LabelInterface.validate_annotation` of label-studio-sdk 2.1.2 for a config of a Rating, a Choices, a Number and
a TextArea. The Argilla files are what argilla 2.8.0 wrote of the same three records: `JsonIO.to_json(records)`, which
`dataset.records.to_json` calls, and the lines of `GenericIO.to_list(records, flatten=True)`, of which
`dataset.records.to_datasets` is made. The second rater's response to a2 was discarded."""

Write = Callable[[str, str | bytes], Path]


def content(ratings: Ratings) -> dict[tuple[str, str, str], float]:
    """Return every rating by id, dimension and rater ("" where nobody said who)."""
    who = ratings.raters or ("",)
    return {
        (ratings.ids[answer], ratings.dimensions[dimension], who[rater]): value
        for answer, dimension, rater, value in zip(
            ratings.answer, ratings.dimension, ratings.rater, ratings.value.tolist(), strict=True
        )
    }


@pytest.fixture
def files() -> Path:
    return FILES


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write a file of that name and return its path."""

    def write_file(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write_file
