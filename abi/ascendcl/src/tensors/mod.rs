//! Tensors as a program describes them: types, formats, shapes.

mod dtype;

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::ptr;

use opscope_border::{Items, Out, Text, exported};
use opscope_sys::{Mutex, MutexGuard};

use crate::border::{Failure, value};
use crate::handles::Table;
use dtype::{UNDEFINED, aclDataTypeSize};
pub use dtype::{UNDEFINED as DTYPE_UNDEFINED, number_of};

/// The type by which a program knows a [`TensorDesc`].
#[repr(C)]
pub struct aclTensorDesc {
    _private: [u8; 0],
}

/// A tensor's type, shape, format and name.
pub struct TensorDesc {
    dtype: c_int,
    format: c_int,
    dims: Vec<i64>,
    name: Mutex<CString>,
    /// Whether a dataset owns it, so that the program may not destroy it.
    of_dataset: bool,
}

/// Every description that exists.
pub static DESCS: Table<aclTensorDesc, TensorDesc> = Table::new("tensor description", || DESCS.held());

/// `ACL_MAX_DIM_CNT`.
const MOST_DIMS: usize = 128;
/// `ACL_UNKNOWN_RANK`.
const UNKNOWN_RANK: usize = usize::MAX - 1;
/// The only dimension of a shape with an unknown rank.
const ANY_RANK: i64 = -2;

impl TensorDesc {
    /// Makes a description that belongs to a dataset.
    pub fn of_dataset(dtype: c_int, format: c_int, dims: Vec<i64>, name: &CStr) -> Self {
        Self { dtype, format, dims, name: Mutex::new(name.to_owned()), of_dataset: true }
    }

    /// Makes a copy that belongs to a dataset.
    pub fn copy_for_dataset(&self) -> Self {
        Self::of_dataset(self.dtype, self.format, self.dims.clone(), &self.name())
    }

    /// Returns the sizes of the dimensions, -1 for a free one.
    pub fn dims(&self) -> &[i64] {
        &self.dims
    }

    fn name(&self) -> MutexGuard<'_, CString> {
        self.name.lock()
    }

    /// Returns the number of elements: 0 if a dimension is free.
    fn elements(&self) -> usize {
        let all = self.dims.iter().try_fold(1usize, |all, &dim| all.checked_mul(usize::try_from(dim).ok()?));
        all.unwrap_or(0)
    }
}

/// Creates a description; NULL if an argument is wrong.
#[exported]
pub fn aclCreateTensorDesc(
    data_type: c_int,
    num_dims: c_int,
    #[counted_by(num_dims)] dims: Items<'_, i64>,
    format: c_int,
) -> *mut aclTensorDesc {
    value(ptr::null_mut(), || {
        let rank = usize::try_from(num_dims).ok().filter(|rank| *rank <= MOST_DIMS);
        rank.ok_or_else(|| Failure::wrong_value("numDims", num_dims, "it is 0 to 128"))?;
        let dims = dims.get("dims")?.to_vec();
        let name = Mutex::default();
        Ok(DESCS.insert(TensorDesc { dtype: data_type, format, dims, name, of_dataset: false }))
    })
}

/// Destroys a description that the program created. Does nothing for one that belongs to a dataset.
#[exported]
pub fn aclDestroyTensorDesc(desc: *const aclTensorDesc) {
    value((), || {
        if DESCS.get(desc)?.of_dataset {
            return Err(Failure::wrong_value("desc", format_args!("{desc:p}"), "it belongs to a dataset"));
        }
        DESCS.remove(desc).map(drop)
    });
}

/// Returns the type; -1 if the argument is not a description.
#[exported]
pub fn aclGetTensorDescType(desc: *const aclTensorDesc) -> c_int {
    value(UNDEFINED, || Ok(DESCS.get(desc)?.dtype))
}

/// Returns the format; -1 if the argument is not a description.
#[exported]
pub fn aclGetTensorDescFormat(desc: *const aclTensorDesc) -> c_int {
    value(FORMAT_UNDEFINED, || Ok(DESCS.get(desc)?.format))
}

/// Returns the size of the tensor in bytes; 0 if a dimension is free, or the argument is not a description.
#[exported]
pub fn aclGetTensorDescSize(desc: *const aclTensorDesc) -> usize {
    value(0, || {
        let desc = DESCS.get(desc)?;
        Ok(desc.elements().checked_mul(aclDataTypeSize(desc.dtype)).unwrap_or(0))
    })
}

/// Returns the number of elements; 0 if a dimension is free, or the argument is not a description.
#[exported]
pub fn aclGetTensorDescElementCount(desc: *const aclTensorDesc) -> usize {
    value(0, || Ok(DESCS.get(desc)?.elements()))
}

/// Returns the number of dimensions; `ACL_UNKNOWN_RANK` if it is unknown, and 0 if the argument is not a description.
#[exported]
pub fn aclGetTensorDescNumDims(desc: *const aclTensorDesc) -> usize {
    value(0, || {
        let desc = DESCS.get(desc)?;
        Ok(if desc.dims == [ANY_RANK] { UNKNOWN_RANK } else { desc.dims.len() })
    })
}

/// Returns the size of a dimension; -1 for a wrong argument.
#[exported]
pub fn aclGetTensorDescDim(desc: *const aclTensorDesc, index: usize) -> i64 {
    value(-1, || dim(desc, index))
}

/// Writes the size of a dimension.
#[exported]
pub fn aclGetTensorDescDimV2(desc: *const aclTensorDesc, index: usize, size: Out<'_, i64>) -> Result<(), Failure> {
    let (to, found) = (size.place("dimSize")?, dim(desc, index)?);
    to.write(found);
    Ok(())
}

fn dim(desc: *const aclTensorDesc, index: usize) -> Result<i64, Failure> {
    let desc = DESCS.get(desc)?;
    let found = desc.dims.get(index).copied();
    found.ok_or_else(|| Failure::wrong_value("index", index, &format!("there are {} dimensions", desc.dims.len())))
}

/// Returns the name, valid until it is set again; "" if the argument is not a description.
#[exported]
pub fn aclGetTensorDescName(desc: *mut aclTensorDesc) -> *const c_char {
    value(c"".as_ptr(), || Ok(DESCS.get(desc)?.name().as_ptr()))
}

/// Sets the name, which is copied. NULL removes it.
#[exported]
pub fn aclSetTensorDescName(desc: *mut aclTensorDesc, name: Text<'_>) {
    value((), || {
        let desc = DESCS.get(desc)?;
        *desc.name() = name.given().unwrap_or_default().to_owned();
        Ok(())
    });
}

/// Returns an element of an array of descriptions. There are no arrays here, so this returns the description itself for
/// index 0, and NULL for any other index.
#[exported]
pub fn aclGetTensorDescByIndex(desc: *mut aclTensorDesc, index: usize) -> *mut aclTensorDesc {
    value(ptr::null_mut(), || {
        DESCS.get(desc)?;
        if index > 0 {
            return Err(Failure::wrong_value("index", index, "the description is a single one"));
        }
        Ok(desc)
    })
}

/// Returns the address of the data, which is always NULL, because a description has no data here.
#[exported]
pub fn aclGetTensorDescAddress(desc: *const aclTensorDesc) -> *mut c_void {
    value(ptr::null_mut(), || DESCS.get(desc).map(|_| ptr::null_mut()))
}

/// `ACL_FORMAT_UNDEFINED`.
pub const FORMAT_UNDEFINED: c_int = -1;
/// `ACL_FORMAT_NCHW`.
const NCHW: c_int = 0;
/// `ACL_FORMAT_ND`.
const ND: c_int = 2;

/// Returns the format of a model's tensor. An ONNX file has only these two formats.
pub fn format_of_rank(rank: Option<usize>) -> c_int {
    if rank == Some(4) { NCHW } else { ND }
}
