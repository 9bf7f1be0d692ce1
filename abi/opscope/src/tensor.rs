use std::ffi::c_char;
use std::ptr;
use std::sync::LazyLock;

use opscope::tensor::{DType, Tensor, TensorView};
use opscope_border::{Bytes, Counted, Items, SizedOut, Text, counted, exported, sized, value};

use crate::border::opscope_status_t::OPSCOPE_ERROR_NOT_FOUND;
use crate::border::{Failure, KeptText, check_copy, get, handle, remove, slice};

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
    /// Text. It has no representation in bytes.
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
/// A tensor that is passed to opscope is only read during the call. A tensor from opscope belongs to the object that it
/// came from.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_tensor_t<'a> {
    /// `sizeof(opscope_tensor_t)`.
    pub size: usize,
    /// Its name in the model. Ignored in tensors that are passed to opscope.
    pub name: Text<'a>,
    /// The sizes of its dimensions. NULL for a single element, whose `rank` is 0.
    pub dims: Items<'a, usize>,
    /// The elements.
    pub data: Bytes<'a>,
    /// The number of bytes of `data`.
    pub bytes: usize,
    /// The type of its elements, an `opscope_dtype_t`.
    pub dtype: u32,
    /// The number of its dimensions, at most 128.
    pub rank: u32,
}
sized!(opscope_tensor_t<'a>, 48);
counted!(opscope_tensor_t<'a> { dims[rank] -> Counted<'a, usize>, data[bytes] -> Counted<'a, u8> });

/// A list of tensors that opscope returned. Free it with `opscope_tensors_free`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_tensors_t {
    /// 0 is no list.
    pub id: u64,
}
handle!(opscope_tensors_t => Tensors, "list of tensors");

/// Tensors with their names, kept until the list is freed.
pub struct Tensors(Vec<(KeptText, Tensor)>);

impl Tensors {
    pub(crate) fn new(tensors: impl IntoIterator<Item = (KeptText, Tensor)>) -> Self {
        Self(tensors.into_iter().collect())
    }
}

/// Returns the name of a type, such as "float32"; NULL for any other number. The text is static.
#[exported]
pub fn opscope_dtype_name(dtype: u32) -> *const c_char {
    static NAMES: LazyLock<Vec<(DType, KeptText)>> =
        LazyLock::new(|| DType::all().map(|dtype| (dtype, KeptText::new(dtype.name()))).collect());
    let named = dtype_of(dtype).and_then(|dtype| NAMES.iter().find(|(named, _)| *named == dtype));
    named.map_or(ptr::null(), |(_, name)| name.as_ptr())
}

/// Returns the number of tensors in a list; 0 for an invalid handle.
#[exported]
pub fn opscope_tensors_count(tensors: opscope_tensors_t) -> usize {
    value(0, || Ok::<_, Failure>(get(tensors)?.0.len()))
}

/// Writes one tensor of a list to `tensor`, whose `size` must be set. It is valid until the list is freed.
#[exported]
pub fn opscope_tensors_get(
    tensors: opscope_tensors_t,
    index: usize,
    tensor: SizedOut<'_, opscope_tensor_t<'_>>,
) -> Result<(), Failure> {
    let list = get(tensors)?;
    let (name, found) = list.0.get(index).ok_or_else(|| {
        Failure::new(OPSCOPE_ERROR_NOT_FOUND, format!("there is no tensor {index}; the list has {}", list.0.len()))
    })?;
    Ok(tensor.write(&for_c(found.dtype(), found.shape(), found.bytes(), name))?)
}

/// Frees a list of tensors, and the tensors in it.
#[exported]
pub fn opscope_tensors_free(tensors: opscope_tensors_t) -> Result<(), Failure> {
    remove(tensors).map(drop)
}

/// Describes a tensor for C, as long as its parts live.
pub(crate) fn for_c<'a>(dtype: DType, shape: &'a [usize], bytes: &'a [u8], name: &'a KeptText) -> opscope_tensor_t<'a> {
    opscope_tensor_t {
        size: size_of::<opscope_tensor_t>(),
        name: name.for_c(),
        dims: Items::from(shape),
        data: Bytes::from(bytes),
        bytes: bytes.len(),
        dtype: dtype_code(dtype),
        rank: shape.len() as u32,
    }
}

/// How many dimensions a tensor from C may have.
const MOST_DIMS: u32 = 128;

/// Copies a tensor from C.
pub(crate) fn tensor_from_c(tensor: &opscope_tensor_t<'_>) -> Result<Tensor, Failure> {
    let dtype = dtype_of(tensor.dtype).ok_or_else(|| {
        Failure::argument(format!("{} is not a type of elements; OPSCOPE_FLOAT32 is 1, for example", tensor.dtype))
    })?;
    if tensor.rank > MOST_DIMS {
        return Err(Failure::argument(format!("rank is {}; a tensor has at most {MOST_DIMS} dimensions", tensor.rank)));
    }
    let dims = slice(tensor.dims(), "dims")?;
    let bytes = tensor.data().get("data")?;
    // The size is checked before the copy, because one that does not fit the shape is garbage.
    TensorView::new(dtype, dims, bytes)?;
    check_copy(bytes.len(), "data")?;
    Ok(Tensor::new(dtype, dims.to_vec(), bytes)?)
}

/// Returns the code of a type.
pub(crate) fn dtype_code(dtype: DType) -> u32 {
    dtype.onnx_code().unsigned_abs()
}

fn dtype_of(code: u32) -> Option<DType> {
    DType::from_onnx(i32::try_from(code).ok()?)
}
