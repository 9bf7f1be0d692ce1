"""Writes the expectations beside this file, with numpy and ml_dtypes: python expected.py"""

import io
import pathlib
import struct

import ml_dtypes
import numpy as np

HERE = pathlib.Path(__file__).parent
BF16 = ml_dtypes.bfloat16
NAMES = {"float16": np.float16, "bfloat16": BF16, "float32": np.float32, "float64": np.float64}
SMALL = {
    "float8e4m3fn": (ml_dtypes.float8_e4m3fn, 256),
    "float8e4m3fnuz": (ml_dtypes.float8_e4m3fnuz, 256),
    "float8e5m2": (ml_dtypes.float8_e5m2, 256),
    "float8e5m2fnuz": (ml_dtypes.float8_e5m2fnuz, 256),
    "float4e2m1": (ml_dtypes.float4_e2m1fn, 16),
}


def write(name, lines):
    (HERE / name).write_text("".join(f"{line}\n" for line in lines))


def small_floats():
    """Each type, and the bits in float32 of each of its numbers."""
    for name, (dtype, count) in SMALL.items():
        numbers = np.arange(count, dtype=np.uint8).view(dtype).astype(np.float32)
        yield " ".join([name] + ["nan" if np.isnan(n) else struct.pack(">f", n).hex() for n in numbers])


def rounding():
    """A float64, and the bits of what it is in float32, float16 and bfloat16."""
    numbers = [0.1, -3.3, 1 / 3, 65504.0, 65519.0, 65520.0, 70000.0, 6e-8, 2.9e-8, 1e-9, 1.0 + 2**-11, 1.0 + 3 * 2**-11,
               1.0 + 2**-8, 1.0 + 3 * 2**-8, -1.0 - 2**-10, 3.39e38, 3.5e38, 1e-40, 256.5, 257.0, -0.0, 2049.0, 2051.0]
    for number in numbers:
        with np.errstate(over="ignore"):
            of = [np.float64(number).astype(t).tobytes()[::-1].hex() for t in (np.float32, np.float16, BF16)]
        yield " ".join([repr(number), *of])


def special(dtype, values):
    return np.array(values, dtype=np.float64).astype(dtype)


def ordered(array):
    bits = array.view({2: np.uint16, 4: np.uint32, 8: np.uint64}[array.itemsize])
    sign = 1 << (array.itemsize * 8 - 1)
    return [-(int(b) - sign) if int(b) >= sign else int(b) for b in bits]


def differences():
    """The two types, the two arrays as bytes, the relative part of a tolerance, and the metrics."""
    random = np.random.default_rng(7)
    def case(x, y, names, relative, rounded=None):
        a, b = (v.astype(np.complex128) if v.dtype.kind == "c" else v.astype(np.float64) for v in (x, y))
        if rounded is not None:
            a, b = a.astype(rounded).astype(np.float64), b.astype(rounded).astype(np.float64)
        if a.dtype.kind == "c":
            equal = int((a == b).sum())
            a, b = a.view(np.float64), b.view(np.float64)
        else:
            equal = int(((a == b) | (np.isnan(a) & np.isnan(b))).sum())
        fine = np.isfinite(a) & np.isfinite(b)
        f, g = a[fine], b[fine]
        apart = np.abs(f - g)
        large = np.abs(g) > np.finfo(np.float64).eps
        shares = apart[large] / np.abs(g[large])
        ulp = "-"
        if x.dtype == y.dtype and x.dtype in [np.dtype(t) for t in NAMES.values()]:
            both = np.isfinite(x.astype(np.float64)) & np.isfinite(y.astype(np.float64))
            ulp = max(abs(p - q) for p, q in zip(ordered(x[both]), ordered(y[both])))
        numbers = [len(x), equal, np.isnan(a).sum(), np.isnan(b).sum(), np.isinf(a).sum(), np.isinf(b).sum(), ulp]
        floats = [
            (f @ g) / (np.sqrt(f @ f) * np.sqrt(g @ g)), apart.max(), shares.max(), shares.mean(), np.sqrt((apart**2).mean()),
            10 * np.log10((g @ g) / (apart @ apart)), np.abs(g).max(), max(0, (apart - relative * np.abs(g)).max()),
        ]
        return " ".join(map(str, [*names, x.tobytes().hex(), y.tobytes().hex(), relative, *numbers, *map(float, floats)]))
    for name, dtype in NAMES.items():
        for count in (1, 16, 33, 100):
            y = random.normal(0, 10, count).astype(dtype)
            x = (y.astype(np.float64) * (1 + random.normal(0, 0.02, count))).astype(dtype)
            x[::3] = y[::3]
            x[0] = special(dtype, [3.5])[0]
            y[0] = special(dtype, [-3.25])[0]
            if count > 20:
                y[5], x[5], y[7], x[7] = 0, special(dtype, [0.125])[0], special(dtype, [1e-7])[0], 0
                if name != "float32" or count == 33:
                    x[11], y[12], x[13], y[13] = np.nan, np.inf, np.nan, np.nan
            yield case(x, y, [name, name], 0.01)
    for dtype in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32):
        info = np.iinfo(dtype)
        y = random.integers(max(info.min, -999), min(info.max, 999), 40).astype(dtype)
        x = y.copy()
        x[::4] = random.integers(max(info.min, -999), min(info.max, 999), 10).astype(dtype)
        yield case(x, y, [np.dtype(dtype).name] * 2, 0.0)
    y = random.normal(0, 1, 50).astype(np.float32)
    x = (y * 1.001).astype(np.float16)
    yield case(x, y, ["float16", "float32"], 0.0, np.float16)
    yield case(y, (y * 1.01).astype(BF16), ["float32", "bfloat16"], 0.0, BF16)
    yield case(y, y.astype(np.float64) * 1.0001, ["float32", "float64"], 0.0, np.float32)
    z = (random.normal(0, 1, 20) + 1j * random.normal(0, 1, 20)).astype(np.complex64)
    w = z.copy()
    w[::2] *= np.complex64(1.1)
    yield case(w, z, ["complex64", "complex64"], 0.01)


def statistics():
    """A type, an array as bytes, its counts, and its extremes, mean, deviation and norm."""
    random = np.random.default_rng(8)
    types = {**NAMES, **{np.dtype(t).name: t for t in
                         (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64)}}
    for name, dtype in types.items():
        for count in (1, 31, 100, 300):
            if np.issubdtype(dtype, np.integer):
                array = random.integers(0, min(np.iinfo(dtype).max, 10**6), count).astype(dtype)
                array[count // 2] = 0
            else:
                array = random.normal(3, 100, count).astype(dtype)
                if count > 50:
                    array[3], array[4], array[-1] = 0, -0.0, 0
                if count > 200:
                    array[7:10], array[20], array[30:32] = np.nan, np.inf, -np.inf
            wide = array.astype(np.float64)
            fine = wide[np.isfinite(wide)]
            counts = [count, np.isnan(wide).sum(), (wide == np.inf).sum(), (wide == -np.inf).sum(), (wide == 0).sum()]
            floats = [fine.min(), fine.max(), fine.mean(), fine.std(), np.sqrt((fine**2).sum())]
            yield " ".join(map(str, [name, array.tobytes().hex(), *counts, *map(float, floats)]))


def headers():
    """A type by its name in numpy, a shape, and what numpy.save writes before the data."""
    types = ["float32", "uint8", "int8", "uint16", "int16", "int32", "int64", "bool", "float16", "float64", "uint32", "uint64",
             "complex64", "complex128"]
    for name in types:
        for shape in [(), (0,), (7,), (2, 3), (1, 2, 3, 4, 5), (10**9, 0, 12345), (2,) * 30]:
            file = io.BytesIO()
            np.lib.format.write_array_header_1_0(file, {"descr": np.lib.format.dtype_to_descr(np.dtype(name)), "fortran_order": False, "shape": shape})
            yield " ".join([name, ",".join(map(str, shape)) or "-", file.getvalue().hex()])


for function in (small_floats, rounding, differences, statistics, headers):
    write(f"{function.__name__}.txt", function())
