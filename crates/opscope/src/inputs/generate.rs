//! Made-up inputs.

use opscope_onnx::Graph;
use opscope_tensor::{DType, Tensor};

use super::InputError;
use crate::machine;

/// What made-up inputs hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Zeros.
    Zero,
    /// Valid for the element type, and the same for the same seed: floating-point numbers from 0 to 1 (a half-precision
    /// one with all of its digits), `bool` and wide integers 0 or 1 (so that they are valid as indices), 8-bit integers of
    /// their whole range.
    Random(u64),
}

/// A tensor for every input, of the given shapes.
///
/// # Errors
/// When an input takes something that cannot be made up, or more than the machine's memory.
pub fn generate(graph: &Graph, shapes: &[Vec<usize>], data: Data) -> Result<Vec<Tensor>, InputError> {
    let mut random = match data {
        Data::Zero => None,
        Data::Random(seed) => Some(fastrand::Rng::with_seed(seed)),
    };
    let tensor = |(&input, shape): (&opscope_onnx::ValueId, &Vec<usize>)| {
        let value = graph.value(input);
        let name = || value.name.clone();
        let dtype =
            value.dtype.ok_or_else(|| InputError::NoData { name: name(), dtype: "an unknown type".to_owned() })?;
        let no_data = || InputError::NoData { name: name(), dtype: dtype.to_string() };
        let too_large = || InputError::TooLarge { name: name(), shape: shape.clone() };
        let elements = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim)).ok_or_else(too_large)?;
        if dtype == DType::String {
            return Err(no_data());
        }
        let bytes =
            dtype.bytes_of(elements).filter(|&bytes| bytes as u64 <= machine::memory()).ok_or_else(too_large)?;
        let bytes = match &mut random {
            None => vec![0; bytes],
            Some(random) => fill(dtype, elements, random).ok_or_else(no_data)?,
        };
        Tensor::new(dtype, shape.clone(), bytes).map_err(|_| no_data())
    };
    graph.inputs.iter().zip(shapes).map(tensor).collect()
}

fn fill(dtype: DType, elements: usize, random: &mut fastrand::Rng) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(dtype.bytes_of(elements)?);
    for _ in 0..elements {
        match dtype {
            DType::F32 => bytes.extend(random.f32().to_le_bytes()),
            DType::F64 => bytes.extend(random.f64().to_le_bytes()),
            DType::F16 => bytes.extend(half::f16::from_f32(random.f32()).to_le_bytes()),
            DType::Bf16 => bytes.extend(half::bf16::from_f32(random.f32()).to_le_bytes()),
            DType::U8 | DType::I8 => bytes.push(random.u8(..)),
            DType::Bool => bytes.push(random.u8(0..2)),
            DType::U16 | DType::I16 => bytes.extend(random.u16(0..2).to_le_bytes()),
            DType::U32 | DType::I32 => bytes.extend(random.u32(0..2).to_le_bytes()),
            DType::U64 | DType::I64 => bytes.extend(random.u64(0..2).to_le_bytes()),
            _ => return None,
        }
    }
    Some(bytes)
}
