"""The tests of PyTorch programs need torch, which the tests of the rest of the package do not."""

import gc
import importlib.util

import pytest

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]


@pytest.fixture(autouse=True)
def hooks_of_checkpointing():
    """An exception in a checkpointed part leaves hooks of its behind, until the exception is collected."""
    yield
    gc.collect()
