"""Runs msaccucmp with Google's protobuf in the place of CANN's closed parser, and judges what it wrote.

    msaccucmp.py TOOL ARGUMENT...
    msaccucmp.py --judge DUMP ARRAYS COMPARED      prints how many files, arrays, compared tensors, and scalars
"""

import csv
import importlib.machinery
import importlib.util
import pathlib
import runpy
import struct
import sys

import numpy as np

JUDGE = pathlib.Path(__file__).resolve().parent.parent / "judge-ascend-dump"


def judge_of_dumps():
    """The project's own reader of these files, which is independent of its writer."""
    loader = importlib.machinery.SourceFileLoader("judge_ascend_dump", str(JUDGE))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


def run(tool, arguments):
    from google.protobuf import json_format

    message = judge_of_dumps().dump_data()
    sys.path.insert(0, tool)
    from dump_parse import big_dump_data

    def parse(self):
        content = pathlib.Path(self.dump_file_path).read_bytes()
        (length,) = struct.unpack_from("<Q", content)
        header = message.FromString(content[8 : 8 + length])
        self.dump_json_data = json_format.MessageToDict(header, preserving_proto_field_name=True)

    big_dump_data.BigDumpDataParser._parse_dump_to_json = parse
    sys.argv = ["msaccucmp.py", *arguments]
    runpy.run_path(f"{tool}/msaccucmp.py", run_name="__main__")


def judge(dump, arrays, compared):
    reader = judge_of_dumps()
    message = reader.dump_data()
    files = count = scalars = 0
    expected = set()
    for file in sorted(pathlib.Path(dump).iterdir()):
        if file.name in ("manifest.json", "mapping.csv"):
            continue
        tensors = {}
        problems = list(reader.problems_of(file, file.name, message, tensors))
        if problems:
            sys.exit(f"{file.name}: {problems}")
        files += 1
        for (_, operator, side), dumps in tensors.items():
            for _, described in dumps:
                for index, (kind, shape, data) in enumerate(described):
                    array = np.load(pathlib.Path(arrays) / f"{file.name}.{side}.{index}.npy")
                    dumped = np.frombuffer(data, kind).reshape(shape)
                    if dumped.shape == () and array.shape == (1,):
                        # msaccucmp has no scalars.
                        dumped = dumped.reshape(1)
                        scalars += 1
                    if array.shape != dumped.shape or array.dtype != dumped.dtype or array.tobytes() != dumped.tobytes():
                        sys.exit(f"{file.name}.{side}.{index} is {array.dtype} {array.shape}, and was dumped as {dumped.dtype} {dumped.shape}")
                    count += 1
    if count != len(list(pathlib.Path(arrays).glob("*.npy"))):
        sys.exit("convert wrote other arrays, too")
    rows = [row for file in pathlib.Path(compared).glob("result_*.csv") for row in csv.DictReader(file.open())]
    for row in rows:
        # Cosines of vectors of zeros are not defined.
        if row["CosineSimilarity"] not in ("1.0", "1.000000") or float(row["MaxAbsoluteError"]) != 0:
            sys.exit(f"compare found a difference: {row}")
    if not rows or not count:
        sys.exit("nothing was converted or compared")
    print(files, count, len(rows), scalars)


if __name__ == "__main__":
    if sys.argv[1] == "--judge":
        judge(*sys.argv[2:])
    else:
        run(sys.argv[1], sys.argv[2:])
