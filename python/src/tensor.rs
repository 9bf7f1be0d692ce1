//! Tensors that are handed out: their memory stays where it is for as long as anyone uses it.

use std::fmt::Write;
use std::sync::Arc;

use opscope::dump::{Io, StoredOrigin};
use opscope::model::DeviceTensors;
use opscope::tensor::{DType, Element, Statistics, Tensor};
use pyo3::exceptions::{PyAttributeError, PyBufferError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyTuple};

use crate::border::dlpack;
use crate::failure::Failure;
use crate::table::{document, fact};

/// A tensor: an output of a run, one of a dump, or one of a run that is stopped. Arrays of numpy and of whatever knows DLPack are made of
/// it without a copy. They are not to be written, because the engine or a file may have the same memory; `numpy().copy()` can be.
#[pyclass(module = "opscope", name = "Tensor", frozen)]
pub struct TensorObject {
    tensor: Tensor,
    place: StoredOrigin,
}

impl TensorObject {
    pub fn new(tensor: Tensor, place: StoredOrigin) -> Self {
        Self { tensor, place }
    }

    /// A tensor of which only the value's name is known.
    pub fn named(tensor: Tensor, value: &str) -> Self {
        Self::new(tensor, StoredOrigin { value: Some(value.to_owned()), ..StoredOrigin::default() })
    }

    pub fn tensor(&self) -> &Tensor {
        &self.tensor
    }
}

/// Elements of a tensor in words: what it has of them that numbers do not show.
#[pyclass(module = "opscope", name = "Statistics", frozen, get_all)]
pub struct StatisticsObject {
    /// The number of elements.
    count: u64,
    /// Elements that are NaN.
    nan: u64,
    /// Elements that are +infinity.
    positive_infinite: u64,
    /// Elements that are -infinity.
    negative_infinite: u64,
    /// Elements that are zero.
    zeros: u64,
    /// The smallest finite element.
    min: Option<f64>,
    /// The largest finite element.
    max: Option<f64>,
    /// The mean of the finite elements.
    mean: Option<f64>,
    /// The standard deviation of the finite elements.
    std: Option<f64>,
    /// The Euclidean norm of the finite elements.
    l2: Option<f64>,
}

impl From<Statistics> for StatisticsObject {
    fn from(statistics: Statistics) -> Self {
        let Statistics { count, nan, positive_infinite, negative_infinite, zeros, min, max, mean, std, l2, .. } =
            statistics;
        Self { count, nan, positive_infinite, negative_infinite, zeros, min, max, mean, std, l2 }
    }
}

#[pymethods]
impl StatisticsObject {
    /// Whether all elements are finite.
    #[getter]
    fn is_finite(&self) -> bool {
        self.nan + self.positive_infinite + self.negative_infinite == 0
    }

    fn __repr__(&self) -> String {
        let mut text = format!("<opscope.Statistics: {} elements", self.count);
        for (name, count) in [
            ("NaN", self.nan),
            ("+inf", self.positive_infinite),
            ("-inf", self.negative_infinite),
            ("zero", self.zeros),
        ] {
            if count > 0 {
                let _ = write!(text, ", {count} {name}");
            }
        }
        for (name, number) in [("min", self.min), ("max", self.max), ("mean", self.mean), ("std", self.std)] {
            if let Some(number) = number {
                let _ = write!(text, ", {name} {number:.6}");
            }
        }
        text + ">"
    }
}

#[pymethods]
impl TensorObject {
    /// The type of the elements, by the name that numpy and ONNX use.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.tensor.dtype().name()
    }

    /// The shape, slowest dimension first.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, self.tensor.shape())
    }

    /// The bytes of the data.
    #[getter]
    fn nbytes(&self) -> usize {
        self.tensor.bytes().len()
    }

    /// The operator that takes or gives the tensor, where that is known; else the value's name.
    #[getter]
    fn name(&self) -> Option<&str> {
        self.place.operator.as_deref().or(self.place.value.as_deref())
    }

    /// The operator's type.
    #[getter]
    fn op_type(&self) -> Option<&str> {
        self.place.op_type.as_deref()
    }

    /// `input` or `output`: whether the operator takes or gives it.
    #[getter]
    fn io(&self) -> Option<&'static str> {
        self.place.io.map(Io::name)
    }

    /// The slot of the operator.
    #[getter]
    fn slot(&self) -> Option<usize> {
        self.place.slot
    }

    /// The value's name in the file.
    #[getter]
    fn value(&self) -> Option<&str> {
        self.place.value.as_deref()
    }

    /// The run; `None` for what is the same in every run.
    #[getter]
    fn run(&self) -> Option<u64> {
        self.place.run
    }

    /// Counts, extremes and moments of the elements, in one pass.
    #[getter]
    fn statistics(&self, py: Python<'_>) -> PyResult<StatisticsObject> {
        let statistics = py.detach(|| Statistics::of(&self.tensor.view())).map_err(Failure::any)?;
        Ok(statistics.into())
    }

    /// An array of numpy's over the same memory, which is not to be written. For bfloat16 and narrower floats it is of a type of the
    /// package `ml_dtypes`; elements of four bits get a byte each, which is a copy.
    fn numpy<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, tensor) = (slf.py(), &slf.get().tensor);
        let numpy = py.import("numpy")?;
        if tensor.dtype().npy_descr().is_some() {
            return numpy.call_method1("asarray", (slf,));
        }
        let (bytes, stored) = match tensor.dtype().size() {
            Some(2) => (tensor.clone(), DType::U16),
            Some(_) => (tensor.clone(), DType::U8),
            None => (unpacked(tensor)?, DType::U8),
        };
        let name = match tensor.dtype() {
            DType::F8E4M3Fn => "float8_e4m3fn",
            DType::F8E4M3FnUz => "float8_e4m3fnuz",
            DType::F8E5M2 => "float8_e5m2",
            DType::F8E5M2FnUz => "float8_e5m2fnuz",
            DType::F4E2M1 => "float4_e2m1fn",
            dtype => dtype.name(),
        };
        let types = py.import("ml_dtypes").map_err(|_| {
            Failure::input(format!(
                "numpy has no type {}; install ml_dtypes, or take the tensor by DLPack, as by torch.from_dlpack",
                tensor.dtype()
            ))
        })?;
        let same = bytes.as_type(stored).map_err(Failure::any)?;
        let array = numpy.call_method1("asarray", (Bound::new(py, Self::new(same, StoredOrigin::default()))?,))?;
        array.call_method1("view", (types.getattr(name)?,))
    }

    #[pyo3(signature = (dtype=None, copy=None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<&Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let array = Self::numpy(slf)?;
        let converted = match dtype {
            Some(dtype) => {
                let keywords = PyDict::new(slf.py());
                keywords.set_item("copy", false)?;
                array.call_method("astype", (dtype,), Some(&keywords))?
            }
            None => array,
        };
        if copy == Some(true) { converted.call_method0("copy") } else { Ok(converted) }
    }

    #[getter]
    fn __array_interface__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let descr = self
            .tensor
            .dtype()
            .npy_descr()
            .ok_or_else(|| PyAttributeError::new_err(format!("numpy has no type {}", self.tensor.dtype())))?;
        let interface = PyDict::new(py);
        interface.set_item("version", 3)?;
        interface.set_item("typestr", descr)?;
        interface.set_item("shape", self.shape(py)?)?;
        interface.set_item("data", (self.tensor.bytes().as_ptr().expose_provenance(), true))?;
        Ok(interface)
    }

    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // The processor has no streams.
        let _ = stream;
        if dl_device.is_some_and(|device| device != dlpack::CPU) {
            return Err(PyBufferError::new_err("the tensor is in the memory of the processor, and stays there"));
        }
        let is_versioned = max_version.is_some_and(|(major, _)| major >= 1);
        match copy {
            Some(true) => {
                let copied = py.detach(|| self.tensor.view().to_tensor()).map_err(Failure::any)?;
                dlpack::export(py, &copied, is_versioned, true)
            }
            _ => dlpack::export(py, &self.tensor, is_versioned, false),
        }
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::CPU
    }

    /// The data: little-endian, row-major. A copy.
    fn tobytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.tensor.bytes())
    }

    fn __len__(&self) -> PyResult<usize> {
        let first = self.tensor.shape().first().copied();
        first.ok_or_else(|| pyo3::exceptions::PyTypeError::new_err("a scalar has no length"))
    }

    fn __float__(&self) -> PyResult<f64> {
        let number = match self.tensor.elements() {
            1 => Element::at(self.tensor.dtype(), self.tensor.bytes(), 0).and_then(|element| element.to_f64()),
            _ => None,
        };
        number.ok_or_else(|| pyo3::exceptions::PyTypeError::new_err("only a tensor of one real number is a number"))
    }

    fn __repr__(&self) -> String {
        let dtype = self.tensor.dtype();
        match self.place.operator.is_some() || self.place.value.is_some() {
            true => format!("<opscope.Tensor {}: {dtype} {:?}>", self.place, self.tensor.shape()),
            false => format!("<opscope.Tensor: {dtype} {:?}>", self.tensor.shape()),
        }
    }

    fn _repr_html_(&self, py: Python<'_>) -> PyResult<String> {
        let StatisticsObject { nan, positive_infinite, negative_infinite, min, max, mean, std, .. } =
            self.statistics(py)?;
        let mut rows = String::new();
        for (name, number) in [("min", min), ("max", max), ("mean", mean), ("std", std)] {
            rows.extend(number.map(|number| fact(name, &format!("{number:.6}"))));
        }
        let facts = [
            ("type", format!("{} {:?}", self.tensor.dtype(), self.tensor.shape())),
            ("NaN", nan.to_string()),
            ("infinite", (positive_infinite + negative_infinite).to_string()),
        ];
        let title = self.name().unwrap_or("tensor");
        Ok(document(title, &facts, &format!("<table><tbody>{rows}</tbody></table>")))
    }
}

/// Unpacks elements of four bits into a byte each. Signed elements keep their sign.
fn unpacked(tensor: &Tensor) -> Result<Tensor, Failure> {
    let bytes = tensor.bytes();
    let half = |at: usize| bytes[at / 2] >> (4 * (at % 2)) & 0xf;
    let is_signed = tensor.dtype() == DType::I4;
    let byte = |at: usize| match half(at) {
        negative if is_signed && negative & 8 != 0 => negative | 0xf0,
        other => other,
    };
    let unpacked: Vec<u8> = (0..tensor.elements()).map(byte).collect();
    Tensor::new(DType::U8, tensor.shape().to_vec(), unpacked).map_err(Failure::any)
}

/// An output of a run, in the engine's memory.
struct Output {
    outputs: Arc<dyn DeviceTensors>,
    slot: usize,
}

impl AsRef<[u8]> for Output {
    fn as_ref(&self) -> &[u8] {
        match self.outputs.view(self.slot).into_bytes() {
            Some(std::borrow::Cow::Borrowed(bytes)) => bytes,
            _ => &[],
        }
    }
}

/// Returns the outputs of a run, without a copy of those that the engine holds as bytes.
///
/// # Errors
/// Returns an error if an output has no representation in bytes.
pub fn outputs_in_place(outputs: Box<dyn DeviceTensors>) -> Result<Vec<Tensor>, Failure> {
    let outputs: Arc<dyn DeviceTensors> = outputs.into();
    let output = |slot: usize| {
        let view = outputs.view(slot);
        let (dtype, shape) = (view.dtype(), view.shape().to_vec());
        let tensor = match view.clone().into_bytes() {
            Some(std::borrow::Cow::Borrowed(_)) => {
                Tensor::from_owner(dtype, shape, Arc::new(Output { outputs: Arc::clone(&outputs), slot }))
            }
            _ => view.to_tensor(),
        };
        tensor.map_err(|error| Failure::engine(format!("an output cannot be read: {error}")))
    };
    (0..outputs.len()).map(output).collect()
}
