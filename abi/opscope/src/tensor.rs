use std::ffi::{c_char, c_void};
use std::ptr;
use std::sync::LazyLock;

use opscope::tensor::{DType, Tensor};

use crate::border::opscope_status_t::{self, OPSCOPE_ERROR_NOT_FOUND};
use crate::border::{Failure, Text, call, get, handle, remove, sized, slice, write};

/// The type of an element: the codes of ONNX's `TensorProto.DataType`.
#[repr(C)]
pub enum opscope_dtype_t {
    /// 32-bit float.
    OPSCOPE_FLOAT32 = 1,
    /// Unsigned 8-bit integer.
    OPSCOPE_UINT8 = 2,
    /// Signed 8-bit integer.
    OPSCOPE_INT8 = 3,
    /// Unsigned 16-bit integer.
    OPSCOPE_UINT16 = 4,
    /// Signed 16-bit integer.
    OPSCOPE_INT16 = 5,
    /// Signed 32-bit integer.
    OPSCOPE_INT32 = 6,
    /// Signed 64-bit integer.
    OPSCOPE_INT64 = 7,
    /// Text. It has no form as bytes.
    OPSCOPE_STRING = 8,
    /// One byte for each element, 0 or 1.
    OPSCOPE_BOOL = 9,
    /// 16-bit float.
    OPSCOPE_FLOAT16 = 10,
    /// 64-bit float.
    OPSCOPE_FLOAT64 = 11,
    /// Unsigned 32-bit integer.
    OPSCOPE_UINT32 = 12,
    /// Unsigned 64-bit integer.
    OPSCOPE_UINT64 = 13,
    /// Two 32-bit floats.
    OPSCOPE_COMPLEX64 = 14,
    /// Two 64-bit floats.
    OPSCOPE_COMPLEX128 = 15,
    /// The upper half of a 32-bit float.
    OPSCOPE_BFLOAT16 = 16,
    /// 8-bit float.
    OPSCOPE_FLOAT8E4M3FN = 17,
    /// 8-bit float.
    OPSCOPE_FLOAT8E4M3FNUZ = 18,
    /// 8-bit float.
    OPSCOPE_FLOAT8E5M2 = 19,
    /// 8-bit float.
    OPSCOPE_FLOAT8E5M2FNUZ = 20,
    /// Two unsigned elements in a byte, the first in the low half.
    OPSCOPE_UINT4 = 21,
    /// Two signed elements in a byte, the first in the low half.
    OPSCOPE_INT4 = 22,
    /// Two floats in a byte, the first in the low half.
    OPSCOPE_FLOAT4E2M1 = 23,
}

/// A tensor: a type, a shape and data. The data is little-endian and row-major, without gaps.
///
/// A tensor that is passed to opscope is only read during the call. One that opscope returns belongs to what returned it.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_tensor_t {
    /// `sizeof(opscope_tensor_t)`.
    pub size: usize,
    /// Its name in the model. Ignored in tensors that are passed to opscope.
    pub name: *const c_char,
    /// The sizes of its dimensions. NULL for a single element, whose `rank` is 0.
    pub dims: *const usize,
    /// The elements.
    pub data: *const c_void,
    /// The number of bytes of `data`.
    pub bytes: usize,
    /// The type of its elements, an `opscope_dtype_t`.
    pub dtype: u32,
    /// The number of its dimensions.
    pub rank: u32,
}
sized!(opscope_tensor_t, 48);

/// A list of tensors that opscope returned. Free it with `opscope_tensors_free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_tensors_t {
    /// 0 is no list.
    pub id: u64,
}
handle!(opscope_tensors_t => Tensors, "list of tensors");

/// Tensors with their names, kept until the list is freed.
pub struct Tensors(Vec<(Text, Tensor)>);

impl Tensors {
    pub(crate) fn new(tensors: impl IntoIterator<Item = (Text, Tensor)>) -> Self {
        Self(tensors.into_iter().collect())
    }
}

/// Returns the name of a type, such as "float32"; NULL for a number that is no type. The text is static.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_dtype_name(dtype: u32) -> *const c_char {
    static NAMES: LazyLock<Vec<(DType, Text)>> =
        LazyLock::new(|| DType::all().map(|dtype| (dtype, Text::new(dtype.name()))).collect());
    let named = dtype_of(dtype).and_then(|dtype| NAMES.iter().find(|(named, _)| *named == dtype));
    named.map_or(ptr::null(), |(_, name)| name.as_ptr())
}

/// Returns the number of tensors in a list; 0 for an invalid handle.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_tensors_count(tensors: opscope_tensors_t) -> usize {
    let mut count = 0;
    call(|| {
        count = get(tensors)?.0.len();
        Ok(())
    });
    count
}

/// Writes one tensor of a list to `tensor`, whose `size` must be set. It is valid until the list is freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn opscope_tensors_get(
    tensors: opscope_tensors_t,
    index: usize,
    tensor: *mut opscope_tensor_t,
) -> opscope_status_t {
    call(|| {
        let list = get(tensors)?;
        let (name, found) = list.0.get(index).ok_or_else(|| {
            Failure::new(OPSCOPE_ERROR_NOT_FOUND, format!("there is no tensor {index}; the list has {}", list.0.len()))
        })?;
        // SAFETY: as the caller promises.
        unsafe { write(tensor, &for_c(found.dtype(), found.shape(), found.bytes(), name.as_ptr())) }
    })
}

/// Frees a list of tensors, and the tensors in it.
#[unsafe(no_mangle)]
pub extern "C" fn opscope_tensors_free(tensors: opscope_tensors_t) -> opscope_status_t {
    call(|| remove(tensors).map(drop))
}

/// Describes a tensor for C, for as long as its parts live.
pub(crate) fn for_c(dtype: DType, shape: &[usize], bytes: &[u8], name: *const c_char) -> opscope_tensor_t {
    opscope_tensor_t {
        size: size_of::<opscope_tensor_t>(),
        name,
        dims: if shape.is_empty() { ptr::null() } else { shape.as_ptr() },
        data: bytes.as_ptr().cast(),
        bytes: bytes.len(),
        dtype: dtype_code(dtype),
        rank: shape.len() as u32,
    }
}

/// Copies a tensor that C passes.
///
/// # Safety
/// Its pointers are valid for the sizes beside them.
pub(crate) unsafe fn tensor_from_c(tensor: &opscope_tensor_t) -> Result<Tensor, Failure> {
    let dtype = dtype_of(tensor.dtype).ok_or_else(|| {
        Failure::argument(format!("{} is no type of elements; OPSCOPE_FLOAT32 is 1, for example", tensor.dtype))
    })?;
    // SAFETY: as the caller promises.
    let dims = unsafe { slice(tensor.dims, tensor.rank as usize, "dims")? };
    // SAFETY: as the caller promises.
    let bytes = unsafe { slice(tensor.data.cast::<u8>(), tensor.bytes, "data")? };
    Ok(Tensor::new(dtype, dims.to_vec(), bytes)?)
}

/// Returns the code of a type.
pub(crate) fn dtype_code(dtype: DType) -> u32 {
    dtype.onnx_code().unsigned_abs()
}

fn dtype_of(code: u32) -> Option<DType> {
    DType::from_onnx(i32::try_from(code).ok()?)
}
