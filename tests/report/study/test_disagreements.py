import pytest

from imapeval.report.study import disagreements
from imapeval.study.summary.compute import Study


@pytest.mark.parametrize(("most", "all_shown"), [(60, True), (3, False)])
def test_the_widest_of_each_dimension_are_shown_only_if_none_is_cut(
    small: Study, monkeypatch: pytest.MonkeyPatch, most: int, all_shown: bool
):
    monkeypatch.setattr(disagreements, "MAX_ROWS", most)
    assert len(small.disagreements) == 20
    section = disagreements.render_disagreements(disagreements.list_disagreements(small), small, linked=False)
    assert section.count("<tr>") == 1 + min(most, 20)
    assert ("in each dimension (20)" in section, "3 of the 20" in section) == (all_shown, not all_shown)
