use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::Arc;

use opscope::onnx::{Dim, Graph};
use opscope::tensor::DType;

use crate::border::Failure;
use crate::models::{CHOICE, CHOICE_TYPE, Gears, ModelId, Port};

/// `ACL_MAX_TENSOR_NAME_LEN`: the size of a name in a struct, with its NUL.
pub const NAME_BYTES: usize = 128;

/// The description of a model. The addresses of its texts never change.
pub struct Description {
    /// The model; `None` for a file that was not loaded.
    pub model: Option<ModelId>,
    pub inputs: Vec<Tensor>,
    pub outputs: Vec<Tensor>,
    pub gears: Option<Arc<Gears>>,
}

/// An input or output.
pub struct Tensor {
    pub name: CString,
    /// The name for fields of structs: the full name, or a substitute if the full name is too long.
    pub short_name: CString,
    /// The sizes of the dimensions: -1 for a free one, or a single -2 if the file gives no shape.
    pub dims: Vec<i64>,
    pub rank: Option<usize>,
    pub dtype: Option<DType>,
    /// The size in bytes; with gears, the largest size in any gear. 0 if a dimension is free, or if the type has no
    /// representation in bytes.
    pub bytes: usize,
}

impl Description {
    /// Describes a graph with these gears.
    pub fn new(model: Option<ModelId>, graph: &Graph, gears: Option<Arc<Gears>>) -> Self {
        let id = model.unwrap_or(0);
        let all = gears.as_deref();
        let input = |(index, port): (usize, Port)| {
            let bytes = port.largest_bytes(all.and_then(|all| all.largest_input(index)));
            Tensor::new(&port, bytes, (id, "input", index))
        };
        let output = |(index, port): (usize, Port)| {
            let largest = all.and_then(|all| all.largest_output(index));
            let bytes = port.largest_bytes(largest);
            // An output has its shape in the gear where it is largest; an input keeps its free dimensions.
            let dims = largest.map(|shape| shape.iter().map(|&size| Dim::Fixed(size)).collect());
            Tensor::new(&Port { dims: dims.or(port.dims), ..port }, bytes, (id, "output", index))
        };
        let mut inputs: Vec<Tensor> = Port::of(graph, &graph.inputs).into_iter().enumerate().map(input).collect();
        if let Some(all) = all {
            let dims = Some(vec![Dim::Fixed(all.choice_elements())]);
            let choice = Port { name: CHOICE.to_owned(), dtype: Some(CHOICE_TYPE), dims };
            inputs.push(Tensor::new(&choice, choice.bytes(), (id, "input", inputs.len())));
        }
        let outputs = Port::of(graph, &graph.outputs).into_iter().enumerate().map(output).collect();
        Self { model, inputs, outputs, gears }
    }

    /// Returns an input.
    pub fn input(&self, index: usize) -> Result<&Tensor, Failure> {
        at(&self.inputs, index, "inputs")
    }

    /// Returns an output.
    pub fn output(&self, index: usize) -> Result<&Tensor, Failure> {
        at(&self.outputs, index, "outputs")
    }
}

impl Tensor {
    fn new(port: &Port, bytes: Option<usize>, (model, side, index): (ModelId, &str, usize)) -> Self {
        let name = CString::new(port.name.replace('\0', "\u{fffd}")).unwrap_or_default();
        let short_name = if name.as_bytes_with_nul().len() <= NAME_BYTES {
            name.clone()
        } else {
            let random = RandomState::new().build_hasher().finish() as u32;
            CString::new(format!("acl_modelId_{model}_{side}_{index}_{random:08x}")).unwrap_or_default()
        };
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => i64::try_from(*size).unwrap_or(i64::MAX),
            Dim::Symbol(_) => -1,
        };
        let dims = port.dims.as_ref().map_or(vec![-2], |dims| dims.iter().map(size).collect());
        let rank = port.dims.as_ref().map(Vec::len);
        Self { name, short_name, dims, rank, dtype: port.dtype, bytes: bytes.unwrap_or(0) }
    }

    /// Returns whether this is its full name or its name in structs.
    pub fn is_called(&self, name: &CStr) -> bool {
        *self.name == *name || *self.short_name == *name
    }
}

fn at<'a>(tensors: &'a [Tensor], index: usize, side: &str) -> Result<&'a Tensor, Failure> {
    let found = tensors.get(index);
    found.ok_or_else(|| Failure::wrong_value("index", index, &format!("the model has {} {side}", tensors.len())))
}
