//! Checks the data of tensors.

use opscope_tensor::DType;

use super::external;
use super::proto::{DATA_IS_EXTERNAL, GraphProto, TensorProto};
use crate::{OnnxError, Source};

/// Checks the initializers and the tensors in attributes, including those of graphs inside operators, at any depth.
pub(crate) fn check_data(source: &Source, graph: &GraphProto) -> Result<(), OnnxError> {
    graph.initializer.iter().try_for_each(|tensor| check_tensor(source, tensor))?;
    for attribute in graph.node.iter().flat_map(|node| &node.attribute) {
        attribute.t.iter().chain(&attribute.tensors).try_for_each(|tensor| check_tensor(source, tensor))?;
        attribute.graphs().try_for_each(|inner| check_data(source, inner))?;
    }
    Ok(())
}

/// Checks that a tensor has as many bytes as its shape needs, in the file or as external data. This must come before
/// anything of that size is allocated.
fn check_tensor(source: &Source, tensor: &TensorProto) -> Result<(), OnnxError> {
    let invalid = |reason: String| OnnxError::Invalid { path: source.path.clone(), reason };
    let name = &tensor.name;
    let dtype = DType::from_onnx(tensor.data_type)
        .ok_or_else(|| invalid(format!("tensor '{name}' has the unknown element type {}", tensor.data_type)))?;
    let elements = tensor.dims.iter().try_fold(1usize, |all, &dim| all.checked_mul(usize::try_from(dim).ok()?));
    let elements = elements.filter(|&elements| elements <= isize::MAX as usize / 16);
    let elements =
        elements.ok_or_else(|| invalid(format!("tensor '{name}' has the impossible shape {:?}", tensor.dims)))?;
    let Some(needed) = dtype.bytes_of(elements) else {
        return if tensor.string_data.len() == elements {
            Ok(())
        } else {
            Err(invalid(format!("tensor '{name}' needs {elements} strings and has {}", tensor.string_data.len())))
        };
    };
    if tensor.data_location == DATA_IS_EXTERNAL {
        return external::locate(&source.path, tensor, needed as u64).map(drop).map_err(|error| {
            OnnxError::ExternalData { path: source.path.clone(), tensor: name.clone(), source: error }
        });
    }
    let found = match tensor.raw_data.len() {
        0 => typed_bytes(tensor, dtype),
        raw => raw,
    };
    if found == needed {
        Ok(())
    } else {
        Err(invalid(format!("tensor '{name}', {dtype} {:?}, needs {needed} bytes and has {found}", tensor.dims)))
    }
}

/// Returns the number of bytes that a tensor's typed fields decode to.
fn typed_bytes(tensor: &TensorProto, dtype: DType) -> usize {
    let (count, per_field) = match dtype {
        DType::F32 => (tensor.float_data.len(), 1),
        DType::Complex64 => (tensor.float_data.len(), 2),
        DType::F64 => (tensor.double_data.len(), 1),
        DType::Complex128 => (tensor.double_data.len(), 2),
        DType::I64 => (tensor.int64_data.len(), 1),
        DType::U32 | DType::U64 => (tensor.uint64_data.len(), 1),
        DType::I4 | DType::U4 | DType::F4E2M1 => return tensor.int32_data.len(),
        _ => (tensor.int32_data.len(), 1),
    };
    dtype.bytes_of(count / per_field).unwrap_or(0)
}
