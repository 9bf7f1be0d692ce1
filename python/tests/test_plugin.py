"""The plugin for pytest."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

MODELS = Path(__file__).resolve().parents[2] / "models"


@pytest.fixture
def tests(pytester: pytest.Pytester) -> pytest.Pytester:
    """A directory of tests in which nothing is configured."""
    pytester.plugins = []
    return pytester


def test_a_model_is_finite_or_the_operator_is_named(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        import numpy as np

        def test_finite(opscope):
            opscope.assert_finite({str(MODELS / "digits_cnn.onnx")!r})

        def test_not_finite(opscope):
            values = np.load({str(MODELS / "fixtures" / "nan.input.x.npy")!r})
            opscope.assert_finite({str(MODELS / "fixtures" / "nan.onnx")!r}, [values])
    """)
    result = tests.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*log (Log)*", "*input?0?  float32 ?3?*", "*opscope debug *nan.onnx -ex 'break name:log' -ex run"])


def test_a_model_matches_its_golden_dump(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        import onnx
        import opscope as library
        from onnx import numpy_helper

        def test_matches(opscope):
            opscope.assert_matches({str(MODELS / "digits_cnn.onnx")!r}, golden="golden/digits")

        def test_differs(opscope):
            proto = onnx.load({str(MODELS / "digits_cnn.onnx")!r})
            (weight,) = [found for found in proto.graph.initializer if found.name == "conv2.weight"]
            weight.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(weight) + 1, "conv2.weight"))
            opscope.assert_matches(library.load(proto), golden="golden/digits")
    """)
    missing = tests.runpytest_subprocess("-k", "test_matches")
    missing.assert_outcomes(failed=1)
    missing.stdout.fnmatch_lines(["*there is no golden dump *; pytest --opscope-update writes it"])
    for _ in range(2):
        tests.runpytest_subprocess("-k", "test_matches", "--opscope-update").assert_outcomes(passed=1)
    result = tests.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*/conv2/Conv (Conv) diverges first*", "*opscope debug *"])


def test_what_is_no_dump_is_not_overwritten(tests: pytest.Pytester) -> None:
    (tests.path / "golden").mkdir()
    (tests.path / "golden" / "mine.txt").write_text("mine")
    tests.makepyfile(f"""
        def test_matches(opscope):
            opscope.assert_matches({str(MODELS / "digits_cnn.onnx")!r}, golden="golden")
    """)
    result = tests.runpytest_subprocess("--opscope-update")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*is not a dump that opscope wrote*"])
    assert (tests.path / "golden" / "mine.txt").read_text() == "mine"


def test_a_model_that_is_slower_beyond_doubt_fails(tests: pytest.Pytester) -> None:
    tests.makepyfile(f"""
        import opscope as library

        def test_speed(opscope):
            measured = library.load({str(MODELS / "digits_cnn.onnx")!r}).benchmark(runs=50)
            opscope.assert_not_slower(measured, "summary.json", by="5%")
    """)
    tests.runpytest_subprocess().assert_outcomes(failed=1)
    tests.runpytest_subprocess("--opscope-update").assert_outcomes(passed=1)
    path = tests.path / "summary.json"
    summary = json.loads(path.read_text())
    for factor, outcome in ((100.0, "passed"), (0.01, "failed")):
        changed = json.loads(json.dumps(summary))
        changed["NPU_compute_time"]["median"] *= factor
        changed["median_interval_95"] = [bound * factor for bound in summary["median_interval_95"]]
        path.write_text(json.dumps(changed))
        tests.runpytest_subprocess().assert_outcomes(**{outcome: 1})
