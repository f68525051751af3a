"""Writes `imapeval/text/data/simplified.txt`, the simplified forms of traditional characters.

Needs `pip install opencc==1.4.2` (Apache-2.0). The table is kept in the package because normal forms are keys: those
stored in a graph must not depend on the version of a dictionary.
"""

from __future__ import annotations

from pathlib import Path

from opencc import OpenCC  # pyright: ignore[reportMissingImports]

_TABLE = Path(__file__).parents[1] / "imapeval/text/data/simplified.txt"

_RANGES = ((0x3400, 0x4DBF), (0x4E00, 0x9FFF))
"""CJK unified ideographs and extension A, in which names are written."""


def main() -> None:
    """Write the traditional characters on one line and their simplified forms on the next."""
    converter = OpenCC("t2s")
    pairs: list[tuple[str, str]] = []
    for first, last in _RANGES:
        for code in range(first, last + 1):
            traditional = chr(code)
            simplified = converter.convert(traditional)
            # To a fixed point, so that normal forms are stable. Few fonts have characters outside the basic plane.
            while (further := converter.convert(simplified)) != simplified:
                simplified = further
            if simplified != traditional and len(simplified) == 1 and ord(simplified) < 0x10000:
                pairs.append((traditional, simplified))
    _TABLE.write_text("".join(a for a, _ in pairs) + "\n" + "".join(b for _, b in pairs) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
