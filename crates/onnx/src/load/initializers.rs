//! The data of initializers, which are a model's weights, and checks of the data of tensors.

use std::os::unix::fs::FileExt;

use opscope_files::open_regular;
use opscope_tensor::{DType, Tensor};
use prost::Message;

use super::external;
use crate::proto::{DATA_IS_EXTERNAL, GraphProto, ModelProto, TensorProto};
use crate::{ExternalDataError, Graph, OnnxError, Operator, Source, ValueId};

impl Graph {
    /// Reads the initializers from the file one by one, including those of bodies, and passes each to `visit`.
    /// Initializers of strings are skipped, because strings have no representation in bytes.
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
        let main = model.graph.unwrap_or_default();
        let mut found = Vec::new();
        self.each_graph(&main, &mut |proto, _, first| found.extend(with_ids(proto, first)));
        for (value, proto) in found.into_iter().filter(|(value, _)| wanted(*value)) {
            let Some(dtype) = DType::from_onnx(proto.data_type).filter(|dtype| *dtype != DType::String) else {
                continue;
            };
            let shape: Vec<usize> = proto.dims.iter().map(|&dim| dim.max(0) as usize).collect();
            let bytes = self.bytes(proto, dtype)?;
            let tensor = Tensor::new(dtype, shape, bytes).map_err(|error| damaged(error.to_string()))?;
            visit(value, &tensor)?;
        }
        Ok(())
    }

    /// Calls `visit` for the main graph of the file, and for each body after the graph around it: with the message, the
    /// operators, and the id of the first initializer.
    pub(crate) fn each_graph<'p>(
        &self,
        proto: &'p GraphProto,
        visit: &mut dyn FnMut(&'p GraphProto, &[Operator], ValueId),
    ) {
        self.each_graph_from(proto, &self.operators, self.inputs.len(), visit);
    }

    fn each_graph_from<'p>(
        &self,
        proto: &'p GraphProto,
        operators: &[Operator],
        first_initializer: usize,
        visit: &mut dyn FnMut(&'p GraphProto, &[Operator], ValueId),
    ) {
        visit(proto, operators, ValueId::new(first_initializer as u32));
        for operator in operators {
            let Some(node) = proto.node.get(operator.position) else { continue };
            for (body, (_, proto)) in self.bodies_of(operator.id).iter().zip(node.graphs()) {
                // The values of a graph begin with its inputs, followed by its initializers.
                let first = body.values.start.index() + body.inputs.len();
                self.each_graph_from(proto, self.operators_of(body), first, visit);
            }
        }
    }

    pub(crate) fn bytes(&self, proto: &TensorProto, dtype: DType) -> Result<Vec<u8>, OnnxError> {
        if proto.data_location != DATA_IS_EXTERNAL {
            return Ok(if proto.raw_data.is_empty() { typed(proto, dtype) } else { proto.raw_data.to_vec() });
        }
        let elements = proto.dims.iter().map(|&dim| dim.max(0) as usize).product();
        let needed = dtype.bytes_of(elements).unwrap_or(0);
        let unusable =
            |source| OnnxError::ExternalData { path: self.source.path.clone(), tensor: proto.name.clone(), source };
        let (file, offset) = external::locate(&self.source.path, proto, needed as u64).map_err(unusable)?;
        let mut bytes = vec![0; needed];
        open_regular(&file)
            .and_then(|file| file.read_exact_at(&mut bytes, offset))
            .map_err(ExternalDataError::io(file.display().to_string()))
            .map_err(unusable)?;
        Ok(bytes)
    }
}

/// Returns the initializers of a graph with their ids, which are consecutive from `first`.
pub(crate) fn with_ids(proto: &GraphProto, first: ValueId) -> impl Iterator<Item = (ValueId, &TensorProto)> {
    (first.index() as u32..).map(ValueId::new).zip(&proto.initializer)
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
