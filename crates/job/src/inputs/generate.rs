//! Generated inputs.

use opscope_onnx::{Attribute, Dim, Graph, Operator, Value};
use opscope_sys::memory;
use opscope_tensor::{DType, Tensor};

use super::InputError;

/// What generated inputs contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Data {
    /// Zeros.
    Zero,
    /// Valid numbers of the element type, which are the same for the same seed. Floating-point numbers are from 0 to 1
    /// (half-precision ones use all of their digits), `bool` and wide integers are 0 or 1, and 8-bit integers span
    /// their whole range. Integers that the graph takes as indices into tables of the file, such as token ids, are
    /// valid indices of the smallest table.
    Random(u64),
}

impl Data {
    /// Every kind of data, with the seed 0.
    pub const ALL: [Self; 2] = [Self::Zero, Self::Random(0)];

    /// Returns `zero` or `random`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zero => "zero",
            Self::Random(_) => "random",
        }
    }

    /// Returns the same kind of data with this seed.
    pub fn with_seed(self, seed: u64) -> Self {
        match self {
            Self::Zero => Self::Zero,
            Self::Random(_) => Self::Random(seed),
        }
    }
}

/// Returns a tensor for every input, of the given shapes.
///
/// # Errors
/// Returns an error if an input takes a type that cannot be generated, or needs more memory than there is.
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
            dtype.bytes_of(elements).filter(|&bytes| bytes as u64 <= memory::available()).ok_or_else(too_large)?;
        let mut data = Vec::new();
        data.try_reserve_exact(bytes).map_err(|_| too_large())?;
        match &mut random {
            None => data.resize(bytes, 0),
            Some(random) => fill(dtype, elements, indices(graph, value), random, &mut data).ok_or_else(no_data)?,
        };
        Tensor::new(dtype, shape.clone(), data).map_err(|_| no_data())
    };
    graph.inputs.iter().zip(shapes).map(tensor).collect()
}

/// Returns the number of valid integers for an input, from zero up.
fn indices(graph: &Graph, input: &Value) -> u64 {
    let rows = |operator: &Operator| {
        let &[Some(table), Some(taken), ..] = &operator.inputs[..] else { return None };
        if operator.op_type != "Gather" || taken != input.id {
            return None;
        }
        let shape = graph.value(table).shape.as_ref()?;
        let axis = match operator.attributes.get("axis") {
            Some(Attribute::Int(axis)) => *axis,
            _ => 0,
        };
        let axis = if axis < 0 { axis + shape.len() as i64 } else { axis };
        match shape.get(usize::try_from(axis).ok()?)? {
            Dim::Fixed(rows) => Some(*rows as u64),
            Dim::Symbol(_) => None,
        }
    };
    let tables = input.consumers.iter().filter_map(|operator| rows(graph.operator(*operator)));
    tables.min().unwrap_or(2).max(1)
}

fn fill(dtype: DType, elements: usize, indices: u64, random: &mut fastrand::Rng, bytes: &mut Vec<u8>) -> Option<()> {
    for _ in 0..elements {
        match dtype {
            DType::F32 => bytes.extend(random.f32().to_le_bytes()),
            DType::F64 => bytes.extend(random.f64().to_le_bytes()),
            DType::F16 => bytes.extend(half::f16::from_f32(random.f32()).to_le_bytes()),
            DType::Bf16 => bytes.extend(half::bf16::from_f32(random.f32()).to_le_bytes()),
            DType::U8 | DType::I8 => bytes.push(random.u8(..)),
            DType::Bool => bytes.push(random.u8(0..2)),
            DType::U16 | DType::I16 => bytes.extend(random.u16(0..2).to_le_bytes()),
            DType::I32 => bytes.extend(random.i32(0..i32::try_from(indices).unwrap_or(i32::MAX)).to_le_bytes()),
            DType::U32 => bytes.extend(random.u32(0..2).to_le_bytes()),
            DType::U64 => bytes.extend(random.u64(0..2).to_le_bytes()),
            DType::I64 => bytes.extend(random.u64(0..indices).to_le_bytes()),
            _ => return None,
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn random_token_ids_are_places_in_the_table_that_they_are_looked_up_in() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        let graph = Graph::load(&models.join("token_classifier.onnx")).unwrap();
        let ids = graph.value(graph.inputs[0]);
        let lookup = ids.consumers.iter().map(|id| graph.operator(*id)).find(|operator| operator.op_type == "Gather");
        let table = graph.value(lookup.unwrap().inputs[0].unwrap());
        let Some(&[Dim::Fixed(vocabulary), _]) = table.shape.as_deref() else { panic!("{table:?}") };
        let made = generate(&graph, &[vec![4, 200]], Data::Random(1)).unwrap();
        let numbers = made[0].bytes().chunks_exact(8).map(|bytes| i64::from_le_bytes(bytes.try_into().unwrap()));
        let numbers: Vec<i64> = numbers.collect();
        assert!(numbers.iter().all(|number| (0..vocabulary as i64).contains(number)), "{numbers:?}");
        assert!(numbers.iter().any(|number| *number > 1), "the vocabulary is not used: {numbers:?}");
    }
}
