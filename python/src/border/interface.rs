//! Arrays by numpy's `__array_interface__`, which many arrays have:
//! <https://numpy.org/doc/stable/reference/arrays.interface.html>. Their elements may lie anywhere, such as those of a
//! transposed array.

use std::sync::Arc;

use opscope::tensor::{DType, Tensor};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::Lent;
use crate::failure::input;

/// Takes an array without a copy if its elements are contiguous. Returns `None` for an object without the interface.
pub fn import(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Tensor>> {
    let Some(interface) = object.getattr_opt("__array_interface__")? else { return Ok(None) };
    let interface = interface.cast_into::<PyDict>()?;
    let get = |key: &str| interface.get_item(key).map(|found| found.filter(|value| !value.is_none()));
    let Some(data) = get("data")? else { return Ok(None) };
    // Instead of the address, some give an object with the buffer protocol.
    let Ok((address, _read_only)) = data.extract::<(usize, bool)>() else { return Ok(None) };
    let (Some(typestr), Some(shape)) = (get("typestr")?, get("shape")?) else { return Ok(None) };
    let (typestr, shape): (String, Vec<usize>) = (typestr.extract()?, shape.extract()?);
    let dtype = DType::all().find(|dtype| dtype.npy_descr() == Some(&typestr));
    let dtype = dtype.or_else(|| narrow(object, &typestr)).ok_or_else(|| {
        input(format!("input '{name}' has elements of numpy's type '{typestr}', which no model takes; convert it, as by .astype('float32')"))
    })?;
    let too_large = || input(format!("input '{name}' has the shape {shape:?}, which no tensor has"));
    let elements = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim)).ok_or_else(too_large)?;
    let (size, length) = dtype.size().zip(dtype.bytes_of(elements)).ok_or_else(too_large)?;
    let strides: Option<Vec<i64>> = get("strides")?.map(|strides| strides.extract()).transpose()?;
    let address: *const u8 = std::ptr::with_exposed_provenance(address);
    let tensor = match strides.filter(|strides| !is_contiguous(&shape, strides, size)) {
        Some(strides) if strides.len() != shape.len() => return Err(too_large()),
        Some(strides) => {
            // SAFETY: the interface says that the elements lie there as long as the object exists.
            let bytes = unsafe { gather(address, &shape, &strides, size) };
            Tensor::new(dtype, shape, bytes)
        }
        None => {
            // SAFETY: as above, and the object is kept. A program that passes an array to a run must not write to it
            // meanwhile.
            let lent = unsafe { Lent::new(address, length, object.clone().unbind()) };
            Tensor::from_owner(dtype, shape, Arc::new(lent))
        }
    };
    tensor.map(Some).map_err(|error| input(format!("input '{name}': {error}")))
}

/// Returns the element type of an array whose type is from the package `ml_dtypes`: the interface gives only the size
/// of such an element. Types smaller than a byte are not taken, because such arrays use a byte for each element.
fn narrow(object: &Bound<'_, PyAny>, typestr: &str) -> Option<DType> {
    let name: String =
        object.getattr("dtype").and_then(|dtype| dtype.getattr("name")).and_then(|name| name.extract()).ok()?;
    let (dtype, bytes) = match name.as_str() {
        "bfloat16" => (DType::Bf16, "2"),
        "float8_e4m3fn" => (DType::F8E4M3Fn, "1"),
        "float8_e4m3fnuz" => (DType::F8E4M3FnUz, "1"),
        "float8_e5m2" => (DType::F8E5M2, "1"),
        "float8_e5m2fnuz" => (DType::F8E5M2FnUz, "1"),
        _ => return None,
    };
    typestr.ends_with(bytes).then_some(dtype)
}

/// Returns whether these strides, in units of elements or of bytes as `unit` says, are those of contiguous elements.
pub fn is_contiguous(shape: &[usize], strides: &[i64], unit: usize) -> bool {
    if shape.contains(&0) {
        return true;
    }
    let mut expected = unit as i64;
    for (&dim, &stride) in shape.iter().zip(strides).rev() {
        if dim != 1 && stride != expected {
            return false;
        }
        expected *= dim as i64;
    }
    true
}

/// Copies elements of `size` bytes, row-major. The strides are in bytes.
///
/// # Safety
/// For every index within `shape`, `size` bytes can be read at `address` plus the strides times the index.
pub unsafe fn gather(address: *const u8, shape: &[usize], strides: &[i64], size: usize) -> Vec<u8> {
    let elements: usize = shape.iter().product();
    let mut bytes = Vec::with_capacity(elements * size);
    let mut index = vec![0usize; shape.len()];
    for _ in 0..elements {
        let offset: i64 = index.iter().zip(strides).map(|(&at, &stride)| at as i64 * stride).sum();
        // SAFETY: the index is within the shape, so by the contract of this function the element can be read.
        bytes.extend_from_slice(unsafe { std::slice::from_raw_parts(address.offset(offset as isize), size) });
        for (at, &dim) in index.iter_mut().zip(shape).rev() {
            *at += 1;
            if *at < dim {
                break;
            }
            *at = 0;
        }
    }
    bytes
}
