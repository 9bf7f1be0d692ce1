//! PyTorch's tensors, read where they lie: through the table of functions that DLPack 1.2 describes, or through the
//! tensor's own methods.

use std::ffi::{CStr, c_int, c_void};
use std::mem::MaybeUninit;
use std::slice;

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyCapsuleMethods};

use super::dlpack::{DlTensor, Version};

/// The table, as far as it is used.
#[repr(C)]
struct Table {
    version: Version,
    previous: *const Table,
    allocator: *const c_void,
    managed_from_object: *const c_void,
    managed_to_object: *const c_void,
    borrowed_from_object: Option<unsafe extern "C" fn(*mut ffi::PyObject, *mut DlTensor) -> c_int>,
    work_stream: *const c_void,
}

const NAME: &CStr = c"dlpack_exchange_api";

/// Reads where tensors lie.
#[derive(Clone, Copy)]
pub struct Exchange {
    borrow: unsafe extern "C" fn(*mut ffi::PyObject, *mut DlTensor) -> c_int,
}

/// Where a tensor lies, and what it is.
#[derive(Debug, Clone)]
pub struct Memory {
    pub address: usize,
    /// The kind of device, in DLPack's numbers.
    pub device: i32,
    pub code: u8,
    pub bits: u8,
    pub lanes: u16,
    pub shape: Vec<usize>,
    /// In elements.
    pub strides: Vec<usize>,
}

impl Exchange {
    /// Finds the table of a class of tensors. Returns `None` if the class has none, as before PyTorch 2.10.
    pub fn of(class: &Bound<'_, PyAny>) -> PyResult<Option<Self>> {
        let Some(capsule) = class.getattr_opt("__dlpack_c_exchange_api__")? else { return Ok(None) };
        let Ok(capsule) = capsule.cast::<PyCapsule>() else { return Ok(None) };
        let pointer = capsule.pointer_checked(Some(NAME))?.cast::<Table>();
        // SAFETY: a capsule of this name has such a table, which lives as long as the library that made it: to the end
        // of the process.
        let table = unsafe { pointer.as_ref() };
        Ok(table.borrowed_from_object.filter(|_| table.version.major == 1).map(|borrow| Self { borrow }))
    }

    /// Returns where a tensor lies, or `None` for one without such memory.
    pub fn read(self, tensor: &Bound<'_, PyAny>) -> Option<Memory> {
        let mut described = MaybeUninit::<DlTensor>::uninit();
        // SAFETY: the interpreter is held, and the object is a tensor of the class whose table this is, or the function
        // refuses it.
        if unsafe { (self.borrow)(tensor.as_ptr(), described.as_mut_ptr()) } != 0 {
            drop(PyErr::take(tensor.py()));
            return None;
        }
        // SAFETY: the function returned 0, so it has filled in the structure.
        let described = unsafe { described.assume_init() };
        let ndim = usize::try_from(described.ndim).ok()?;
        let numbers = |pointer: *mut i64| -> Option<Vec<usize>> {
            if ndim == 0 {
                return Some(Vec::new());
            }
            if pointer.is_null() {
                return None;
            }
            // SAFETY: it has `ndim` numbers, which the tensor keeps for as long as it is not resized; they are copied
            // at once.
            let numbers = unsafe { slice::from_raw_parts(pointer, ndim) };
            numbers.iter().map(|&number| usize::try_from(number).ok()).collect()
        };
        Some(Memory {
            address: (described.data as usize).wrapping_add(described.byte_offset as usize),
            device: described.device.kind,
            code: described.dtype.code,
            bits: described.dtype.bits,
            lanes: described.dtype.lanes,
            shape: numbers(described.shape)?,
            strides: numbers(described.strides)?,
        })
    }
}

/// Returns the bytes of a tensor that lies in memory of the processor.
///
/// The caller has asked the tensor for this address, and `length` reaches to the end of its last element.
pub fn bytes<'t>(tensor: &'t Bound<'_, PyAny>, address: usize, length: usize) -> &'t [u8] {
    let _ = tensor;
    if length == 0 || address == 0 {
        return &[];
    }
    // SAFETY: the tensor, which is kept by the reference, says that its elements lie there. The interpreter is held, so
    // that no thread of Python's writes to it; a program whose other threads do so races with itself, and gets the
    // bytes of one moment or another.
    unsafe { slice::from_raw_parts(address as *const u8, length) }
}

const _: () = assert!(std::mem::offset_of!(Table, borrowed_from_object) == 40);
