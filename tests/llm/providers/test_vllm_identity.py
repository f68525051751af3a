import pytest

from imapeval.llm.providers import vllm_identity
from imapeval.llm.providers.vllm import VLLMModel


def test_a_folder_is_identified_by_its_content(tmp_path, monkeypatch):
    monkeypatch.setattr(vllm_identity, "_HASHED_WHOLE", 1000)

    def make(place, weights):
        folder = tmp_path / place / "my model"
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(weights)
        return VLLMModel(str(folder)).identity

    weights = bytes(range(256)) * 8000
    first = make("a", weights)
    assert first.startswith("vllm:my_model#")
    assert not any(letter.isspace() for letter in first)
    assert make("b", weights) == first
    assert make("c", weights[:-1] + b"x") != first
    assert make("d", b"x" + weights[1:]) != first
    assert make("e", weights + b"x") != first
    (tmp_path / "a" / "my model" / "README.md").write_text("changes nothing")
    assert VLLMModel(str(tmp_path / "a" / "my model")).identity == first
    (tmp_path / "a" / "my model" / "config.json").write_text('{"x": 1}')
    assert VLLMModel(str(tmp_path / "a" / "my model")).identity != first


def test_a_template_is_identified_by_its_content(tmp_path):
    def identify(path):
        return VLLMModel(f"m?chat_template={path}").identity

    one, other = tmp_path / "one" / "t.jinja", tmp_path / "other" / "t.jinja"
    for path in (one, other):
        path.parent.mkdir()
        path.write_text("{{ messages }}")
    first = identify(one)
    assert str(tmp_path) not in first
    assert identify(other) == first
    one.write_text("{{ messages[0] }}")
    assert identify(one) != first


@pytest.mark.parametrize("template", ["{{ messages }}" * 1000, "~{{ messages }}", "absent.jinja", "\0"], ids=len)
def test_a_template_that_is_no_file(template):
    assert VLLMModel(f"m?chat_template={template}").identity.startswith("vllm:m{")


def test_only_arguments_that_are_paths_are_looked_up(tmp_path, monkeypatch):
    before = VLLMModel("m?revision=main").identity
    (tmp_path / "main").mkdir()
    monkeypatch.chdir(tmp_path)
    assert VLLMModel("m?revision=main").identity == before
