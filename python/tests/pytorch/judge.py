"""An independent judge: a dispatch mode of its own, in Python, that keeps what every operator computed."""

import torch
from dumps import executions
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class Judge(TorchDispatchMode):
    """Keeps the name of every operator and copies of the tensors that it returned or wrote to, in their order."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        name = str(func)
        if name.startswith("profiler.") or name.split(".")[1].startswith(("empty", "new_empty")):
            return result
        tensors = []
        returns = getattr(getattr(func, "_schema", None), "returns", [])
        results = result if isinstance(result, (tuple, list)) and len(returns) != 1 else [result]
        for slot, item in enumerate(results):
            alias = returns[slot].alias_info if slot < len(returns) else None
            if alias is not None and not alias.is_write:
                continue
            tensors += [leaf for leaf in tree_leaves(item) if isinstance(leaf, torch.Tensor)]
        if hasattr(func, "_schema"):
            for place, argument in enumerate(func._schema.arguments):
                if argument.alias_info is not None and argument.alias_info.is_write:
                    value = args[place] if place < len(args) else kwargs.get(argument.name)
                    for leaf in tree_leaves(value):
                        if isinstance(leaf, torch.Tensor) and not any(leaf is known for known in tensors):
                            tensors.append(leaf)
        if tensors:
            self.seen.append((name, [copied(tensor) for tensor in tensors]))
        return result


def differences(root, judge):
    """Says where a dump of operators is not what the judge has seen."""
    seen = executions(root)
    names = [execution[0].op_type for execution in seen]
    expected = [name for name, _ in judge.seen]
    if names != expected:
        place = next((place for place, pair in enumerate(zip(names, expected)) if pair[0] != pair[1]), min(len(names), len(expected)))
        return [f"{len(names)} operators instead of {len(expected)}, others from {place} on: {names[place:][:1]}, not {expected[place:][:1]}"]
    found = []
    for execution, (operator, tensors) in zip(seen, judge.seen):
        if len(execution) != len(tensors):
            found.append(f"{execution[0].operator}: {len(execution)} tensors instead of {len(tensors)}")
        for line, tensor in zip(execution, tensors):
            if operator == "aten.mkldnn_rnn_layer.default" and line.slot == 3:
                continue  # Its workspace, of which it writes only a part.
            array = line.array()
            if array.shape != tensor.shape or array.tobytes() != tensor.tobytes():
                found.append(f"{line.operator}: another value")
    return found


def copied(tensor):
    """A copy that later writes do not change: the bytes of the elements, row by row."""
    tensor = tensor.detach().resolve_conj().resolve_neg().contiguous()
    if tensor.dtype == torch.bfloat16:
        tensor = tensor.view(torch.int16)
    return tensor.numpy().copy()
