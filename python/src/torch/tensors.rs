//! The tensors of a program, where they lie.

use std::borrow::Cow;
use std::sync::Arc;

use opscope::model::TensorType;
use opscope::tensor::{DType, TensorError};
use opscope_torch::{Shown, Strided, Taken};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use crate::border::dlpack::{READABLE, dtype_of};
use crate::border::exchange::{Exchange, Memory, bytes};

/// Reads tensors.
pub struct Reader {
    tensor: Py<PyAny>,
    exchange: Option<Exchange>,
    reduce: Py<PyAny>,
    /// Whether statistics of tensors in the processor's memory are computed as those on devices, for tests.
    reduces_all: bool,
}

/// A tensor that was found, with what keeps its memory.
pub struct Found<'py> {
    pub object: Bound<'py, PyAny>,
    pub address: usize,
    /// The size of the memory that it lies in on its device, in bytes.
    length: usize,
    data: Result<Data<'py>, Lacking>,
}

/// How much of a tensor is read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Want {
    /// Where it lies.
    Address,
    /// Where it lies, and its elements if the processor can read them there.
    Place,
    /// Its elements, if one of them is not finite. If the processor cannot read them, the device checks them.
    NonFinite,
    /// Its statistics, which its device computes.
    Reduced,
    /// Its elements.
    All,
}

/// Why the elements of a tensor are not there.
enum Lacking {
    /// They were not asked for.
    NotAsked,
    /// The device computes their statistics.
    Reduced(TensorType, Py<PyAny>),
    /// They cannot be read, for this reason.
    Reason(String),
}

struct Data<'py> {
    /// The tensor itself, or a copy of it that the processor can read.
    readable: Bound<'py, PyAny>,
    address: usize,
    dtype: DType,
    shape: Vec<usize>,
    strides: Vec<usize>,
    extent: usize,
}

impl Reader {
    pub fn new(py: Python<'_>, reduces_all: bool) -> PyResult<Self> {
        let tensor = py.import("torch")?.getattr("Tensor")?;
        let reduce = py.import("opscope.torch._reductions")?.getattr("reduce")?.unbind();
        Ok(Self { exchange: Exchange::of(&tensor)?, tensor: tensor.unbind(), reduce, reduces_all })
    }

    pub fn is_tensor(&self, object: &Bound<'_, PyAny>) -> bool {
        object.is_instance(self.tensor.bind(object.py())).unwrap_or(false)
    }

    /// Reads a tensor that an operator has made. What is conjugated or negated lazily is a view, so this is not.
    pub fn read_new<'py>(&self, object: &Bound<'py, PyAny>, want: Want) -> Found<'py> {
        self.read_turned(object, want, false)
    }

    /// Reads a tensor. One that the processor cannot read where it lies is copied, as far as it is wanted.
    pub fn read<'py>(&self, object: &Bound<'py, PyAny>, want: Want) -> Found<'py> {
        self.read_turned(object, want, true)
    }

    /// Reads a tensor, whose elements in memory may be conjugated or negated.
    fn read_turned<'py>(&self, object: &Bound<'py, PyAny>, want: Want, may_be_turned: bool) -> Found<'py> {
        let memory = match self.memory(object) {
            Ok(memory) => memory,
            Err(reason) => {
                return Found { object: object.clone(), address: 0, length: 0, data: Err(Lacking::Reason(reason)) };
            }
        };
        let address = memory.address;
        let dtype = dtype_of(memory.code, memory.bits, memory.lanes);
        let length = dtype.and_then(|dtype| Strided::extent(dtype, &memory.shape, &memory.strides)).unwrap_or(0);
        let data = match want {
            Want::Address => Err(Lacking::NotAsked),
            _ => {
                self.describe(object, memory, want, may_be_turned).unwrap_or_else(|reason| Err(Lacking::Reason(reason)))
            }
        };
        Found { object: object.clone(), address, length, data }
    }

    /// Returns the elements of a tensor, or why they are not there.
    fn describe<'py>(
        &self,
        object: &Bound<'py, PyAny>,
        memory: Memory,
        want: Want,
        may_be_turned: bool,
    ) -> Result<Result<Data<'py>, Lacking>, String> {
        let dtype = dtype_of(memory.code, memory.bits, memory.lanes);
        let dtype = dtype.ok_or_else(|| format!("elements of the type {} are not read", text_of(object, "dtype")))?;
        let extent = Strided::extent(dtype, &memory.shape, &memory.strides).ok_or("its shape has too many elements")?;
        if memory.address == 0 && extent > 0 {
            return Err(format!("{} has no memory of its own", kind_of(object)));
        }
        let is_readable = READABLE.contains(&memory.device) && !(self.reduces_all && want == Want::Reduced);
        let is_turned = may_be_turned && needs_resolving(object, dtype);
        if is_readable && !is_turned {
            let (shape, strides) = (memory.shape, memory.strides);
            let data = Data { readable: object.clone(), address: memory.address, dtype, shape, strides, extent };
            let is_unwanted = want == Want::NonFinite
                && data.strided().is_ok_and(|tensor| opscope_torch::non_finite(&tensor.view()).is_none());
            return Ok(if is_unwanted { Err(Lacking::NotAsked) } else { Ok(data) });
        }
        let is_unwanted = match want {
            Want::Address | Want::Place => true,
            Want::NonFinite => !is_readable && is_finite(object),
            Want::Reduced | Want::All => false,
        };
        if is_unwanted {
            return Ok(Err(Lacking::NotAsked));
        }
        if want == Want::Reduced
            && !is_readable
            && let Ok(reduction) = self.reduce.bind(object.py()).call1((object,))
            && !reduction.is_none()
        {
            let tensor = TensorType { dtype: Some(dtype), shape: memory.shape };
            return Ok(Err(Lacking::Reduced(tensor, reduction.unbind())));
        }
        let copied = copy(object, is_turned).map_err(|error| format!("it could not be copied: {error}"))?;
        let Memory { address, device, shape, strides, .. } = self.memory(&copied)?;
        let own = Strided::extent(dtype, &shape, &strides).ok_or("its shape has too many elements")?;
        if !READABLE.contains(&device) || (address == 0 && own > 0) {
            return Err(format!("{} cannot be copied to the processor", kind_of(object)));
        }
        Ok(Ok(Data { readable: copied, address, dtype, shape, strides, extent: own }))
    }

    fn memory(&self, object: &Bound<'_, PyAny>) -> Result<Memory, String> {
        let without = || format!("{} is not read", kind_of(object));
        match self.exchange {
            Some(exchange) => exchange.read(object).ok_or_else(without),
            None => by_methods(object).map_err(|_| without()),
        }
    }
}

impl Found<'_> {
    /// The tensor as one that was computed.
    pub fn shown(&self) -> Shown<'_> {
        let region = self.address..self.address + self.length;
        match (&self.data, self.strided()) {
            (Err(Lacking::NotAsked), _) => Shown::Finite { region },
            (Err(Lacking::Reduced(tensor, _)), _) => Shown::Deferred { tensor: tensor.clone(), region },
            (_, Ok(tensor)) => Shown::Tensor { tensor, region },
            (_, Err(reason)) => Shown::Hidden(reason.into_owned()),
        }
    }

    /// The size of the memory that it lies in on its device, in bytes.
    pub fn length(&self) -> usize {
        self.length
    }

    /// The statistics that the device computes.
    pub fn reduction(&self) -> Option<&Py<PyAny>> {
        match &self.data {
            Err(Lacking::Reduced(_, reduction)) => Some(reduction),
            _ => None,
        }
    }

    /// Returns whether it has no elements here because all of them are finite, or because only its place was wanted.
    pub fn is_unread(&self) -> bool {
        matches!(self.data, Err(Lacking::NotAsked))
    }

    /// The tensor as one that was taken.
    pub fn taken(&self, parameter: Option<Arc<str>>) -> Taken<'_> {
        let version = parameter.as_ref().and_then(|_| {
            let version = self.object.getattr(intern!(self.object.py(), "_version"));
            version.and_then(|version| version.extract()).ok()
        });
        let region = self.address..self.address + self.length;
        Taken { parameter, version, region, tensor: self.strided().ok() }
    }

    fn strided(&self) -> Result<Strided<'_>, Cow<'_, str>> {
        let data = self.data.as_ref().map_err(|lacking| match lacking {
            Lacking::NotAsked | Lacking::Reduced(..) => Cow::Borrowed("its elements were not asked for"),
            Lacking::Reason(reason) => Cow::Borrowed(reason.as_str()),
        })?;
        data.strided().map_err(|error| Cow::Owned(error.to_string()))
    }
}

impl Data<'_> {
    fn strided(&self) -> Result<Strided<'_>, TensorError> {
        let bytes = bytes(&self.readable, self.address, self.extent);
        Strided::new(self.dtype, self.shape.clone(), self.strides.clone(), bytes)
    }
}

/// Where a tensor lies, by its own methods: for versions of PyTorch without the table.
fn by_methods(object: &Bound<'_, PyAny>) -> PyResult<Memory> {
    let py = object.py();
    let dtype = object.getattr(intern!(py, "dtype"))?.to_string();
    let (code, bits) = match dtype.as_str() {
        "torch.int8" => (0, 8),
        "torch.int16" => (0, 16),
        "torch.int32" => (0, 32),
        "torch.int64" => (0, 64),
        "torch.uint8" => (1, 8),
        "torch.uint16" => (1, 16),
        "torch.uint32" => (1, 32),
        "torch.uint64" => (1, 64),
        "torch.float16" => (2, 16),
        "torch.float32" => (2, 32),
        "torch.float64" => (2, 64),
        "torch.bfloat16" => (4, 16),
        "torch.complex64" => (5, 64),
        "torch.complex128" => (5, 128),
        "torch.bool" => (6, 8),
        "torch.float8_e4m3fn" => (10, 8),
        "torch.float8_e4m3fnuz" => (11, 8),
        "torch.float8_e5m2" => (12, 8),
        "torch.float8_e5m2fnuz" => (13, 8),
        _ => (u8::MAX, 0),
    };
    let is_cpu: bool = object.getattr(intern!(py, "is_cpu"))?.extract()?;
    Ok(Memory {
        address: object.call_method0(intern!(py, "data_ptr"))?.extract()?,
        // A device whose memory the processor does not read.
        device: if is_cpu { READABLE[0] } else { 2 },
        code,
        bits,
        lanes: 1,
        shape: object.getattr(intern!(py, "shape"))?.extract()?,
        strides: object.call_method0(intern!(py, "stride"))?.extract()?,
    })
}

/// Whether the elements in memory are those of the tensor only after they were conjugated or negated.
fn needs_resolving(object: &Bound<'_, PyAny>, dtype: DType) -> bool {
    let py = object.py();
    let is = |name| object.call_method0(name).and_then(|is| is.extract::<bool>()).unwrap_or(false);
    is(intern!(py, "is_neg")) || (dtype.is_complex() && is(intern!(py, "is_conj")))
}

/// Returns whether the device says that all elements of a tensor are finite. `false` if it cannot say.
fn is_finite(object: &Bound<'_, PyAny>) -> bool {
    let py = object.py();
    let asked = || {
        object
            .call_method0(intern!(py, "isfinite"))?
            .call_method0(intern!(py, "all"))?
            .call_method0(intern!(py, "item"))
    };
    asked().and_then(|all| all.extract::<bool>()).unwrap_or(false)
}

/// Returns a copy in the processor's memory, with the elements that the tensor has.
fn copy<'py>(object: &Bound<'py, PyAny>, is_turned: bool) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let mut tensor = object.call_method0(intern!(py, "detach"))?;
    if is_turned {
        tensor = tensor.call_method0(intern!(py, "resolve_conj"))?.call_method0(intern!(py, "resolve_neg"))?;
    }
    tensor.call_method0(intern!(py, "cpu"))
}

/// What a tensor is, in words: its class, layout and type.
fn kind_of(object: &Bound<'_, PyAny>) -> String {
    let class = object.get_type().name().map_or_else(|_| "tensor".to_owned(), |name| name.to_string());
    let (layout, dtype, device) = (text_of(object, "layout"), text_of(object, "dtype"), text_of(object, "device"));
    format!("a {class} of layout {layout} and type {dtype} on {device}")
}

fn text_of(object: &Bound<'_, PyAny>, attribute: &str) -> String {
    let text = object.getattr(attribute).map(|value| value.to_string());
    text.map_or_else(|_| "?".to_owned(), |text| text.trim_start_matches("torch.").to_owned())
}

/// Calls `each` with the tensors in an argument or a result of an operator: a tensor, or a list of them.
pub fn tensors_of<'py>(reader: &Reader, object: &Bound<'py, PyAny>, each: &mut dyn FnMut(&Bound<'py, PyAny>)) {
    if reader.is_tensor(object) {
        each(object);
    } else if let Ok(list) = object.cast::<PyList>() {
        list.iter().for_each(|item| tensors_of(reader, &item, each));
    } else if let Ok(tuple) = object.cast::<PyTuple>() {
        tuple.iter().for_each(|item| tensors_of(reader, &item, each));
    } else if let Ok(dict) = object.cast::<PyDict>() {
        dict.values().iter().for_each(|item| tensors_of(reader, &item, each));
    }
}

/// Returns the tensors that an operator took.
pub fn taken_by<'py>(
    reader: &Reader,
    args: &Bound<'py, PyTuple>,
    kwargs: Option<&Bound<'py, PyDict>>,
) -> Vec<Bound<'py, PyAny>> {
    let mut taken: Vec<Bound<'py, PyAny>> = Vec::new();
    let mut take = |object: &Bound<'py, PyAny>| tensors_of(reader, object, &mut |tensor| taken.push(tensor.clone()));
    args.iter().for_each(|argument| take(&argument));
    kwargs.iter().for_each(|keywords| keywords.values().iter().for_each(|argument| take(&argument)));
    taken
}

/// Calls `each` with the tensors in what a module returned: a tensor, or tuples, lists, dictionaries and objects with
/// attributes of them, at any depth up to a bound.
pub fn tensors_in<'py>(reader: &Reader, object: &Bound<'py, PyAny>, each: &mut dyn FnMut(&Bound<'py, PyAny>)) {
    walk(reader, object, DEEPEST, &mut Vec::new(), each);
}

const DEEPEST: usize = 16;

fn walk<'py>(
    reader: &Reader,
    object: &Bound<'py, PyAny>,
    depth: usize,
    around: &mut Vec<usize>,
    each: &mut dyn FnMut(&Bound<'py, PyAny>),
) {
    if reader.is_tensor(object) {
        return each(object);
    }
    let address = object.as_ptr() as usize;
    if object.is_none() || depth == 0 || around.contains(&address) {
        return;
    }
    around.push(address);
    if let Ok(tuple) = object.cast::<PyTuple>() {
        tuple.iter().for_each(|item| walk(reader, &item, depth - 1, around, each));
    } else if let Ok(list) = object.cast::<PyList>() {
        list.iter().for_each(|item| walk(reader, &item, depth - 1, around, each));
    } else if let Ok(dict) = object.cast::<PyDict>() {
        dict.values().iter().for_each(|item| walk(reader, &item, depth - 1, around, each));
    } else if let Ok(Some(attributes)) = object.getattr_opt(intern!(object.py(), "__dict__"))
        && let Ok(attributes) = attributes.cast::<PyDict>()
        && !object.is_callable()
    {
        attributes.values().iter().for_each(|item| walk(reader, &item, depth - 1, around, each));
    }
    around.pop();
}
