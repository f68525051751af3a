"""Studies in real databases: a SQLite file, and a PostgreSQL server started here from Debian's package."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from benchmarks.postgresql import Server, find_programs, run_server
from imapeval.rating import Entry, Item, Rater, RatingStudy, StudySettings
from imapeval.rating.administration import issue_links
from imapeval.rating.setup import StudyContent, create_study
from imapeval.types import Sample
from tests.rating.site import ANSWERS, DIMENSIONS, PRACTICE, SYSTEMS, Site, serve


def start_server() -> Iterator[Server]:
    programs = find_programs()
    if programs is None:
        pytest.skip("PostgreSQL is not installed: apt install postgresql")
    with run_server(programs) as server:
        yield server


@pytest.fixture(scope="session")
def postgresql() -> Iterator[Server]:
    """A server for all tests."""
    yield from start_server()


@pytest.fixture
def mortal_server() -> Iterator[Server]:
    """A server to be killed."""
    yield from start_server()


def find_place(request: pytest.FixtureRequest, folder: Path) -> str:
    """Return where a study can be made, in the kind of database that the fixture's parameter names."""
    return (
        str(folder / "study.db") if request.param == "sqlite" else request.getfixturevalue("postgresql").make_database()
    )


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a study can be made, in each kind of database."""
    return find_place(request, tmp_path)


def make_samples(questions: int, systems: int = 3) -> list[Sample]:
    return [
        Sample(
            f"{question}/{system}",
            f"What helps against ailment {question}?",
            (f"Reference {question}.",),
            f"Answer {question * systems + number} 阿司匹林 🙂.",
            system=system,
        )
        for question in range(questions)
        for number, system in enumerate(SYSTEMS[:systems])
    ]


class Studies:
    """Makes studies, opens them and invites raters."""

    def __init__(self, place: str, closed: ExitStack) -> None:
        self.place, self._closed = place, closed

    def make(self, *, questions: int = 4, raters: int = 2, panel: int = 3, names: int | None = None, **more: object):
        """Make a study and return it with its raters."""
        wanted = {name: more.pop(name) for name in tuple(more) if name in StudySettings.model_fields}
        if marks := more.pop("marks", None):
            wanted["facts"], more["facts"] = True, marks
        settings = StudySettings(
            **{"title": "Headache", "dimensions": DIMENSIONS, "raters_per_answer": raters, "panel": panel, **wanted}  # pyright: ignore
        )
        create_study(self.place, settings, StudyContent(make_samples(questions), **more))  # pyright: ignore
        study = self.open()
        return study, [self.invite(study, f"rater-{n}") for n in range(panel if names is None else names)]

    def open(self) -> RatingStudy:
        return self._closed.enter_context(RatingStudy(self.place))

    def invite(self, study: RatingStudy, name: str) -> Rater:
        return self.identify(study, issue_links(study, [name])[name])

    @staticmethod
    def identify(study: RatingStudy, secret: str | None) -> Rater:
        rater = study.identify(secret or "")
        assert rater is not None
        return rater

    @staticmethod
    def enter(accuracy: float | None = 3.5, completeness: float | None = 4.0, **more: object) -> Entry:
        """Return an entry; a dimension with None is left open."""
        given = {"accuracy": accuracy, "completeness": completeness}
        values = {name: value for name, value in given.items() if value is not None}
        return Entry(client_id=secrets.token_hex(8), **{"values": values, **more})  # pyright: ignore

    @staticmethod
    def take(study: RatingStudy, rater: Rater) -> Item:
        """Return the next item of a rater who has one."""
        item = study.next_item(rater)
        assert item is not None
        return item

    def rate_all(
        self, study: RatingStudy, rater: Rater, rate: Callable[[Item], Entry] | None = None, *, most: int = 1000
    ) -> list[Item]:
        """Rate until nothing is left, and return what was shown."""
        seen: list[Item] = []
        while len(seen) < most and (item := study.next_item(rater)) is not None:
            seen.append(item)
            study.save(rater, item.token, rate(item) if rate else self.enter())
        return seen

    @staticmethod
    def checks(kind: str, number: int, value: float) -> list[Sample]:
        """Return answers with their right ratings."""
        return [
            Sample(f"{kind}{n}", f"{kind} question {n}", (), f"{kind} answer {n}", ratings={"accuracy": value})
            for n in range(number)
        ]


@pytest.fixture
def studies(place: str) -> Iterator[Studies]:
    with ExitStack() as closed:
        yield Studies(place, closed)


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_studies(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Studies]:
    """Makes a study in each kind of database that several tests read."""
    with ExitStack() as closed:
        yield Studies(find_place(request, tmp_path_factory.mktemp("study")), closed)


@pytest.fixture
def studies_at() -> Iterator[Callable[[str], Studies]]:
    """Make studies at a place that the test chooses."""
    with ExitStack() as closed:
        yield lambda place: Studies(place, closed)


@pytest.fixture
def sqlite_studies(tmp_path: Path) -> Iterator[Studies]:
    with ExitStack() as closed:
        yield Studies(str(tmp_path / "study.db"), closed)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    """A study with a practice item and twelve answers, served."""
    with serve(str(tmp_path / "study.db"), StudyContent(ANSWERS, training=[PRACTICE])) as site:
        yield site
