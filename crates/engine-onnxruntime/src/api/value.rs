use std::any::Any;
use std::borrow::Cow;
use std::ffi::c_int;
use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::slice;

use opscope_model::DeviceTensors;
use opscope_tensor::{DType, Tensor, TensorView};
use ort_sys::{ONNXTensorElementDataType, OrtAllocatorType, OrtMemType, OrtMemoryInfoDeviceType, OrtValue};

use super::{Api, call};
use crate::errors::Refusal;

/// One of the library's values: a tensor, or something without bytes, such as a sequence.
pub(crate) struct Value {
    api: Api,
    raw: NonNull<OrtValue>,
    /// The tensor whose memory it uses; `None` if the library owns the memory.
    lent: Option<Tensor>,
}

// SAFETY: a value is only read once it is created, and any thread may release it.
unsafe impl Send for Value {}
// SAFETY: as above.
unsafe impl Sync for Value {}

/// The inputs or outputs of a run.
pub(crate) struct Values(pub Vec<Value>);

impl Value {
    /// Takes ownership of a value that the library created for its caller.
    ///
    /// # Safety
    /// The pointer is null, or a value that nothing else releases.
    pub unsafe fn owned(api: Api, raw: *mut OrtValue) -> Option<Self> {
        NonNull::new(raw).map(|raw| Self { api, raw, lent: None })
    }

    /// Lends the memory of a tensor to the library for runs that only read their inputs. A tensor that the library
    /// cannot read in place is copied.
    pub fn lent(api: Api, tensor: &Tensor) -> Result<Self, Refusal> {
        if !can_be_lent(tensor) {
            return Self::copied(api, tensor);
        }
        let (dtype, shape) = described_by(tensor)?;
        let (kind, memory) = (OrtAllocatorType::OrtDeviceAllocator, OrtMemType::OrtMemTypeDefault);
        let bytes = tensor.bytes();
        let (mut info, mut raw) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the results may be written; the shape lives until the call returns, and the library copies what
        // describes the memory. The bytes are those of this type and shape. They stay where they are as long as the
        // value, which keeps the tensor, and the library does not write to the inputs of a session.
        unsafe {
            call!(api, CreateCpuMemoryInfo(kind, memory, &mut info))?;
            let data = bytes.as_ptr().cast_mut().cast();
            let made = call!(
                api,
                CreateTensorWithDataAsOrtValue(info, data, bytes.len(), shape.as_ptr(), shape.len(), dtype, &mut raw)
            );
            ((*api.table().as_ptr()).ReleaseMemoryInfo)(info);
            made?;
        }
        let raw = NonNull::new(raw).ok_or("it made no tensor")?;
        Ok(Self { api, raw, lent: Some(tensor.clone()) })
    }

    /// Returns the output itself, or a copy if its memory is that of an input that was lent: the owner may change that
    /// after the run.
    pub fn apart_from(self, inputs: &[Self]) -> Result<Self, Refusal> {
        // SAFETY: the value lives as long as the view, and nothing writes to it.
        let view = unsafe { view(self.api, self.raw()) };
        let Some(Cow::Borrowed(bytes)) = view.clone().into_bytes() else { return Ok(self) };
        let range = bytes.as_ptr_range();
        let shares = |tensor: &Tensor| {
            let lent = tensor.bytes().as_ptr_range();
            range.start < lent.end && lent.start < range.end
        };
        match inputs.iter().filter_map(|input| input.lent.as_ref()).any(shares) {
            true => Self::copied(self.api, &view.to_tensor().map_err(|error| error.to_string())?),
            false => Ok(self),
        }
    }

    /// Copies a tensor into the library's memory.
    pub fn copied(api: Api, tensor: &Tensor) -> Result<Self, Refusal> {
        let (dtype, shape) = described_by(tensor)?;
        let (mut allocator, mut raw) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the results may be written; the shape lives until the call returns; the default allocator is never
        // freed.
        let value = unsafe {
            call!(api, GetAllocatorWithDefaultOptions(&mut allocator))?;
            call!(api, CreateTensorAsOrtValue(allocator, shape.as_ptr(), shape.len(), dtype, &mut raw))?;
            Self::owned(api, raw).ok_or("it made no tensor")?
        };
        let bytes = tensor.bytes();
        // SAFETY: the value is a tensor of this type and shape, so its memory has this many bytes; nothing else refers
        // to it yet.
        unsafe {
            let mut data = ptr::null_mut();
            call!(api, GetTensorMutableData(value.raw(), &mut data))?;
            if !bytes.is_empty() {
                ptr::copy_nonoverlapping(bytes.as_ptr(), data.cast::<u8>(), bytes.len());
            }
            if tensor.dtype() == DType::Bool {
                // The library's kernels need booleans to be 0 or 1; files and programs in other languages may use other
                // bytes.
                slice::from_raw_parts_mut(data.cast::<u8>(), bytes.len())
                    .iter_mut()
                    .for_each(|byte| *byte = u8::from(*byte != 0));
            }
        }
        Ok(value)
    }

    /// Gives up ownership: the caller releases the value.
    pub fn into_raw(self) -> *mut OrtValue {
        ManuallyDrop::new(self).raw()
    }

    pub fn raw(&self) -> *mut OrtValue {
        self.raw.as_ptr()
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        // SAFETY: the value is valid and not used again.
        unsafe { ((*self.api.table().as_ptr()).ReleaseValue)(self.raw.as_ptr()) };
    }
}

impl DeviceTensors for Values {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn view(&self, index: usize) -> TensorView<'_> {
        let value = &self.0[index];
        // SAFETY: the value lives as long as the view, and nothing writes to it.
        unsafe { view(value.api, value.raw()) }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Returns a view of a value, without a copy. Values without bytes are opaque: strings, sequences, maps.
///
/// # Safety
/// The value lives as long as the view, and nothing writes to it meanwhile.
pub(crate) unsafe fn view<'a>(api: Api, value: *const OrtValue) -> TensorView<'a> {
    let opaque = || TensorView::opaque(DType::String, Vec::new());
    // SAFETY: guaranteed by the caller.
    let Some(described) = (unsafe { described(api, value) }) else { return opaque() };
    let TensorDescription { dtype, shape } = described;
    let Some(length) = dtype.bytes_of(shape.iter().product()) else { return TensorView::opaque(dtype, shape) };
    let mut data = ptr::null_mut();
    // SAFETY: the value is a tensor, and `data` may be written.
    if unsafe { call!(api, GetTensorMutableData(value.cast_mut(), &mut data)) }.is_err() {
        return TensorView::opaque(dtype, shape);
    }
    let bytes: &[u8] = match length {
        0 => &[],
        // SAFETY: a tensor of this type and shape has this many bytes; the caller guarantees that they live long
        // enough.
        _ => unsafe { slice::from_raw_parts(data.cast::<u8>(), length) },
    };
    TensorView::new(dtype, shape.clone(), bytes).unwrap_or_else(|_| TensorView::opaque(dtype, shape))
}

/// Returns whether the processor can read a tensor's memory.
///
/// # Safety
/// The value is an alive tensor.
pub(crate) unsafe fn is_in_main_memory(api: Api, value: *const OrtValue) -> bool {
    let mut info = ptr::null();
    // Read as a number, because a newer library may have devices that the binding lacks.
    let mut device = -1i32;
    // SAFETY: guaranteed by the caller; the results may be written. The value owns the description.
    unsafe {
        if call!(api, GetTensorMemoryInfo(value, &mut info)).is_err() {
            return false;
        }
        ((*api.table().as_ptr()).MemoryInfoGetDeviceType)(info, ptr::from_mut(&mut device).cast());
    }
    device == OrtMemoryInfoDeviceType::OrtMemoryInfoDeviceType_CPU as i32
}

/// The type and shape of a tensor.
pub(crate) struct TensorDescription {
    pub dtype: DType,
    pub shape: Vec<usize>,
}

/// Returns the type and shape of a value, or `None` if it is not a tensor, or its type is unknown here.
///
/// # Safety
/// The value is alive.
pub(crate) unsafe fn described(api: Api, value: *const OrtValue) -> Option<TensorDescription> {
    let mut is_tensor: c_int = 0;
    // SAFETY: the value is alive, and the results may be written. Everything created is released once. The type is read
    // as a number, because a newer library may have types that the binding lacks.
    unsafe {
        call!(api, IsTensor(value, &mut is_tensor)).ok().filter(|()| is_tensor != 0)?;
        let mut info = ptr::null_mut();
        call!(api, GetTensorTypeAndShape(value, &mut info)).ok()?;
        let read = || -> Result<(i32, Vec<usize>), Refusal> {
            let (mut dtype, mut rank) = (0i32, 0usize);
            call!(api, GetTensorElementType(info, ptr::from_mut(&mut dtype).cast()))?;
            call!(api, GetDimensionsCount(info, &mut rank))?;
            let mut dims = vec![0i64; rank];
            call!(api, GetDimensions(info, dims.as_mut_ptr(), rank))?;
            Ok((dtype, dims.into_iter().map(|dim| usize::try_from(dim).unwrap_or(0)).collect()))
        };
        let found = read();
        ((*api.table().as_ptr()).ReleaseTensorTypeAndShapeInfo)(info);
        let (dtype, shape) = found.ok()?;
        Some(TensorDescription { dtype: DType::from_onnx(dtype)?, shape })
    }
}

/// Returns the type and the shape of a tensor as the library takes them.
fn described_by(tensor: &Tensor) -> Result<(ONNXTensorElementDataType, Vec<i64>), Refusal> {
    let dtype = element_type(tensor.dtype()).ok_or_else(|| format!("it takes no {}", tensor.dtype()))?;
    Ok((dtype, tensor.shape().iter().map(|&dim| dim as i64).collect()))
}

/// Returns whether the library can read a tensor where it is: its elements are aligned, and booleans are 0 or 1, which
/// the kernels need.
fn can_be_lent(tensor: &Tensor) -> bool {
    let bytes = tensor.bytes();
    let is_aligned = tensor.dtype().size().is_none_or(|size| bytes.as_ptr().addr().is_multiple_of(size));
    let is_readable = tensor.dtype() != DType::Bool || bytes.iter().all(|&byte| byte <= 1);
    !bytes.is_empty() && is_aligned && is_readable
}

/// Returns the library's name of an element type, or `None` if it accepts no such tensors from its caller.
pub(crate) fn element_type(dtype: DType) -> Option<ONNXTensorElementDataType> {
    use ONNXTensorElementDataType as Type;
    Some(match dtype {
        DType::F32 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
        DType::U8 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
        DType::I8 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
        DType::U16 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
        DType::I16 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
        DType::I32 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
        DType::I64 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
        DType::Bool => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
        DType::F16 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
        DType::F64 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
        DType::U32 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
        DType::U64 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
        DType::Bf16 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16,
        DType::F8E4M3Fn => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN,
        DType::F8E4M3FnUz => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ,
        DType::F8E5M2 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2,
        DType::F8E5M2FnUz => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ,
        DType::U4 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4,
        DType::I4 => Type::ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4,
        _ => return None,
    })
}
