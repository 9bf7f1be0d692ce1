//! Tensors on both sides of the border.

use std::any::Any;

use opscope_model::DeviceTensors;
use opscope_tensor::{DType, Tensor, TensorView};
use tract_onnx::prelude::{DatumType, IntoTValue, TDim, TValue, TVec, TypedFact};
use tract_onnx::tract_core::internal::{Tensor as TractTensor, TractResult, bail, tvec};

/// Tensors that tract holds.
pub(crate) struct TractTensors(pub TVec<TValue>);

impl DeviceTensors for TractTensors {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn view(&self, index: usize) -> TensorView<'_> {
        view(&self.0[index])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns the element type in the file's terms. Dimensions that tract treats symbolically are `int64` in ONNX. Returns
/// `None` for tract's own types, such as packed matrices.
pub(crate) fn dtype(datum: DatumType) -> Option<DType> {
    Some(match datum {
        DatumType::Bool => DType::Bool,
        DatumType::U8 | DatumType::QU8(_) => DType::U8,
        DatumType::U16 => DType::U16,
        DatumType::U32 => DType::U32,
        DatumType::U64 => DType::U64,
        DatumType::I8 | DatumType::QI8(_) => DType::I8,
        DatumType::I16 => DType::I16,
        DatumType::I32 | DatumType::QI32(_) => DType::I32,
        DatumType::I64 | DatumType::TDim => DType::I64,
        DatumType::F16 => DType::F16,
        DatumType::F32 => DType::F32,
        DatumType::F64 => DType::F64,
        DatumType::String => DType::String,
        DatumType::Blob => return None,
    })
}

/// Returns tract's name of an element type; `None` if it has no such type.
pub(crate) fn datum_type(dtype: DType) -> Option<DatumType> {
    Some(match dtype {
        DType::Bool => DatumType::Bool,
        DType::U8 => DatumType::U8,
        DType::U16 => DatumType::U16,
        DType::U32 => DatumType::U32,
        DType::U64 => DatumType::U64,
        DType::I8 => DatumType::I8,
        DType::I16 => DatumType::I16,
        DType::I32 => DatumType::I32,
        DType::I64 => DatumType::I64,
        DType::F16 => DatumType::F16,
        DType::F32 => DatumType::F32,
        DType::F64 => DatumType::F64,
        _ => return None,
    })
}

/// Returns a view of one of tract's tensors. Only symbolic dimensions are copied, because they become numbers.
pub(crate) fn view(tensor: &TractTensor) -> TensorView<'_> {
    let shape = tensor.shape();
    let Some(dtype) = dtype(tensor.datum_type()) else {
        return TensorView::opaque(DType::U8, shape);
    };
    if dtype == DType::String {
        return TensorView::opaque(dtype, shape);
    }
    if tensor.datum_type() == DatumType::TDim {
        let numbers = tensor.cast_to::<i64>().ok().and_then(|cast| Some(cast.as_plain_ram()?.as_bytes().to_vec()));
        return match numbers.map(|bytes| TensorView::new(dtype, shape, bytes)) {
            Some(Ok(view)) => view,
            _ => TensorView::opaque(dtype, shape),
        };
    }
    match tensor.as_plain_ram().map(|plain| TensorView::new(dtype, shape, plain.as_bytes())) {
        Some(Ok(view)) => view,
        _ => TensorView::opaque(dtype, shape),
    }
}

/// Returns a copy for tract.
pub(crate) fn import(tensor: &Tensor) -> TractResult<TValue> {
    let Some(datum) = datum_type(tensor.dtype()) else {
        bail!("tract has no {}", tensor.dtype());
    };
    let mut imported = TractTensor::zero_dt(datum, tensor.shape())?;
    if datum == DatumType::Bool {
        // A bool in Rust is 0 or 1. Files and programs in other languages may use other bytes for true.
        let truths = tensor.bytes().iter().map(|byte| u8::from(*byte != 0));
        imported.as_bytes_mut().iter_mut().zip(truths).for_each(|(to, truth)| *to = truth);
    } else {
        imported.as_bytes_mut().copy_from_slice(tensor.bytes());
    }
    Ok(imported.into_tvalue())
}

/// Returns a copy for tract with the type of `fact`. `what` names the tensor in errors.
pub(crate) fn import_as(tensor: &Tensor, fact: &TypedFact, what: &str) -> TractResult<TValue> {
    let imported = import(tensor)?;
    if imported.datum_type() == fact.datum_type && fact.exotic_fact.is_none() {
        return Ok(imported);
    }
    match dtype(fact.datum_type) {
        _ if fact.exotic_fact.is_some() => bail!("{what} is in a form of the engine's own"),
        Some(expected) if expected != tensor.dtype() => bail!("{what} is of {expected}, {} was given", tensor.dtype()),
        Some(_) if fact.datum_type == DatumType::TDim => Ok(imported.cast_to::<TDim>()?.into_owned().into_tvalue()),
        _ => bail!("{what} is in a form of the engine's own"),
    }
}

/// Returns copies for tract.
pub(crate) fn import_all<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> TractResult<TVec<TValue>> {
    let mut imported = tvec!();
    for tensor in tensors {
        imported.push(import(tensor)?);
    }
    Ok(imported)
}
