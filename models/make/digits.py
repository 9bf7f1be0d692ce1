"""The digits that the trained models know: scikit-learn's copy of UCI's "Optical Recognition of Handwritten Digits"."""

import numpy as np
from sklearn.datasets import load_digits

TEST_IMAGES = 360


def split(seed=20):
    """Images [n, 8, 8] with values 0 to 16 and their labels: ((train, labels), (test, labels)), shuffled by `seed`."""
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.images))
    test, train = order[:TEST_IMAGES], order[TEST_IMAGES:]
    return (digits.images[train], digits.target[train]), (digits.images[test], digits.target[test])
