"""The examples of docs/python.md run, one after the other in one program."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", pytest.param("docs/python.md", marks=pytest.mark.onnxruntime(25)), "python/README.md"]


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_of_a_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / page).read_text()
    (tmp_path / "models").symlink_to(ROOT / "models")
    (tmp_path / "model.onnx").symlink_to(ROOT / "models" / "digits_cnn.onnx")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {"__name__": "example"}
    examples = list(re.finditer(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE))
    assert examples
    for example in examples:
        line = text.count("\n", 0, example.start(1))
        # Lines of the page in errors.
        exec(compile("\n" * line + example.group(1), str(ROOT / page), "exec"), scope)  # noqa: S102
        for expression, expected in re.findall(r"^(.*?)  # → (.*)$", example.group(1), re.MULTILINE):
            assert str(eval(expression, scope)) == expected, expression  # noqa: S307
