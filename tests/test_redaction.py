"""Nothing secret, and nothing that a terminal obeys, in what is shown, logged or written."""

import base64
import html
import json
import logging
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from imapeval.errors import InputError, ProviderError, UsageError
from imapeval.redaction import (
    get_logger,
    hide_logins,
    hide_secrets,
    make_printable,
    redact,
    redact_message,
    register_secret,
    register_url_secrets,
    repeats_password,
)
from imapeval.types import MAX_RAW_CHARACTERS, Failure

KEY = "sk-0123456789"


@pytest.fixture
def key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return KEY


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("at http://me:p4ssw0rd@h:1/v1.", "at http://[redacted]@h:1/v1."),
        ("http://only-a-token@h/v1", "http://[redacted]@h/v1"),
        ("'http://h/v1?key=a&b=c#d=e', x", "'http://h/v1?key=[redacted]&b=[redacted]#d=[redacted]', x"),
        ("https://h/v1?secret", "https://h/v1?[redacted]"),
        ("--base-url=http://me:p4ssw0rd@h/v1", "--base-url=http://[redacted]@h/v1"),
        # As a path.
        ("mysql:/me:p4ssw0rd@h/db?a=b: no such file", "mysql:/[redacted]@h/db?a=[redacted]: no such file"),
        ("C:/data/me@home.csv", "C:/data/me@home.csv"),
        ("openai:m@http://h:8000/v1", "openai:m@http://h:8000/v1"),
        ("see https://example.org/a/@b", "see https://example.org/a/@b"),
        ("ftp://me:p4/w0rd@h/d/f.csv", "ftp://[redacted]@h/d/f.csv"),
        ("ftp://me:/p4@w0/rd@h:21/f@1", "ftp://[redacted]@1"),
        ("s3://me:p4?w0#rd@h/f?sig=a", "s3://[redacted]@h/f?sig=[redacted]"),
        ("simplecache::ftp://me:p4%2Fw0rd@h/f", "simplecache::ftp://[redacted]@h/f"),
        ("http://h:8000/pkg@1.0, http://[::1]:8000/pkg@1.0", "http://h:8000/pkg@1.0, http://[::1]:8000/pkg@1.0"),
        ("file:///data/f?sig=a", "file:///data/f?sig=[redacted]"),
        ("postgresql:///me:pw@h", "postgresql:///[redacted]@h"),
        (r'{"u": "http:\/\/me:pw@h\/v1"}', r'{"u": "http:\/\/[redacted]@h\/v1"}'),
        ("Authorization: Bearer abc", "Authorization: Bearer [redacted]"),
        ('"authorization": "Basic bWU6cHc="', '"authorization": "Basic [redacted]"'),
        ("got 'Bearer sk-1' here", "got 'Bearer [redacted]' here"),
        ("Missing bearer or basic authentication in header", "Missing bearer or basic authentication in header"),
        ("3 of 4: a/b ? c=d", "3 of 4: a/b ? c=d"),
    ],
)
def test_addresses_and_headers_lose_what_may_be_secret(text, shown):
    assert redact(text) == shown
    assert redact(shown) == shown


@pytest.mark.parametrize(
    "echo",
    [
        "{}",
        "wrong key {} (check it)",
        "x{}x",
        "Bearer {}",
        '{{"key": "{}"}}',
    ],
)
def test_a_configured_key_is_found_wherever_it_stands(key, echo):
    assert KEY not in redact(echo.format(key))
    assert KEY not in hide_secrets(echo.format(key))


def test_every_line_and_every_spelling_of_a_secret_is_hidden():
    secret = 'first-line-1"/ä\nsecond-line-2'
    register_secret(secret)
    for text in (secret, json.dumps(secret), repr(secret), json.dumps(secret).replace("/", r"\/")):
        assert "line-" not in hide_secrets(text), text
    for text in (html.escape(secret), quote(secret), quote(quote(secret, safe=""), safe="")):
        assert "line-1" not in hide_secrets(text), text


@pytest.mark.parametrize(
    "spelling",
    [
        "p+s\\u003cs/w\\\"\u00e4\\u0026'1",  # JSON of Go
        r"p\u002Bs\u003Cs/w\u0022\u00E4\u0026\u00271",  # JSON of .NET
        r"""p+s<s\/w\"\u00e4&'1""",  # JSON of PHP
        "p%2bs%3cs%2fw%22%c3%a4%26%271",
        "p%2Bs%3Cs%2Fw%22%C3%A4%26%271",
        "p+s&lt;s/w&#34;\u00e4&amp;&#39;1",
        "p+s&#60;s/w&#34;\u00e4&#38;&#39;1",
    ],
)
def test_a_secret_is_hidden_as_other_programs_escape_it(spelling):
    register_secret("p+s<s/w\"\u00e4&'1")
    assert hide_secrets(f"no ({spelling})") == "no ([redacted])"


def test_a_secret_that_is_not_utf_8_is_hidden():
    register_secret("sk-\udcff12345678")
    register_url_secrets("http://a:\udcff\udcfe12345678@h")
    assert hide_secrets("no sk-\udcff12345678 or sk-%FF12345678, \udcff\udcfe12345678") == (
        "no [redacted] or [redacted], [redacted]"
    )


def test_a_secret_is_hidden_if_every_character_is_an_escape(key):
    assert hide_secrets("".join(f"\\u{ord(character):04x}" for character in key)) == "[redacted]"


@given(st.binary(max_size=20), st.binary(max_size=20), st.sampled_from([base64.b64encode, base64.urlsafe_b64encode]))
def test_a_secret_is_hidden_in_base64_wherever_it_stands(before, after, encode):
    register_secret("sk->>>?~0123456789")
    shown = hide_secrets(encode(before + b"sk->>>?~0123456789" + after).decode())
    first, hidden, last = shown.partition("[redacted]")
    assert hidden
    # At most a character at either end holds bits of the secret, with others.
    assert len(first) <= -(-8 * len(before) // 6)
    assert len(last.rstrip("=")) <= -(-8 * len(after) // 6) + 1


def test_what_an_address_holds_is_hidden_where_it_is_echoed():
    register_url_secrets("http://someone:pass%2Fword1@h/v1?version=2024-10-21&sig=0123456789abcdef")
    login = base64.b64encode(b"someone:pass/word1").decode()
    shown = hide_secrets(f"pass/word1 pass%2Fword1 {login} 0123456789abcdef 2024-10-21")
    assert shown == "[redacted] [redacted] [redacted] [redacted] 2024-10-21"


def test_values_of_custom_headers_are_secrets(monkeypatch):
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Version: 2\nX-Gateway: Bearer gate-4711:x\nX-Team: oncology-42")
    shown = redact("gate-4711:x and oncology-42 are unknown to version 2")
    assert shown == "[redacted] and [redacted] are unknown to version 2"


@pytest.mark.parametrize("placeholder", ["EMPTY", "none", "ollama", "anything", "x"])
def test_a_placeholder_is_no_secret(monkeypatch, placeholder):
    monkeypatch.setenv("OPENAI_API_KEY", placeholder)
    assert redact(f"the model at http://{placeholder}:1/v1") == f"the model at http://{placeholder}:1/v1"


@pytest.mark.parametrize(
    "text", ["\x1b[31m", "\x1b]8;;http://x\x07", "\x9b2J", "a\rb", "\x07", "\x7f", "\u202e", "\u2066", "\u200f"]
)
def test_nothing_reaches_a_terminal_that_it_obeys(text):
    shown = make_printable(f"{text}头痛\n\té")
    assert not set(shown) & {
        *map(chr, range(9)),
        *map(chr, range(11, 32)),
        "\x7f",
        "\x9b",
        "\u202e",
        "\u2066",
        "\u200f",
    }
    assert shown.endswith("头痛\n\té")
    assert str(ProviderError(text, kind="server")) == str(make_printable(text))
    assert Failure("llm", "server", text).message == make_printable(text)


@given(st.text())
def test_what_is_made_printable_stays_json(text):
    dumped = json.dumps(text, ensure_ascii=False)
    assert json.loads(make_printable(dumped)) == text
    assert make_printable(make_printable(dumped)) == make_printable(dumped)


def test_errors_and_failures_say_nothing_secret(key):
    told = f"it said {key} at http://me:p4ssw0rd@h/v1"
    for error in (UsageError(told), ProviderError(told, kind="server"), InputError(told, fix="")):
        assert key not in str(error)
        assert "p4ssw0rd" not in str(error)
    failure = Failure("llm", "server", told, told)
    assert key not in failure.message + str(failure.raw)
    assert "p4ssw0rd" not in failure.message + str(failure.raw)


def test_the_text_of_a_failure_is_cut_after_it_was_redacted(key):
    failure = Failure("llm", "x", "m", "y" * (MAX_RAW_CHARACTERS - 10) + key + "z" * 100)
    assert failure.raw is not None
    assert len(failure.raw) == MAX_RAW_CHARACTERS
    assert "sk-" not in failure.raw
    assert Failure("llm", "x", "m", failure.raw) == failure


def test_log_lines_are_redacted_with_what_led_to_them(key, caplog):
    log = get_logger("imapeval.test")
    try:
        raise ValueError(f"it said {key}")
    except ValueError as error:
        log.warning("failed: %s \x1b[2J %s", "http://me:p4ssw0rd@h/", key, exc_info=error)
    assert KEY not in caplog.text
    assert "p4ssw0rd" not in caplog.text
    assert "\x1b" not in caplog.text
    assert "ValueError" in caplog.text
    assert isinstance(log, logging.Logger)


@pytest.mark.parametrize("sign", ["/", "@", "?", "#", " ", '"', "[", "%2F", "//@"])
def test_a_password_that_is_not_quoted_is_hidden_wherever_it_is_echoed(sign):
    password = f"p4ss{sign}w0rd"
    url = f"ftp://me:{password}@h/f"
    register_url_secrets(url)
    for text in (url, f"no login with '{password}'", f"{url}?sig=a, {url}"):
        assert "w0rd" not in redact(text)


@pytest.mark.parametrize(
    "secret",
    [
        "anna",
        "hunter",
        "eval",
        "1234",
        "p4ss",
        "pa:s",
        "\u043f\u0430\u0440\u043e\u043b\u044c",
        "\u5bc6\u7801\u5bc6\u7801",
    ],
)
@pytest.mark.parametrize("place", ["{}:other-1@h", "someone-1:{}@h", "{}@h", "h/v1?key={}", "h/v1?v=1&access_token={}"])
def test_a_short_login_is_hidden_wherever_it_is_echoed(secret, place):
    address = f"//{place.format(quote(secret))}"
    register_url_secrets(f"https:{address}")
    encoded = base64.b64encode(secret.encode()).decode()
    for text in (
        f"no access for {secret}.",
        f"'{secret}'",
        f'{{"user":"{secret}"}}',
        f"user={secret}&x",
        f"user_{secret}_",
        f"\u7528\u6237{secret}\u4e0d\u5b58\u5728",
        f"a\\n{secret}\\tb",
        f"a\\u000a{secret}",
        f"%20{secret}%20",
        f"?user={quote(secret)}",
        f"[{json.dumps(secret)}]",
        f"Basic {encoded}",
        secret,
    ):
        shown = hide_logins(text)
        assert "[redacted]" in shown, text
        assert not any(each in shown for each in (secret, quote(secret), json.dumps(secret)[1:-1], encoded)), text
        assert hide_logins(shown) == shown


def test_the_header_made_of_a_login_is_hidden_whatever_its_length():
    register_url_secrets("http://me:pw@h/v1")
    login = base64.b64encode(b"me:pw").decode()
    assert redact_message(f"got {login}, which is me:pw") == "got [redacted], which is [redacted]"
    assert redact_message("tell me: pw is short") == "tell me: pw is short"


def test_a_login_is_hidden_in_the_base64_of_what_holds_it():
    register_url_secrets("http://someone:hunter@h/v1")
    for before in ("", "a", "ab"):
        encoded = base64.b64encode(f"{before} hunter and more".encode()).decode()
        assert "[redacted]" in hide_logins(encoded)


@pytest.mark.parametrize(
    "text",
    ["it passes", "a bypass", "pass\u00e9", "Pass", "12345", "the annals", "hosted at clinic", "version 2024-10-21"],
)
def test_a_short_login_is_hidden_as_a_word_only(text):
    for address in (
        "pass:1234@clinic:1/v1",
        "anna@h",
        "clinic:pw@clinic/v1?version=2024-10-21&key=clinic",
        "redacted:to@h",
    ):
        register_url_secrets(f"http://{address}")
    assert redact_message(text) == text
    assert redact_message("pass") == "[redacted]"


def test_a_short_login_is_hidden_in_errors_failures_and_log_lines(caplog):
    register_url_secrets("http://anna:hunter@h/v1")
    told = "no access for anna with 'hunter'"
    failure = Failure("llm", "server", told, told)
    get_logger("imapeval.test").warning("%s", told)
    for text in (str(UsageError(told)), failure.message, str(failure.raw), caplog.text):
        assert "anna" not in text
        assert "hunter" not in text


@pytest.mark.parametrize("name", ["design", "author", "postcode"])
def test_a_value_whose_name_only_contains_that_of_a_secret_is_none(name):
    register_url_secrets(f"http://h/v1?{name}=none")
    assert not repeats_password("Surgery: none.")


def test_the_name_of_the_program_is_no_secret():
    register_url_secrets("postgresql://imapeval@h/ratings")
    assert redact_message("pip install 'imapeval[rate]'") == "pip install 'imapeval[rate]'"


def test_what_the_program_says_itself_is_not_searched_for_short_logins():
    """A path or a field of JSON may have the same name."""
    register_url_secrets("http://runs:score@h/v1")
    assert redact("imapeval score --out runs/a") == "imapeval score --out runs/a"
    assert hide_secrets('{"score": 1}') == '{"score": 1}'
