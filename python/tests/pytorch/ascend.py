"""Reads AscendCL's dump files without opscope: a length, a protobuf message, and the tensors back to back."""

import numpy as np

NUMPY = {1: "f4", 2: "f2", 3: "i1", 4: "u1", 5: "i2", 6: "u2", 7: "i4", 8: "i8", 9: "u4", 10: "u8", 11: "?", 12: "f8", 16: "c8", 17: "c16", 27: "i2"}


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a message: numbers with their values, bytes or integers."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 2:
            length, at = varint(data, at)
            yield tag >> 3, data[at : at + length]
            at += length
        else:
            assert tag & 7 == 0, "the message has only integers and bytes"
            value, at = varint(data, at)
            yield tag >> 3, value


def dims(shape):
    found = []
    for number, value in fields(shape):
        if isinstance(value, int):
            found.append(value)
            continue
        at = 0
        while at < len(value):
            dim, at = varint(value, at)
            found.append(dim)
    return found


def read(path):
    """The operator's name, its inputs and its outputs."""
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = list(fields(content[8 : 8 + length]))
    at = 8 + length
    sides = []
    # The inputs come first, and have another field for their size.
    for side, of_size in ((4, 5), (3, 6)):
        tensors = []
        for number, message in header:
            if number == side:
                facts = dict(fields(message))
                shape, size = dims(facts.get(3, b"")), facts.get(of_size, 0)
                data = content[at : at + size]
                tensors.append(np.frombuffer(data, NUMPY[facts[1]]).reshape(shape))
                at += size
        sides.append(tensors)
    assert at == len(content), f"{path} ends at {len(content)}, its tensors at {at}"
    return dict(header)[6].decode(), *sides


def files(root):
    """The files of each step, in the order of their names' tasks and times."""
    found = [path for path in root.glob("0/*/1/*/*") if path.name.count(".") == 4]
    # The last three parts of a name are task, stream and time.
    place = lambda path: (int(path.parent.name), int(path.name.split(".")[-1]), int(path.name.split(".")[-3]))
    return sorted(found, key=place)
