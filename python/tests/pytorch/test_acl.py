"""Dumps that an acl.json describes, in AscendCL's files, as a reader of its own sees them."""

import json
import subprocess
import sys

import numpy as np
import pytest
import torch
from ascend import files, read
from dumps import manifest
from judge import Judge, copied
from nets import NETS, loss_of, train
from test_program import TRAIN, opscope
from torch.utils._pytree import tree_leaves

import opscope as package
import opscope.torch as ot


class TakingJudge(Judge):
    """Keeps what every operator takes as well, as it is before."""

    def __init__(self):
        super().__init__()
        self.taken = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        before = [copied(leaf) for leaf in tree_leaves((args, kwargs or {})) if isinstance(leaf, torch.Tensor)]
        seen = len(self.seen)
        result = super().__torch_dispatch__(func, types, args, kwargs)
        if len(self.seen) > seen:
            self.taken.append(before)
        return result


def acl(place, **dump):
    path = place / "acl.json"
    path.write_text(json.dumps({"dump": {"dump_path": str(place / "acl"), "dump_list": [{}], **dump}}))
    return path


def same(found, expected):
    return len(found) == len(expected) and all(
        one.shape == other.shape and one.tobytes() == other.tobytes() for one, other in zip(found, expected)
    )


@pytest.mark.parametrize("network", ["transformer", "cnn"])
def test_as_many_files_as_the_judge_counts_operators_and_the_same_bytes(tmp_path, network):
    module, inputs = NETS[network]()
    judge = TakingJudge()
    root = tmp_path / "dump"
    with judge, ot.dump(root, acl_json_path=acl(tmp_path, dump_mode="all"), backward=True) as result:
        # Some versions of PyTorch execute operators while a part of it is imported.
        judge.seen.clear(), judge.taken.clear()
        train(module, inputs, steps=2)
    assert result.complete, result.errors
    found = [(path, *read(path)) for path in files(root)]
    assert len(found) == len(judge.seen)
    by_operator = {}
    for path, name, takes, gives in found:
        by_operator.setdefault(path.name.split(".")[0], []).append((name, takes, gives))
    expected = {}
    for (operator, gives), takes in zip(judge.seen, judge.taken):
        expected.setdefault(operator.replace(".", "_"), []).append((operator, takes, gives))
    assert {name: len(of) for name, of in by_operator.items()} == {name: len(of) for name, of in expected.items()}
    for name, of in expected.items():
        # Files of one microsecond have no order of their own: each is to be one of those that the judge has.
        left = list(by_operator[name])
        for operator, takes, gives in of:
            one = next((file for file in left if same(file[1], takes) and same(file[2], gives)), None)
            assert one is not None, f"no file has what {operator} took and computed"
            assert one[0].split("/")[-1].split("#")[0] == operator
            left.remove(one)
    written = [of for of in judge.seen if of[0].endswith("_.default") or of[0].startswith("aten._foreach")]
    assert written, "the program has operators that write to what they take"


def test_a_program_is_dumped_as_its_acl_json_says(tmp_path):
    layers = ["second", "Net/aten.relu.*"]
    path = acl(tmp_path, dump_list=[{"model_name": "train", "layer": layers}], dump_step="1|3", dump_path="there", dump_op_switch="off")
    ended = opscope(tmp_path, "dump", "--acl-json-path", str(path), "--output-dirname", "a")
    assert ended.returncode == 0, ended.stderr
    assert "no effect on this engine: operators are not called one by one" in ended.stderr
    assert "there/a: 4 tensors of " in ended.stderr and ended.stderr.endswith(", complete\n")
    root = tmp_path / "there/a"
    names = [(path.parent.name, path.name.split(".")[1], read(path)[0]) for path in files(root)]
    relu, second = ("Net_aten_relu_default", "Net/aten.relu.default"), ("second_aten_addmm_default", "second/aten.addmm.default")
    assert sorted(names) == [("1", *relu), ("1", *second), ("3", *relu), ("3", *second)]
    assert {path.parent.parent.parent.name for path in files(root)} == {"train"}
    facts = manifest(root)
    assert facts["complete"] and facts["contents"] == "ascend" and facts["coverage"]["level"] == "op"
    for words in (["inspect", "there/a"], ["compare", "there/a", "there/a"]):
        shown = subprocess.run([sys.executable, "-m", "opscope", *words], cwd=tmp_path, text=True, capture_output=True)
        assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "4 tensors compared, 4 within tolerance" in shown.stdout


def test_ranges_and_blacklists(tmp_path):
    network, inputs = NETS["transformer"]()
    entry = {
        "model_name": package_name(),
        "opname_range": [{"begin": "layers.0.attention", "end": "layers.1.attention/aten._softmax.default"}],
        "optype_blacklist": [{"name": "aten.bmm.default"}],
        "opname_blacklist": [{"name": "layers.1.*"}],
    }
    with ot.dump(tmp_path / "all", level="op") as whole:
        network(*inputs)
    with ot.dump(tmp_path / "some", acl_json_path=acl(tmp_path, dump_list=[entry], dump_level="op")) as result:
        network(*inputs)
    assert whole.complete and result.complete, result.errors
    order = [json.loads(line)["operator"] for line in (tmp_path / "all/index.jsonl").read_text().splitlines()]
    order = list(dict.fromkeys(order))
    first = next(place for place, name in enumerate(order) if name.startswith("layers.0.attention"))
    last = order.index("layers.1.attention/aten._softmax.default")
    expected = [name for name in order[first : last + 1] if "aten.bmm" not in name and not name.startswith("layers.1.")]
    assert sorted({read(path)[0] for path in files(tmp_path / "some")}) == sorted(expected)
    assert expected


@pytest.mark.parametrize("more", [{}, {"dump_data": "stats"}])
def test_a_range_ends_at_an_operator_that_cannot_be_captured(tmp_path, more):
    def computes(x):
        x = torch.exp(x)
        (x + 0).to_sparse() * 2
        torch.cos(torch.sin(x))

    entry = {"model_name": package_name(), "opname_range": [{"begin": "script/aten.exp.default", "end": "script/aten.mul.Tensor"}]}
    with ot.dump(tmp_path / "dump", acl_json_path=acl(tmp_path, dump_list=[entry], dump_level="op", **more)) as result:
        computes(torch.ones(3))
    assert not result.complete
    missing = manifest(tmp_path / "dump")["missing"]
    assert any(one["operator"] == "script/aten.mul.Tensor" for one in missing), missing
    table = tmp_path / "dump/statistics.csv"
    if more:
        names = {line.split(",")[1] for line in table.read_text().splitlines()[1:]}
    else:
        names = {read(path)[0] for path in files(tmp_path / "dump")}
    assert names == {"script/aten.exp.default", "script/aten.add.Tensor"}


def package_name():
    """The name of the program that runs the tests, as a model."""
    return sys.modules["__main__"].__file__.rsplit("/", 1)[1].split(".")[0]


def test_statistics_and_overflows(tmp_path):
    def computes():
        half = torch.tensor([6e4, 1.0], dtype=torch.float16)
        (half + half) * 0.5

    with ot.dump(tmp_path / "s", acl_json_path=acl(tmp_path, dump_data="stats", dump_mode="all")) as result:
        computes()
    assert result.complete, result.errors
    table = (tmp_path / "s/statistics.csv").read_text().splitlines()
    # What the two operators took and computed, and the numbers that the tensor is made of.
    assert [line.split(",")[1] for line in table[1:]].count("script/aten.add.Tensor") == 3
    with ot.dump(tmp_path / "o", acl_json_path=acl(tmp_path, dump_debug="on")) as result:
        computes()
    assert result.complete, result.errors
    found = [read(path) for path in files(tmp_path / "o") if not path.name.startswith("Opdebug")]
    assert [name for name, _, _ in found] == ["script/aten.add.Tensor", "script/aten.mul.Tensor"]
    [name, takes, gives] = found[0]
    assert np.isfinite(takes[0]).all() and np.isinf(gives[0]).tolist() == [True, False]


def test_what_does_not_fit_is_refused_or_named(tmp_path):
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"dump": {"dump_pth": "d", "dump_mode": "inout"}}')
    ended = opscope(tmp_path, "dump", "--acl-json-path", str(wrong))
    assert ended.returncode == 2 and ended.stdout == ""
    assert 'did you mean "dump_path"? (EP0001)' in ended.stderr and "(EP0002)" in ended.stderr
    wrong.write_text('{"profiler": {"switch": "on", "output": "d"}}')
    ended = opscope(tmp_path, "dump", "--acl-json-path", str(wrong))
    assert ended.returncode == 2 and "use `opscope torch profile`" in ended.stderr
    path = acl(tmp_path)
    for option in (["--select", "a"], ["--statistics"], ["--level", "module"], ["--output", "b"]):
        ended = opscope(tmp_path, "dump", "--acl-json-path", str(path), *option)
        assert ended.returncode == 2 and f"{' '.join(option[:1])}" in ended.stderr and "does not go with" in ended.stderr
    other = acl(tmp_path, dump_list=[{"model_name": "resnet50"}])
    ended = opscope(tmp_path, "dump", "--acl-json-path", str(other))
    assert ended.returncode == 3 and '"resnet50" is not this model' in ended.stderr and 'write "train"' in ended.stderr
    unknown = acl(tmp_path, dump_list=[{"layer": ["first", "secnd/aten.addmm.default"]}])
    ended = opscope(tmp_path, "dump", "--acl-json-path", str(unknown), "--output-dirname", "u")
    assert ended.returncode == 3 and "NOT complete" in ended.stderr
    assert 'the model has no operator "secnd/aten.addmm.default"; did you mean "second/aten.addmm.default"?' in ended.stderr
    assert len(files(tmp_path / "acl/u")) == 4, "what was found is there"
    with pytest.raises(package.InputError, match="do not go with it"), ot.dump(acl_json_path=path, select="a"):
        pass
    with pytest.raises(package.InputError, match="no directory"), ot.dump():
        pass


def test_a_program_that_is_killed_keeps_its_files(tmp_path):
    program = TRAIN.replace("print(", "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\nprint(")
    ended = opscope(tmp_path, "dump", "--acl-json-path", str(acl(tmp_path)), "--output-dirname", "k", program=program)
    assert "NOT complete: the process of the program ended before" in ended.stderr, ended.stderr
    assert len(files(tmp_path / "acl/k")) > 0 and all(read(path) for path in files(tmp_path / "acl/k"))


def test_gradients_are_dumped_only_if_asked(tmp_path):
    network, inputs = NETS["cnn"]()
    with ot.dump(tmp_path / "f", acl_json_path=acl(tmp_path)) as result:
        loss_of(network(*inputs)).backward()
    assert result.complete
    assert not any("backward" in read(path)[0] for path in files(tmp_path / "f"))
