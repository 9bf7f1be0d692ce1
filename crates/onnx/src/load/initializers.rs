//! The data of initializers: a model's weights.

use std::fs::File;
use std::os::unix::fs::FileExt;

use opscope_tensor::{DType, Tensor};
use prost::Message;

use super::external;
use super::proto::{DATA_IS_EXTERNAL, ModelProto, TensorProto};
use crate::{Graph, OnnxError, ValueId};

impl Graph {
    /// Reads the initializers from the file one by one and passes each to `visit`. Initializers of strings are skipped,
    /// because strings have no byte form.
    ///
    /// # Errors
    /// Returns an error if external data cannot be read, or the first error of `visit`.
    pub fn initializers<E: From<OnnxError>>(
        &self,
        wanted: impl Fn(ValueId) -> bool,
        mut visit: impl FnMut(ValueId, &Tensor) -> Result<(), E>,
    ) -> Result<(), E> {
        let damaged = |reason: String| OnnxError::NotOnnx { path: self.source.path.clone(), reason };
        let model = ModelProto::decode(self.source.bytes.clone()).map_err(|error| damaged(error.to_string()))?;
        for proto in model.graph.into_iter().flat_map(|graph| graph.initializer) {
            let value = self.values.iter().find(|value| value.name == proto.name);
            let Some(value) = value.filter(|value| wanted(value.id)) else { continue };
            let Some(dtype) = DType::from_onnx(proto.data_type).filter(|dtype| *dtype != DType::String) else {
                continue;
            };
            let shape: Vec<usize> = proto.dims.iter().map(|&dim| dim.max(0) as usize).collect();
            let bytes = self.bytes(&proto, dtype)?;
            let tensor = Tensor::new(dtype, shape, bytes).map_err(|error| damaged(error.to_string()))?;
            visit(value.id, &tensor)?;
        }
        Ok(())
    }

    fn bytes(&self, proto: &TensorProto, dtype: DType) -> Result<Vec<u8>, OnnxError> {
        if proto.data_location != DATA_IS_EXTERNAL {
            return Ok(if proto.raw_data.is_empty() { typed(proto, dtype) } else { proto.raw_data.to_vec() });
        }
        let elements = proto.dims.iter().map(|&dim| dim.max(0) as usize).product();
        let needed = dtype.bytes_of(elements).unwrap_or(0);
        let unusable = |reason: String| OnnxError::ExternalData {
            path: self.source.path.clone(),
            tensor: proto.name.clone(),
            reason,
        };
        let (file, offset) = external::locate(&self.source.path, proto, needed as u64).map_err(unusable)?;
        let mut bytes = vec![0; needed];
        File::open(&file)
            .and_then(|file| file.read_exact_at(&mut bytes, offset))
            .map_err(|error| unusable(format!("{}: {error}", file.display())))?;
        Ok(bytes)
    }
}

/// Returns the little-endian bytes of a tensor that is stored in the field for its type.
fn typed(proto: &TensorProto, dtype: DType) -> Vec<u8> {
    let ints =
        |size: usize| proto.int32_data.iter().flat_map(move |number| number.to_le_bytes().into_iter().take(size));
    match dtype {
        DType::F32 | DType::Complex64 => proto.float_data.iter().flat_map(|number| number.to_le_bytes()).collect(),
        DType::F64 | DType::Complex128 => proto.double_data.iter().flat_map(|number| number.to_le_bytes()).collect(),
        DType::I64 => proto.int64_data.iter().flat_map(|number| number.to_le_bytes()).collect(),
        DType::U64 => proto.uint64_data.iter().flat_map(|number| number.to_le_bytes()).collect(),
        DType::U32 => proto.uint64_data.iter().flat_map(|number| (*number as u32).to_le_bytes()).collect(),
        // Each number holds one byte, which is two elements.
        DType::U4 | DType::I4 | DType::F4E2M1 => ints(1).collect(),
        other => ints(other.size().unwrap_or(0)).collect(),
    }
}
