//! The kernels of a recording: an operator on the host with its inputs, or what an operator launched on a device.

use foldhash::HashMap;
use opscope_profile::{BuiltKernel, BuiltOperator, TensorKind};
use opscope_tensor::DType;

use super::names::{NameNumber, Names};
use super::rows::EventRow;
use super::scopes::{Scope, Scopes};

/// The kernels in the order of their numbers.
#[derive(Default)]
pub(super) struct Kernels {
    numbers: HashMap<Key, u32>,
    all: Vec<Key>,
    /// The first kernel on the host of each operator, to which paths refer.
    of_operators: HashMap<Scope, u32>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    /// The operator; the outermost scope if there is none.
    operator: Scope,
    kernel: KernelName,
}

/// What a kernel is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct KernelName {
    name: NameNumber,
    /// The operator's type, where that is not its name.
    op: NameNumber,
    inputs: NameNumber,
}

impl KernelName {
    pub fn of(event: &EventRow) -> Self {
        Self { name: NameNumber(event.name), op: NameNumber(event.op), inputs: NameNumber(event.inputs) }
    }
}

impl Kernels {
    /// Returns the number of a kernel.
    pub fn number(&mut self, operator: Option<Scope>, kernel: KernelName) -> u32 {
        let key = Key { operator: operator.unwrap_or_default(), kernel };
        let next = self.all.len() as u32;
        *self.numbers.entry(key).or_insert_with(|| {
            self.all.push(key);
            next
        })
    }

    /// Returns the number of the kernel that is an operator on the host.
    pub fn of_operator(&mut self, operator: Scope, kernel: KernelName) -> u32 {
        let number = self.number(Some(operator), kernel);
        self.of_operators.entry(operator).or_insert(number);
        number
    }

    /// Returns the kernel that stands for an operator in paths.
    pub fn in_path(&self, operator: Scope) -> Option<u32> {
        self.of_operators.get(&operator).copied()
    }

    /// Returns the names of every kernel, in the order of their numbers.
    pub fn built<'a>(&'a self, scopes: &'a Scopes, names: &'a Names) -> impl Iterator<Item = BuiltKernel> {
        self.all.iter().map(|Key { operator, kernel }| {
            let name = names.text(kernel.name);
            let op = if kernel.op == NameNumber::default() { name } else { names.text(kernel.op) };
            let is_host = self.of_operators.contains_key(operator);
            let op_type = || if is_host { op } else { scopes.own_name(*operator, names) };
            let built = (*operator != Scope::default()).then(|| BuiltOperator {
                name: scopes.name(*operator, names),
                op_type: op_type().to_owned(),
                origin: scopes.origin(*operator, names),
            });
            BuiltKernel {
                operator: built,
                op: op.to_owned(),
                name: name.to_owned(),
                inputs: tensors(names.text(kernel.inputs)),
            }
        })
    }
}

/// Returns the inputs in a text such as `float[2, 3], float[3]`. What is no tensor has no brackets and is left out.
fn tensors(text: &str) -> Vec<TensorKind> {
    text.split_inclusive(']')
        .filter_map(|part| {
            let (dtype, shape) = part.trim_start_matches([',', ' ']).strip_suffix(']')?.rsplit_once('[')?;
            let dtype = dtype.rsplit(", ").next().unwrap_or_default();
            let shape = shape.split(',').map(str::trim).filter(|extent| !extent.is_empty());
            Some(TensorKind {
                dtype: dtype_of(dtype),
                shape: shape.map(|extent| extent.parse().ok()).collect::<Option<_>>()?,
            })
        })
        .collect()
}

/// Returns the element type that a trace calls so: by PyTorch's names for C++, or ONNX's.
fn dtype_of(name: &str) -> Option<DType> {
    Some(match name {
        "float" => DType::F32,
        "double" => DType::F64,
        "c10::Half" | "float16" => DType::F16,
        "c10::BFloat16" | "bfloat16" => DType::Bf16,
        "long int" | "long" | "int64" => DType::I64,
        "int" | "int32" => DType::I32,
        "short int" | "short" | "int16" => DType::I16,
        "signed char" | "int8" => DType::I8,
        "unsigned char" | "uint8" => DType::U8,
        "uint16" => DType::U16,
        "uint32" => DType::U32,
        "uint64" => DType::U64,
        "bool" => DType::Bool,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_tensors_with_their_types_and_shapes() {
        let kind = |dtype, shape: &[usize]| TensorKind { dtype, shape: shape.to_vec() };
        assert_eq!(
            tensors("float[2, 3], Scalar, long int[], c10::Half[7], weird[1]"),
            [
                kind(Some(DType::F32), &[2, 3]),
                kind(Some(DType::I64), &[]),
                kind(Some(DType::F16), &[7]),
                kind(None, &[1])
            ]
        );
        assert_eq!(tensors(""), []);
        for (names, expected) in [
            (&["float"][..], DType::F32),
            (&["double"], DType::F64),
            (&["c10::Half", "float16"], DType::F16),
            (&["c10::BFloat16", "bfloat16"], DType::Bf16),
            (&["long int", "long", "int64"], DType::I64),
            (&["int", "int32"], DType::I32),
            (&["short int", "short", "int16"], DType::I16),
            (&["signed char", "int8"], DType::I8),
            (&["unsigned char", "uint8"], DType::U8),
            (&["uint16"], DType::U16),
            (&["uint32"], DType::U32),
            (&["uint64"], DType::U64),
            (&["bool"], DType::Bool),
        ] {
            for name in names {
                assert_eq!(tensors(&format!("{name}[7]")), [kind(Some(expected), &[7])], "{name}");
            }
        }
        assert_eq!(tensors("float[-1]"), []);
    }
}
