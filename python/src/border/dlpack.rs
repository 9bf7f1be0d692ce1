//! Tensors in both directions, by DLPack 1.1 and by its versions before 1.0: the layouts of `dlpack.h`, in Python
//! capsules.
//!
//! A capsule is named `dltensor`, or `dltensor_versioned` from version 1.0 on. A consumer that takes the tensor out of
//! it renames it to `used_...`, and calls the deleter when it no longer needs the memory. A capsule that was not used
//! calls the deleter itself.

use std::ffi::{CStr, c_void};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use opscope::tensor::{DType, Tensor};
use pyo3::exceptions::{PyBufferError, PyRuntimeError, PyTypeError};
use pyo3::ffi;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCapsule, PyCapsuleMethods, PyDict};

use super::Lent;
use super::interface::{gather, is_contiguous};
use crate::failure::{Failure, input};

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Device {
    pub(super) kind: i32,
    id: i32,
}

#[repr(C)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct DataType {
    pub(super) code: u8,
    pub(super) bits: u8,
    pub(super) lanes: u16,
}

#[repr(C)]
pub(super) struct DlTensor {
    pub(super) data: *mut c_void,
    pub(super) device: Device,
    pub(super) ndim: i32,
    pub(super) dtype: DataType,
    pub(super) shape: *mut i64,
    /// In elements; null means that the elements are contiguous.
    pub(super) strides: *mut i64,
    pub(super) byte_offset: u64,
}

#[repr(C)]
struct Managed {
    tensor: DlTensor,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut Managed)>,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Version {
    pub(super) major: u32,
    minor: u32,
}

#[repr(C)]
struct ManagedVersioned {
    version: Version,
    context: *mut c_void,
    deleter: Option<unsafe extern "C" fn(*mut ManagedVersioned)>,
    flags: u64,
    tensor: DlTensor,
}

const NAME: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";
const NAME_VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";
const VERSION: Version = Version { major: 1, minor: 1 };
const READ_ONLY: u64 = 1;
const IS_COPIED: u64 = 1 << 1;
/// Set where elements of less than a byte have a byte each.
const SUBBYTE_TYPE_PADDED: u64 = 1 << 2;

/// Devices whose memory the processor reads: its own, and memory that is pinned for CUDA or ROCm, or managed.
pub const READABLE: [i32; 4] = [1, 3, 11, 13];
/// The processor.
pub const CPU: (i32, i32) = (1, 0);

/// The types, by DLPack's code and bits.
const TYPES: &[(DType, u8, u8)] = &[
    (DType::I8, 0, 8),
    (DType::I16, 0, 16),
    (DType::I32, 0, 32),
    (DType::I64, 0, 64),
    (DType::I4, 0, 4),
    (DType::U8, 1, 8),
    (DType::U16, 1, 16),
    (DType::U32, 1, 32),
    (DType::U64, 1, 64),
    (DType::U4, 1, 4),
    (DType::F16, 2, 16),
    (DType::F32, 2, 32),
    (DType::F64, 2, 64),
    (DType::Bf16, 4, 16),
    (DType::Complex64, 5, 64),
    (DType::Complex128, 5, 128),
    (DType::Bool, 6, 8),
    (DType::F8E4M3Fn, 10, 8),
    (DType::F8E4M3FnUz, 11, 8),
    (DType::F8E5M2, 12, 8),
    (DType::F8E5M2FnUz, 13, 8),
    (DType::F4E2M1, 17, 4),
];

/// Returns the type with DLPack's code and bits.
pub fn dtype_of(code: u8, bits: u8, lanes: u16) -> Option<DType> {
    TYPES.iter().find(|row| lanes == 1 && (row.1, row.2) == (code, bits)).map(|row| row.0)
}

/// Takes a tensor from an object with `__dlpack__`, without a copy if its elements are contiguous. Returns `None` for
/// an object without the method, or one that refuses to lend its memory by it.
pub fn import(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Tensor>> {
    let py = object.py();
    let Some(method) = object.getattr_opt(intern!(py, "__dlpack__"))? else { return Ok(None) };
    let capsule = match method.call((), Some(newest_version(py)?)) {
        // Producers older than version 1.0 do not know the argument.
        Err(error) if error.is_instance_of::<PyTypeError>(py) => method.call0(),
        other => other,
    };
    let capsule = match capsule {
        Ok(capsule) => capsule,
        Err(error) => {
            // A tensor on a device may have failed because it needs more arguments, so the device is checked first.
            if let Some(device) = object.getattr_opt(intern!(py, "__dlpack_device__"))? {
                let (kind, id) = device.call0()?.extract()?;
                check_readable(Device { kind, id }, name)?;
            }
            // numpy refuses read-only arrays, and types that DLPack lacks. torch refuses tensors that require a
            // gradient.
            let is_refused = error.is_instance_of::<PyBufferError>(py) || error.is_instance_of::<PyRuntimeError>(py);
            return if is_refused { Ok(None) } else { Err(error) };
        }
    };
    take(capsule.cast::<PyCapsule>()?, name).map(Some)
}

/// The arguments of `__dlpack__`, which are the same for all.
fn newest_version(py: Python<'_>) -> PyResult<&Bound<'_, PyDict>> {
    static ARGUMENTS: PyOnceLock<Py<PyDict>> = PyOnceLock::new();
    let arguments = ARGUMENTS.get_or_try_init(py, || {
        let arguments = PyDict::new(py);
        arguments.set_item("max_version", (VERSION.major, VERSION.minor))?;
        Ok::<_, PyErr>(arguments.unbind())
    });
    Ok(arguments?.bind(py))
}

fn check_readable(device: Device, name: &str) -> PyResult<()> {
    let Device { kind, id } = device;
    if READABLE.contains(&kind) {
        return Ok(());
    }
    Err(input(format!(
        "input '{name}' is in the memory of a device ({kind}, {id}); copy it to the processor's first, as by .cpu()"
    )))
}

/// The tensor that a capsule held, kept until it is no longer needed.
enum Given {
    Old(NonNull<Managed>),
    Versioned(NonNull<ManagedVersioned>),
}

// SAFETY: a producer that lends a tensor by DLPack allows it to be read and deleted on any thread.
unsafe impl Send for Given {}
// SAFETY: as above.
unsafe impl Sync for Given {}

impl Given {
    fn tensor(&self) -> &DlTensor {
        match self {
            // SAFETY: the structure is valid until its deleter is called, which is when this is dropped.
            Self::Old(managed) => unsafe { &managed.as_ref().tensor },
            // SAFETY: as above.
            Self::Versioned(managed) => unsafe { &managed.as_ref().tensor },
        }
    }

    fn flags(&self) -> u64 {
        match self {
            Self::Old(_) => 0,
            // SAFETY: as above.
            Self::Versioned(managed) => unsafe { managed.as_ref().flags },
        }
    }
}

impl Drop for Given {
    fn drop(&mut self) {
        // The deleter may drop a Python object. Once the interpreter is gone, that object is gone as well.
        let _ = Python::try_attach(|_| match self {
            // SAFETY: this owns the structure, and its deleter is called once.
            Self::Old(managed) => unsafe {
                if let Some(deleter) = managed.as_ref().deleter {
                    deleter(managed.as_ptr());
                }
            },
            // SAFETY: as above.
            Self::Versioned(managed) => unsafe {
                if let Some(deleter) = managed.as_ref().deleter {
                    deleter(managed.as_ptr());
                }
            },
        });
    }
}

fn take(capsule: &Bound<'_, PyCapsule>, name: &str) -> PyResult<Tensor> {
    let is_versioned = capsule.is_valid_checked(Some(NAME_VERSIONED));
    let (kind, used) = if is_versioned { (NAME_VERSIONED, USED_VERSIONED) } else { (NAME, USED) };
    let pointer = capsule.pointer_checked(Some(kind))?;
    if is_versioned {
        // SAFETY: a capsule of this name has this structure, whose first field is the version in all versions.
        let version = unsafe { pointer.cast::<Version>().read() };
        if version.major != VERSION.major {
            return Err(input(format!(
                "input '{name}' comes by DLPack {}.{}, and {}.{} is what can be read",
                version.major, version.minor, VERSION.major, VERSION.minor
            )));
        }
    }
    // SAFETY: the capsule is valid, and the name lives for ever.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    let given = match is_versioned {
        true => Given::Versioned(pointer.cast()),
        false => Given::Old(pointer.cast()),
    };
    let tensor = given.tensor();
    check_readable(tensor.device, name)?;
    let DataType { code, bits, lanes } = tensor.dtype;
    let dtype = dtype_of(code, bits, lanes).ok_or_else(|| {
        input(format!("input '{name}' is of a type that no model takes: DLPack's {code} with {bits} bits"))
    })?;
    let ndim = usize::try_from(tensor.ndim).unwrap_or(0);
    let numbers = |pointer: *mut i64| -> Option<&[i64]> {
        // SAFETY: DLPack has `ndim` numbers there, unless the pointer is null, and they live until `given` is dropped.
        (!pointer.is_null()).then(|| unsafe { std::slice::from_raw_parts(pointer, ndim) })
    };
    let shape = numbers(tensor.shape).unwrap_or_default();
    let wrong_shape = || input(format!("input '{name}' has the shape {shape:?}, which no tensor has"));
    let shape: Vec<usize> =
        shape.iter().map(|&dim| usize::try_from(dim)).collect::<Result<_, _>>().map_err(|_| wrong_shape())?;
    if shape.len() != ndim {
        return Err(wrong_shape());
    }
    let elements = shape.iter().try_fold(1usize, |all, &dim| all.checked_mul(dim)).ok_or_else(wrong_shape)?;
    let length = dtype.bytes_of(elements).ok_or_else(wrong_shape)?;
    let address = tensor.data.cast::<u8>().wrapping_add(tensor.byte_offset as usize).cast_const();
    let strides = numbers(tensor.strides);
    let is_whole = strides.is_none_or(|strides| is_contiguous(&shape, strides, 1));
    let tensor = match dtype.size() {
        None if !is_whole || given.flags() & SUBBYTE_TYPE_PADDED != 0 => {
            return Err(input(format!(
                "input '{name}' has elements of {bits} bits that do not share bytes; pack two of them into each byte"
            )));
        }
        Some(size) if !is_whole => {
            let strides: Vec<i64> = strides.into_iter().flatten().map(|stride| stride * size as i64).collect();
            // SAFETY: DLPack says that the elements lie there, and the tensor is kept until they are copied.
            let bytes = unsafe { gather(address, &shape, &strides, size) };
            Tensor::new(dtype, shape, bytes)
        }
        _ => {
            // SAFETY: DLPack says that the elements lie there until the deleter is called. A program that passes an
            // array to a run must not write to it meanwhile.
            let lent = unsafe { Lent::new(address, length, given) };
            Tensor::from_owner(dtype, shape, Arc::new(lent))
        }
    };
    tensor.map_err(|error| input(format!("input '{name}': {error}")))
}

/// What an exported tensor keeps.
struct Exported {
    tensor: Tensor,
    shape: Vec<i64>,
    strides: Vec<i64>,
}

/// Returns a capsule of the tensor, whose memory stays where it is. `versioned` says whether the consumer knows version
/// 1.0, and `copied` whether the tensor is a copy that was made for the consumer, which may write to it.
pub fn export<'py>(py: Python<'py>, tensor: &Tensor, versioned: bool, copied: bool) -> PyResult<Bound<'py, PyAny>> {
    let lacking = || Failure::input(format!("DLPack has no type {}", tensor.dtype()));
    let &(_, code, bits) = TYPES.iter().find(|row| row.0 == tensor.dtype()).ok_or_else(lacking)?;
    let shape: Vec<i64> = tensor.shape().iter().map(|&dim| dim as i64).collect();
    let mut strides = vec![1i64; shape.len()];
    for axis in (1..shape.len()).rev() {
        strides[axis - 1] = strides[axis] * shape[axis].max(1);
    }
    let mut exported = Box::new(Exported { tensor: tensor.clone(), shape, strides });
    let bytes = exported.tensor.bytes();
    let described = DlTensor {
        data: if bytes.is_empty() { ptr::null_mut() } else { bytes.as_ptr().cast_mut().cast() },
        device: Device { kind: CPU.0, id: CPU.1 },
        ndim: exported.shape.len() as i32,
        dtype: DataType { code, bits, lanes: 1 },
        shape: exported.shape.as_mut_ptr(),
        strides: exported.strides.as_mut_ptr(),
        byte_offset: 0,
    };
    let context = Box::into_raw(exported).cast::<c_void>();
    let (pointer, name, destructor): (*mut c_void, &CStr, ffi::PyCapsule_Destructor) = match versioned {
        true => {
            let flags = if copied { IS_COPIED } else { READ_ONLY };
            let managed = ManagedVersioned {
                version: VERSION,
                context,
                deleter: Some(delete_versioned),
                flags,
                tensor: described,
            };
            (Box::into_raw(Box::new(managed)).cast(), NAME_VERSIONED, drop_versioned)
        }
        false => {
            let managed = Managed { tensor: described, context, deleter: Some(delete) };
            (Box::into_raw(Box::new(managed)).cast(), NAME, drop_old)
        }
    };
    // SAFETY: the pointer is not null, the name lives for ever, and the destructor is that of its structure.
    let capsule = unsafe { ffi::PyCapsule_New(pointer, name.as_ptr(), Some(destructor)) };
    // SAFETY: a new reference, or null with an error set.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }
}

unsafe extern "C" fn delete(managed: *mut Managed) {
    // SAFETY: `export` made it of two boxes, and DLPack calls this once.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Exported>()));
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        drop(Box::from_raw(managed.context.cast::<Exported>()));
    }
}

unsafe extern "C" fn drop_old(capsule: *mut ffi::PyObject) {
    // SAFETY: Python calls this with the capsule that is going away. It still has its first name if nobody took the
    // tensor out.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME.as_ptr()) == 1 {
            delete(ffi::PyCapsule_GetPointer(capsule, NAME.as_ptr()).cast());
        }
    }
}

unsafe extern "C" fn drop_versioned(capsule: *mut ffi::PyObject) {
    // SAFETY: as above.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, NAME_VERSIONED.as_ptr()) == 1 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, NAME_VERSIONED.as_ptr()).cast());
        }
    }
}

// The layouts of `dlpack.h` on machines of 64 bits.
const _: () = {
    assert!(size_of::<DlTensor>() == 48 && size_of::<Managed>() == 64 && size_of::<ManagedVersioned>() == 80);
    assert!(std::mem::offset_of!(DlTensor, shape) == 24 && std::mem::offset_of!(ManagedVersioned, tensor) == 32);
};
