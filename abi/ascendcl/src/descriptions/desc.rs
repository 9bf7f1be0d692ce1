//! The description of a model, and the object by which a program knows it.

use std::ffi::{CStr, CString};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::ptr;
use std::sync::Arc;

use opscope::onnx::{Dim, Graph};
use opscope::tensor::DType;
use opscope_border::{Bytes, Text, exported};
use opscope_sys::RwLock;

use crate::border::{Failure, codes, value};
use crate::handles::Table;
use crate::models::{CHOICE, CHOICE_TYPE, Gears, ModelId, Port, Source, find, read_file, read_memory};

/// The type by which a program knows a [`Desc`].
#[repr(C)]
pub struct aclmdlDesc {
    _private: [u8; 0],
}

/// A place for a model's description; empty until it is filled.
#[derive(Default)]
struct Desc(RwLock<Option<Arc<Description>>>);

static DESCS: Table<aclmdlDesc, Desc> = Table::new("model description", || DESCS.held());

/// Returns the description in a place.
pub fn described(desc: *const aclmdlDesc) -> Result<Arc<Description>, Failure> {
    let held = DESCS.get(desc)?.0.read().clone();
    held.ok_or_else(|| {
        let text = "the model description is empty; aclmdlGetDesc fills it";
        Failure::new(codes::INVALID_PARAM, "EH0012", text)
    })
}

/// Creates an empty description.
#[exported]
pub fn aclmdlCreateDesc() -> *mut aclmdlDesc {
    value(ptr::null_mut(), || Ok(DESCS.insert(Desc::default())))
}

/// Destroys a description. The texts that were returned from it become invalid.
#[exported]
pub fn aclmdlDestroyDesc(desc: *mut aclmdlDesc) -> Result<(), Failure> {
    DESCS.remove(desc).map(drop)
}

/// Fills a description from a loaded model.
#[exported]
pub fn aclmdlGetDesc(desc: *mut aclmdlDesc, model_id: u32) -> Result<(), Failure> {
    fill(desc, || {
        let model = find(model_id)?;
        Ok(Description::new(Some(model_id), model.session.graph(), model.gears.clone()))
    })
}

/// Fills a description from a file.
#[exported]
pub fn aclmdlGetDescFromFile(desc: *mut aclmdlDesc, model_path: Text<'_>) -> Result<(), Failure> {
    fill(desc, || read_file(model_path).map(of_source))
}

/// Fills a description from a model in memory.
#[exported]
pub fn aclmdlGetDescFromMem(
    desc: *mut aclmdlDesc,
    #[counted_by(model_size)] model: Bytes<'_>,
    model_size: usize,
) -> Result<(), Failure> {
    fill(desc, || read_memory(model).map(of_source))
}

fn of_source(source: Source) -> Description {
    Description::new(None, &source.graph, source.gears)
}

fn fill(desc: *mut aclmdlDesc, describe: impl FnOnce() -> Result<Description, Failure>) -> Result<(), Failure> {
    let desc = DESCS.get(desc)?;
    let filled = describe();
    let (held, result) = match filled {
        Ok(described) => (Some(Arc::new(described)), Ok(())),
        // A description that cannot be filled becomes empty. It does not keep its old content.
        Err(failure) => (None, Err(failure)),
    };
    *desc.0.write() = held;
    result
}

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
