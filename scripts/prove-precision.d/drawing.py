"""Draws networks whose planted operators are exactly those that have to stay wide, and targets that say so with a margin."""

import dataclasses

import judge
import networks
import numpy as np
import onnx
import planted
from onnx import numpy_helper

MOST_PLANTED = 5
MARGIN = 16.0
"""The loss without one of the planted operators is at least this many times the loss with all of them. The target lies between."""


@dataclasses.dataclass
class Case:
    """A network with its inputs, a target, and what was planted. Without anything planted the target is below the noise."""

    name: str
    kinds: list
    model: onnx.ModelProto
    sets: list
    search: int
    target: judge.Target
    planted: list

    def judge(self):
        return judge.Judge(self.model, self.sets[: self.search])

    def write(self, place):
        """Writes the model and its inputs; the paths of both."""
        inputs = place / "inputs"
        inputs.mkdir(parents=True)
        for index, arrays in enumerate(self.sets):
            np.savez(inputs / f"{index:03}.npz", **arrays)
        onnx.save(self.model, place / f"{self.name}.onnx")
        return place / f"{self.name}.onnx", inputs

    def command(self, opscope, place):
        """The command's line, with the files written that it takes. It writes to `place`/out."""
        model, inputs = self.write(place)
        options = ["--to", "fp16", "--input", inputs, "--search", self.search, "--keep-within", self.target]
        return [str(each) for each in [opscope, "precision", model, *options, "--output", place / "out"]]


def draw(seed, index, small=False):
    """The network of a number, and how many were drawn until one was good."""
    for attempt in range(1000):
        rng = np.random.default_rng([seed, index, attempt])
        case = drawn(rng, index, small)
        if case:
            return case, attempt + 1
    raise SystemExit(f"no network was good of seed {seed}, number {index}")


def drawn(rng, index, small):
    kinds, groups = groups_of(rng, list(planted.KINDS)[index % len(planted.KINDS)])
    b = networks.network(rng, size_of(rng, small), groups)
    if len(b.kept) > MOST_PLANTED:
        return None
    sets = inputs_of(rng, b, int(rng.integers(8, 13)))
    case = Case(f"planted_{index:04}", kinds, b.model(), sets, int(rng.integers(3, 6)), None, b.kept)
    metric = str(rng.choice(list(judge.METRICS), p=[0.6, 0.12, 0.1, 0.06, 0.12]))
    case.target = target_of(case, metric)
    return case if case.target else None


def below_noise(seed, index):
    """A deep network and a target that two engines in float32 do not meet."""
    rng = np.random.default_rng([seed, index, 1_000_000])
    b = networks.network(rng, int(rng.integers(100, 400)), [])
    sets = inputs_of(rng, b, 8)
    target = [judge.Target("relative_error", 1e-9), judge.Target("sqnr", 200.0)][index % 2]
    case = Case(f"noise_{index:04}", ["below noise"], b.model(), sets, 4, target, [])
    if target.met_by(judge.measured(target.metric, judge.outputs(case.model, sets), judge.outputs(nudged(case.model), sets))):
        raise SystemExit(f"the target of seed {seed}, number {index} is not below the noise")
    return case


def nudged(model):
    """The model, with each number of its weights moved to its neighbour."""
    moved = onnx.ModelProto()
    moved.CopyFrom(model)
    for weight in moved.graph.initializer:
        array = numpy_helper.to_array(weight)
        if array.dtype == np.float32:
            weight.CopyFrom(numpy_helper.from_array(np.nextafter(array, np.float32(np.inf)), weight.name))
    return moved


def groups_of(rng, first):
    """Groups to plant, of which the first has this kind, and the kinds of all."""
    kinds, groups, room = [], [], MOST_PLANTED
    open_groups = [(first, least, group) for least, group in planted.KINDS[first]]
    while open_groups:
        kind, least, group = open_groups[int(rng.integers(len(open_groups)))]
        most = room if not groups and rng.random() < 0.5 else least
        kinds.append(kind)
        groups.append(lambda b, x, group=group, most=most, kind=kind: grouped(b, x, group, most, kind))
        room -= most
        every = [(kind, least, group) for kind, several in planted.KINDS.items() for least, group in several]
        open_groups = [each for each in every if each[1] <= room] if rng.random() < 0.7 else []
    return kinds, groups


def grouped(b, x, group, most, kind):
    with b.within(f"{kind}.{len(b.kept)}"):
        return group(b, x, most)


def size_of(rng, small):
    if small:
        return int(rng.integers(50, 120))
    return int(rng.integers(50, 400) if rng.random() < 0.85 else rng.integers(400, 1480))


def inputs_of(rng, b, count):
    return [{name: draw(rng) for name, draw in b.draws.items()} for _ in range(count)]


def target_of(case, metric):
    """A target that needs exactly what was planted, or None.

    All in half precision miss it, all but the planted ones meet it; without any one of these it is missed, whether that one is
    lowered with all the others or alone. So no other set of operators is as small.
    """
    tried = case.judge()
    assert set(case.planted) <= tried.candidates.keys()
    if not all(np.isfinite(array).all() for arrays in tried.references for array in arrays):
        return None

    def loss(kept):
        return judge.loss(metric, tried.value(metric, kept))

    good = loss(case.planted)
    if metric in ("argmax", "top5"):  # an agreement has steps
        good += 0.005
    needed, bad = good * MARGIN, loss([])
    for each in case.planted:
        for kept in (set(case.planted) - {each}, tried.candidates.keys() - {each}):
            if bad < needed:
                return None
            bad = min(bad, loss(kept))
    if bad < needed:
        return None
    middle = good * min((bad / good) ** 0.5, 30.0)
    value = judge.of_loss(metric, middle)
    if metric == "cosine":
        return judge.Target(metric, 1 - float(f"{1 - value:.3g}"))
    return judge.Target(metric, float(f"{value:.4g}"))
