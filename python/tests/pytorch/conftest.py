"""The tests of PyTorch programs need torch, which the tests of the rest of the package do not."""

import importlib.util

collect_ignore_glob = [] if importlib.util.find_spec("torch") else ["test_*.py"]
