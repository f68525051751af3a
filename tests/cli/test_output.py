"""What all commands share to print texts and tables."""

import json
import math

import pytest

from imapeval.cli.output import Column, emit, emit_json


def test_a_lone_surrogate_is_printed_as_an_escape(capsys: pytest.CaptureFixture[str]):
    emit(["half \ud800"], [Column("model", str, text=True)])
    assert "half \\ud800" in capsys.readouterr().out
    emit_json({"model": "half \ud800 头"})
    assert json.loads(capsys.readouterr().out) == {"model": "half \ud800 头"}


@pytest.mark.parametrize("number", [math.inf, math.nan])
def test_a_number_that_json_lacks_is_not_written(number: float):
    with pytest.raises(ValueError, match="JSON"):
        emit_json([number])
