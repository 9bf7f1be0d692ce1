"""Objects of the program that opscope calls: what they raise arrives, and what they call may be opscope."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opscope


class Oops(Exception):
    """What a callback raises."""


class Raising:
    """An array of which one attribute alone can be seen, and what belongs to it. Reading it raises, or calling it."""

    def __init__(self, array: np.ndarray, name: str, *, when_called: bool) -> None:
        self._array = array
        self._name = name
        self._when_called = when_called

    def __getattr__(self, name: str) -> Any:
        if name != self._name:
            raise AttributeError(name)
        if not self._when_called:
            raise Oops(name)

        def call(*_args: Any, **_keywords: Any) -> Any:
            raise Oops(name)

        return call


class Refusing:
    """An array that is not lent, and whose device cannot be told."""

    def __dlpack__(self, **_keywords: Any) -> Any:
        raise BufferError

    def __dlpack_device__(self) -> Any:
        raise Oops("__dlpack_device__")


class Inputs(Mapping[str, Any]):
    """Inputs that do something when they are asked for."""

    def __init__(self, values: Callable[[], Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values()

    def __iter__(self) -> Iterator[str]:
        return iter(["image"])

    def __len__(self) -> int:
        return 1


def raising() -> Any:
    raise Oops("values")


def calls(model: opscope.Model, given: Any, scratch: Path) -> list[Callable[[], Any]]:
    """Every call that takes inputs."""
    return [
        lambda: model.run(given),
        lambda: model.benchmark(given, runs=3),
        lambda: model.profile(given, runs=3),
        lambda: list(model.dump(given)),
        lambda: model.write_dump(scratch / "dump", given),
        lambda: model.debug(given),
        lambda: opscope.compare(model, model, given),
    ]


@pytest.mark.parametrize(
    "make",
    [
        lambda _: [Refusing()],
        lambda image: [Raising(image, "__dlpack__", when_called=True)],
        lambda image: [Raising(image, "__array_interface__", when_called=False)],
        lambda image: [Raising(image, "__array__", when_called=True)],
        lambda image: Inputs(raising),
    ],
)
def test_an_error_of_an_input_arrives_as_it_is_and_nothing_is_lost(
    make: Callable[[np.ndarray], Any], models: Path, image: np.ndarray, tmp_path: Path
) -> None:
    model = opscope.load(models / "digits_cnn.onnx")
    expected = model.run(image)["probabilities"].tobytes()
    for call in calls(model, make(image), tmp_path):
        with pytest.raises(Oops):
            call()
    assert not list(tmp_path.iterdir())
    assert model.run(image)["probabilities"].tobytes() == expected


@pytest.mark.onnxruntime(25)
def test_an_input_may_run_the_model_itself(models: Path, image: np.ndarray, engines: list[str], tmp_path: Path) -> None:
    for engine in engines:
        model = opscope.load(models / "digits_cnn.onnx", engine=engine)  # type: ignore[arg-type]
        expected = model.run(image)["probabilities"].tobytes()

        def values(model: opscope.Model = model, expected: bytes = expected) -> np.ndarray:
            assert model.run(image)["probabilities"].tobytes() == expected
            return image

        for call in calls(model, Inputs(values), tmp_path / engine):
            call()


def test_an_owner_that_runs_the_model_when_it_is_dropped(models: Path, image: np.ndarray, engines: list[str]) -> None:
    """The last owner of an input may be dropped by a thread of opscope's. It then runs code of Python's that waits for a run."""
    ran = []
    for engine in engines:
        model = opscope.load(models / "digits_cnn.onnx", engine=engine)  # type: ignore[arg-type]

        class Owner:
            """Runs the model at its end."""

            def __init__(self, model: opscope.Model) -> None:
                self._model = model
                self.__array_interface__ = image.__array_interface__

            def __del__(self) -> None:
                ran.append(self._model.run(image)["probabilities"].shape)

        done = threading.Event()

        def work(model: opscope.Model = model, owner: type = Owner, done: threading.Event = done) -> None:
            for _ in range(20):
                model.run([owner(model)])
                with model.dump([owner(model)]) as stream:
                    next(stream)
                list(model.dump([owner(model)]))
            done.set()

        thread = threading.Thread(target=work, daemon=True)
        thread.start()
        assert done.wait(120), "a run and the end of its input wait for each other"
        thread.join()
    del model
    assert set(ran) == {(8, 10)} and len(ran) == 20 * 3 * len(engines)


def test_a_model_that_cannot_be_written_raises_what_it_raised() -> None:
    class Proto:
        """Not a model."""

        def SerializeToString(self) -> bytes:
            raise Oops("proto")

    with pytest.raises(Oops, match="proto"):
        opscope.load(Proto())


def test_an_error_in_the_block_of_a_debugger_ends_its_run(
    digits: opscope.Model, image: np.ndarray, names_of_threads: Callable[..., list[str]]
) -> None:
    for _ in range(5):
        with pytest.raises(Oops), digits.debug([image]) as debugger:
            debugger.break_at("*")
            assert debugger.run() is not None
            raise Oops
    for _ in range(5):
        with pytest.raises(Oops), digits.dump([image]) as stream:
            next(stream)
            raise Oops
    for _ in range(5):
        with pytest.raises(Oops), opscope.record():
            digits.run(image)
            raise Oops
    deadline = time.monotonic() + 60
    while {"opscope-dump", "opscope-debugge", "opscope-work"} & set(names_of_threads()):
        assert time.monotonic() < deadline, names_of_threads()
        time.sleep(0.01)
    assert digits.run(image)["probabilities"].shape == (8, 10)
