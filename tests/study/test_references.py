"""Each publication that the statistics name, in code, on pages or in the docs, is in docs/references.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LIST = ROOT / "docs" / "references.md"

PLACES = ("imapeval/study", "imapeval/report", "imapeval/rating", "imapeval/cli/commands/study", "docs", "benchmarks")
# Their publications are those of metrics, readers and ontologies, which metrics name themselves.
OTHER_DOCS = {
    "judges.md",
    "metrics.md",
    "neural.md",
    "likelihood.md",
    "graph-files.md",
    "ontologies.md",
    "agreement.md",
}

CREDIT = re.compile(r"(?<![\w.])([A-ZÀ-Þ][\w-]*[a-zà-þ])(?:\s+et\s+al\.?)?,?\s+\(?((?:18|19|20)\d\d)(?!\d|-\d)")
NOT_NAMES = {
    *("November", "October", "April", "Of", "By", "From", "In", "To", "The", "Ontology"),
    *("DrBenchmark", "Findings", "Metrics"),
}


def read_entries() -> list[str]:
    return [line for line in LIST.read_text(encoding="utf-8").splitlines() if line.startswith("- ")]


def list_files() -> list[Path]:
    files = [path for place in PLACES for path in sorted((ROOT / place).rglob("*")) if path.suffix in (".py", ".md")]
    return [path for path in files if path != LIST and path.name not in OTHER_DOCS]


def test_each_credit_is_listed():
    entries = read_entries()
    missing = []
    for path in list_files():
        # Comments and strings that go on in the next line.
        text = re.sub(r'"?\s*\n\s*#?\s*f?"?', " ", path.read_text(encoding="utf-8"))
        for name, year in CREDIT.findall(text):
            if name in NOT_NAMES:
                continue
            if not any(re.search(rf"\b{re.escape(name)}\b", entry) and f" {year}," in entry for entry in entries):
                missing.append(f"{path.relative_to(ROOT)}: {name} {year}")
    assert not missing, "enter in docs/references.md:\n" + "\n".join(missing)


@pytest.mark.parametrize("entry", read_entries())
def test_an_entry_has_names_year_title_and_venue(entry: str):
    assert re.match(r"- .+ (18|19|20)\d\d, .{10,}", entry)
