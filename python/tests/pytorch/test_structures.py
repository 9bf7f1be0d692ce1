"""A program against other forms of it. scripts/prove-torch-structures has many more."""

import json
import multiprocessing
import socket
import subprocess
import sys

import pytest
import ranks
import structures

import opscope.torch as ot


def dump(path, network, form="same", batch=2):
    with ot.dump(path, level="op", backward=True):
        structures.run(network, form, batch)


def compare(one, other, *options, codes=(0, 3, 4)):
    command = [sys.executable, "-m", "opscope", "compare", str(one), str(other), *options]
    ended = subprocess.run(command, capture_output=True, text=True)
    assert ended.returncode in codes, ended.stderr
    return json.loads(ended.stdout) if "--json" in options else ended


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("structures")
    for form in structures.FORMS:
        dump(place / form, structures.build(form), form)
    dump(place / "wide", structures.build().double(), "wide")
    dump(place / "four", structures.build(), "same", 4)
    return place


def test_modules_of_other_names_are_found_by_a_map(place, tmp_path):
    rules = [word for rule in structures.RENAMES for word in ("--map", rule)]
    found = compare(place / "same", place / "renamed", *rules, "--json")
    assert (found["verdict"], found["only_in_tensors"], found["only_in_reference"]) == ("same", [], [])
    dump(tmp_path / "bad", structures.build("same", "axis", 1))
    ended = compare(tmp_path / "bad", place / "renamed", *rules, codes=(4,))
    assert "first to diverge: operator 'layers.1.attention/aten._softmax.default'" in ended.stdout
    assert "its inputs are right: it is this operator" in ended.stdout
    without = compare(place / "same", place / "renamed", codes=(3,))
    assert "only in" in without.stdout and "layers.0.norm (" in without.stdout and "--map says" in without.stdout


def test_a_map_that_matches_nothing_is_refused(place):
    ended = compare(place / "same", place / "renamed", "--map", "blocks=h", codes=(2,))
    assert "--map 'blocks=h' matches no module of" in ended.stderr
    ended = compare(place / "same", place / "renamed", "--map", "blocks", codes=(2,))
    assert "write PATTERN=PATH" in ended.stderr


def test_an_operator_more_on_one_side_is_named_and_shifts_no_other(place, tmp_path):
    dump(tmp_path / "bad", structures.build("same", "temperature", 0))
    found = compare(tmp_path / "bad", place / "same", "--json")
    first = found["first_divergence"]
    assert (first["operator"], first["between"]) == ("layers.0.attention/aten._softmax.default", ["layers.0.attention/aten.mul.Tensor"])
    assert "layers.0.attention/aten.mul.Tensor" in found["only_in_tensors"]


def test_the_ends_of_modules_are_compared_where_the_operators_are_others(place, tmp_path):
    dump(tmp_path / "bad", structures.build("same", "sign", 0))
    found = compare(tmp_path / "bad", place / "same", "--json")
    row = found["rows"][found["first_divergence"]["row"]]
    assert (row["operator"], row["matched_by"]) == ("layers.0/aten.sub.Tensor", "module_end")


def test_checkpointing_computes_the_same(place):
    found = compare(place / "checkpointed", place / "same", "--json")
    assert found["verdict"] != "different" and found["only_in_reference"] == []
    assert all("/recompute/" in name for name in found["only_in_tensors"])


def test_noise_is_judged_by_a_run_in_a_wider_type(place, tmp_path):
    noise = ["--tolerance", f"noise:{place / 'wide'}"]
    assert compare(place / "same", place / "bf16", *noise, "--json")["verdict"] != "different"
    # By the distance of single precision that is 1e-4, half precision is another network.
    assert compare(place / "bf16", place / "same", "--tolerance", "1e-4", "--json")["verdict"] == "different"
    dump(tmp_path / "bad", structures.build("same", "epsilon", 1))
    first = compare(tmp_path / "bad", place / "bf16", *noise, "--json")["first_divergence"]
    assert first["operator"] == "layers.1.norm/aten.native_layer_norm.default"
    tight = ["--tolerance", f"noise:{place / 'wide'},1e-9"]
    assert compare(place / "same", place / "bf16", *tight, "--json")["verdict"] == "different"
    assert "is wrong; give the dump of a PyTorch program" in compare(place / "same", place / "bf16", "--tolerance", f"noise:{place / 'wide'},-1", codes=(2,)).stderr


def test_a_batch_is_compared_with_its_first_samples(place, tmp_path):
    assert compare(place / "four", place / "batch", "--first-samples", "--json")["verdict"] != "different"
    assert compare(place / "four", place / "batch", "--json")["verdict"] == "different"
    dump(tmp_path / "bad", structures.build("same", "bias", 2), "same", 4)
    first = compare(tmp_path / "bad", place / "batch", "--first-samples", "--json")["first_divergence"]
    assert first["operator"] == "layers.2.attention.qkv/aten.addmm.default"


def test_two_ranks_are_joined_and_sets_of_ranks_compared_one_by_one(tmp_path):
    ranks.dump(0, 1, tmp_path / "one")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    context = multiprocessing.get_context("spawn")
    started = [context.Process(target=ranks.on_rank, args=(rank, 2, port, tmp_path / "two")) for rank in range(2)]
    for process in started:
        process.start()
    for process in started:
        process.join()
    assert [process.exitcode for process in started] == [0, 0]
    shards = [word for rule in ranks.SHARDS for word in ("--shards", rule)]
    found = compare(tmp_path / "two", tmp_path / "one", *shards, "--json")
    # What is added up in the background may be there or not when the operator has returned.
    assert found["verdict"] != "different" and all("c10d.allreduce_" in problem for problem in found["problems"])
    joined = next(row for row in found["rows"] if row["operator"] == "up/aten.addmm.default")
    assert (joined["shape"], joined["within"]) == ([4, 16], True)
    lacking = compare(tmp_path / "two", tmp_path / "one", "--shards", "up:dim=-1", "--json")
    assert "joined by no --shards, so left out: " in lacking["problems"][0]
    assert "--shards joins what is spread over them" in compare(tmp_path / "two", tmp_path / "one", codes=(2,)).stderr
    both = compare(tmp_path / "two", tmp_path / "two", codes=(0,))
    assert both.stdout.count("within tolerance") == 2 and both.stdout.startswith("rank 0:\n")
