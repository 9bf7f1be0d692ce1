//! The custom operator that ONNX Runtime calls.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ffi::{CString, c_char, c_int, c_void};
use std::mem::transmute;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_onnx::Dim;
use ort_sys::{
    ONNXTensorElementDataType, OrtApi, OrtCustomOp, OrtCustomOpDomain, OrtCustomOpInputOutputCharacteristic,
    OrtKernelContext, OrtKernelInfo, OrtShapeInferContext, OrtStatusPtr, OrtTensorTypeAndShapeInfo,
};

use super::current_run::{at_tap, is_watched};
use super::values::TapCall;
use crate::api::{Api, Known, call, text};
use crate::errors::Refusal;
use crate::names::{DOMAIN, NUMBER, TAP, TAP_OF_DECLARED, TAP_OF_ONE};

/// Where the library puts the outputs of a tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Memory {
    /// In the memory of its inputs.
    Shared,
    /// As [`Shared`](Self::Shared), but the library also holds the outputs of some operators longer than necessary, so
    /// that an observer may keep them.
    Held,
    /// In the memory of its inputs if nothing else takes them, else in a copy. Then an observer may replace an
    /// operator's inputs.
    Own,
}

/// The operator set of taps, for sessions whose taps have this memory mode.
pub(crate) struct Domain(*mut OrtCustomOpDomain);

// SAFETY: a domain does not change after its creation.
unsafe impl Send for Domain {}
// SAFETY: as above.
unsafe impl Sync for Domain {}

/// The operator as the library knows it. The library's part comes first, because the library passes a pointer to that.
#[repr(C)]
struct TapOp {
    op: OrtCustomOp,
    api: Api,
    /// The element type of a tap for a single value.
    element: ONNXTensorElementDataType,
}

/// A node with this operator.
struct TapKernel {
    api: Api,
    number: usize,
    count: usize,
}

/// How many inputs of a tap are passed on without a copy.
const MOST_ALIASES: usize = 64;

/// The slots that share their memory, in the form that the library reads: input 0 and output 0, input 1 and output 1,
/// ...
static SLOTS: [c_int; MOST_ALIASES] = {
    let mut slots = [0; MOST_ALIASES];
    let mut slot = 0;
    while slot < MOST_ALIASES {
        slots[slot] = slot as c_int;
        slot += 1;
    }
    slots
};

impl Domain {
    /// Creates the operator set. It is never freed, because sessions need it as long as they live.
    pub fn new(api: Api, memory: Memory) -> Result<Self, Refusal> {
        let name = CString::new(DOMAIN).unwrap_or_default();
        let mut domain = ptr::null_mut();
        // SAFETY: the name is valid, and the result may be written.
        unsafe { call!(api, CreateCustomOpDomain(name.as_ptr(), &mut domain)) }?;
        let ops = [operator(api, memory), of_declared(api, memory)]
            .into_iter()
            .chain(ELEMENTS.map(|element| of_one(api, memory, element)));
        for op in ops {
            // SAFETY: the domain is valid, and the operator is never freed.
            unsafe { call!(api, CustomOpDomain_Add(domain, ptr::from_ref(Box::leak(Box::new(op))).cast())) }?;
        }
        Ok(Self(domain))
    }

    pub fn raw(&self) -> *mut OrtCustomOpDomain {
        self.0
    }
}

/// The element types that tensors can have: all of ONNX's but complex numbers, which the library does not have.
const ELEMENTS: [ONNXTensorElementDataType; 20] = {
    use ONNXTensorElementDataType::*;
    [
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_STRING,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FN,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E4M3FNUZ,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT8E5M2FNUZ,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT4,
        ONNX_TENSOR_ELEMENT_DATA_TYPE_INT4,
    ]
};

/// Returns a tap whose values have the types that the model declares. The types need not include the rank.
fn of_declared(api: Api, memory: Memory) -> TapOp {
    let any = operator(api, memory);
    let op = OrtCustomOp { GetName: Some(name_of_declared), InferOutputShapeFn: None, ..any.op };
    TapOp { op, ..any }
}

/// Returns a tap for a single value, whose type the library infers by itself.
fn of_one(api: Api, memory: Memory, element: ONNXTensorElementDataType) -> TapOp {
    let any = operator(api, memory);
    let op = OrtCustomOp {
        GetName: Some(name_of_one),
        GetInputType: Some(element_type),
        GetOutputType: Some(element_type),
        GetInputCharacteristic: Some(required),
        GetOutputCharacteristic: Some(required),
        InferOutputShapeFn: None,
        ..any.op
    };
    TapOp { op, api, element }
}

fn operator(api: Api, memory: Memory) -> TapOp {
    let shared = memory != Memory::Own;
    let op = OrtCustomOp {
        version: api.number(),
        CreateKernel: None,
        GetName: Some(name),
        GetExecutionProviderType: Some(provider),
        GetInputType: Some(any_type),
        GetInputTypeCount: Some(one),
        GetOutputType: Some(any_type),
        GetOutputTypeCount: Some(one),
        KernelCompute: None,
        KernelDestroy: Some(destroy),
        GetInputCharacteristic: Some(variadic),
        GetOutputCharacteristic: Some(variadic),
        GetInputMemoryType: Some(memory_type),
        GetVariadicInputMinArity: Some(at_least_one),
        GetVariadicInputHomogeneity: Some(mixed),
        GetVariadicOutputMinArity: Some(at_least_one),
        GetVariadicOutputHomogeneity: Some(mixed),
        CreateKernelV2: Some(create),
        KernelComputeV2: Some(compute),
        InferOutputShapeFn: Some(infer),
        GetStartVersion: Some(start_version),
        GetEndVersion: Some(end_version),
        GetMayInplace: if shared { None } else { Some(slots) },
        ReleaseMayInplace: if shared { None } else { Some(release_slots) },
        GetAliasMap: if shared { Some(slots) } else { None },
        ReleaseAliasMap: if shared { Some(release_slots) } else { None },
    };
    TapOp { op, api, element: ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED }
}

extern "system" fn name_of_declared(_: *const OrtCustomOp) -> *const c_char {
    const { assert!(TAP_OF_DECLARED.len() == 13) };
    c"TapOfDeclared".as_ptr()
}

extern "system" fn name_of_one(_: *const OrtCustomOp) -> *const c_char {
    const { assert!(TAP_OF_ONE.len() == 8) };
    c"TapOfOne".as_ptr()
}

unsafe extern "system" fn element_type(op: *const OrtCustomOp, _: usize) -> ONNXTensorElementDataType {
    // SAFETY: the library passes the operator that it received, which is the first field of `TapOp`.
    unsafe { (*op.cast::<TapOp>()).element }
}

extern "system" fn required(_: *const OrtCustomOp, _: usize) -> OrtCustomOpInputOutputCharacteristic {
    OrtCustomOpInputOutputCharacteristic::INPUT_OUTPUT_REQUIRED
}

extern "system" fn name(_: *const OrtCustomOp) -> *const c_char {
    const { assert!(TAP.len() == 3) };
    c"Tap".as_ptr()
}

extern "system" fn provider(_: *const OrtCustomOp) -> *const c_char {
    c"CPUExecutionProvider".as_ptr()
}

extern "system" fn any_type(_: *const OrtCustomOp, _: usize) -> ONNXTensorElementDataType {
    ONNXTensorElementDataType::ONNX_TENSOR_ELEMENT_DATA_TYPE_UNDEFINED
}

extern "system" fn one(_: *const OrtCustomOp) -> usize {
    1
}

extern "system" fn at_least_one(_: *const OrtCustomOp) -> c_int {
    1
}

/// The inputs of a tap may have different types.
extern "system" fn mixed(_: *const OrtCustomOp) -> c_int {
    0
}

extern "system" fn variadic(_: *const OrtCustomOp, _: usize) -> OrtCustomOpInputOutputCharacteristic {
    OrtCustomOpInputOutputCharacteristic::INPUT_OUTPUT_VARIADIC
}

extern "system" fn memory_type(_: *const OrtCustomOp, _: usize) -> ort_sys::OrtMemType {
    ort_sys::OrtMemType::OrtMemTypeDefault
}

extern "system" fn start_version(_: *const OrtCustomOp) -> c_int {
    1
}

extern "system" fn end_version(_: *const OrtCustomOp) -> c_int {
    c_int::MAX
}

unsafe extern "system" fn slots(inputs: *mut *mut c_int, outputs: *mut *mut c_int) -> usize {
    // SAFETY: the library passes valid pointers for both lists, and only reads what they point to.
    unsafe {
        *inputs = SLOTS.as_ptr().cast_mut();
        *outputs = SLOTS.as_ptr().cast_mut();
    }
    MOST_ALIASES
}

unsafe extern "system" fn release_slots(_: *mut c_int, _: *mut c_int) {}

unsafe extern "system" fn create(
    op: *const OrtCustomOp,
    _: *const OrtApi,
    info: *const OrtKernelInfo,
    kernel: *mut *mut c_void,
) -> OrtStatusPtr {
    // SAFETY: the library passes the operator that it received, which is the first field of `TapOp`.
    let api = unsafe { (*op.cast::<TapOp>()).api };
    let (mut number, mut count) = (0i64, 0usize);
    let attribute = CString::new(NUMBER).unwrap_or_default();
    // SAFETY: the name is valid, the results may be written, and the library passes valid arguments.
    let read = unsafe {
        call!(api, KernelInfoGetAttribute_int64(info, attribute.as_ptr(), &mut number))
            .and_then(|()| call!(api, KernelInfo_GetOutputCount(info, &mut count)))
    };
    if let Err(refusal) = read {
        return api.error(refusal.reason());
    }
    let made = Box::new(TapKernel { api, number: usize::try_from(number).unwrap_or(usize::MAX), count });
    // SAFETY: the library passes a valid pointer for the kernel.
    unsafe { *kernel = Box::into_raw(made).cast() };
    OrtStatusPtr::default()
}

unsafe extern "system" fn destroy(kernel: *mut c_void) {
    // SAFETY: the library destroys each kernel that `create` has made once.
    drop(unsafe { Box::from_raw(kernel.cast::<TapKernel>()) });
}

unsafe extern "system" fn compute(kernel: *mut c_void, context: *mut OrtKernelContext) -> OrtStatusPtr {
    // SAFETY: the library passes a kernel that `create` has made and that is not destroyed.
    let kernel = unsafe { &*kernel.cast::<TapKernel>() };
    let api = kernel.api;
    // SAFETY: the library passes the context of this call of the kernel, which has this many outputs and no fewer
    // inputs.
    let call = unsafe { TapCall::new(api, context, kernel.count) };
    if !is_watched() {
        return match call.hand_on() {
            Ok(()) => OrtStatusPtr::default(),
            Err(refusal) => api.error(refusal.reason()),
        };
    }
    // A panic must not unwind through the library.
    let outcome = catch_unwind(AssertUnwindSafe(|| at_tap(kernel.number, &call)));
    match outcome {
        Ok(Ok(())) => OrtStatusPtr::default(),
        Ok(Err(refusal)) => api.error(refusal.reason()),
        Err(_) => api.error("an observer panicked"),
    }
}

/// What is known about the values that pass through taps, by the taps' numbers and their slots.
type KnownAtTaps = HashMap<usize, Vec<Option<Known>>>;

thread_local! {
    /// What is known while this thread loads a model.
    static KNOWN: RefCell<KnownAtTaps> = RefCell::default();
}

/// Calls `load`. Meanwhile taps give their outputs the types that are known, and the others the types that the library
/// has inferred for their inputs.
pub(crate) fn with_known<T>(known: KnownAtTaps, load: impl FnOnce() -> T) -> T {
    KNOWN.set(known);
    let loaded = load();
    KNOWN.take();
    loaded
}

/// Reports that each output has the type and the shape of its input.
unsafe extern "system" fn infer(op: *const OrtCustomOp, context: *mut OrtShapeInferContext) -> OrtStatusPtr {
    // SAFETY: as in `create`.
    let api = unsafe { (*op.cast::<TapOp>()).api };
    // SAFETY: the context is that of this call.
    let outcome = unsafe { number(api, context) }.and_then(|number| {
        let known = KNOWN.with_borrow(|known| known.get(&number).cloned().unwrap_or_default());
        // SAFETY: as above, and there are at least this many inputs.
        known.iter().enumerate().try_for_each(|(slot, known)| unsafe { infer_one(api, context, slot, known.as_ref()) })
    });
    outcome.map_or_else(|refusal: Refusal| api.error(refusal.reason()), |()| OrtStatusPtr::default())
}

/// Returns the number of the tap whose types are inferred.
unsafe fn number(api: Api, context: *mut OrtShapeInferContext) -> Result<usize, Refusal> {
    let (mut attribute, mut number, mut length) = (ptr::null(), 0i64, 0);
    let name = CString::new(NUMBER).unwrap_or_default();
    // SAFETY: the context is valid, and the results may be written.
    unsafe {
        call!(api, ShapeInferContext_GetAttribute(context, name.as_ptr(), &mut attribute))?;
        let int = ort_sys::OrtOpAttrType::ORT_OP_ATTR_INT;
        call!(api, ReadOpAttr(attribute, int, ptr::from_mut(&mut number).cast(), size_of::<i64>(), &mut length))?;
    }
    usize::try_from(number).map_err(|_| "a tap has no number".into())
}

unsafe fn infer_one(
    api: Api,
    context: *mut OrtShapeInferContext,
    slot: usize,
    known: Option<&Known>,
) -> Result<(), Refusal> {
    static NEXT_NAME: AtomicU64 = AtomicU64::new(0);
    let mut info = ptr::null_mut();
    // SAFETY: the context is valid, and the results may be written. The context owns the description. Everything
    // created is released once.
    unsafe {
        call!(api, ShapeInferContext_GetInputTypeShape(context, slot, &mut info))?;
        let (element, dims) = match (known, Known::of_tensor(api, info)?) {
            (Some(Known::Tensor { dims: Some(dims), .. }), Known::Tensor { element, .. }) => (element, dims.clone()),
            (_, Known::Tensor { element, dims }) => (element, dims.unwrap_or_default()),
            (_, Known::Other) => return Err("a tap takes what is not a tensor".into()),
        };
        // An unknown dimension must have a name.
        let name = |dim: &Dim| match dim {
            Dim::Fixed(_) => CString::default(),
            Dim::Symbol(name) if name.is_empty() => {
                text(&format!("{DOMAIN}:d{}", NEXT_NAME.fetch_add(1, Ordering::Relaxed)))
            }
            Dim::Symbol(name) => text(name),
        };
        let size = |dim: &Dim| match dim {
            Dim::Fixed(size) => *size as i64,
            Dim::Symbol(_) => -1,
        };
        let texts: Vec<CString> = dims.iter().map(name).collect();
        let mut names: Vec<*const c_char> = texts.iter().map(|name| name.as_ptr()).collect();
        let sizes: Vec<i64> = dims.iter().map(size).collect();
        let mut output = ptr::null_mut();
        call!(api, CreateTensorTypeAndShapeInfo(&mut output))?;
        let set = set_element_type(api, output, element)
            .and_then(|()| call!(api, SetDimensions(output, sizes.as_ptr(), sizes.len())))
            .and_then(|()| call!(api, SetSymbolicDimensions(output, names.as_mut_ptr(), names.len())))
            .and_then(|()| call!(api, ShapeInferContext_SetOutputTypeShape(context, slot, output)));
        ((*api.table().as_ptr()).ReleaseTensorTypeAndShapeInfo)(output);
        set
    }
}

/// Sets the element type by its number. The binding may lack that number, because it was read from the library.
///
/// # Safety
/// The description is valid.
unsafe fn set_element_type(api: Api, info: *mut OrtTensorTypeAndShapeInfo, number: i32) -> Result<(), Refusal> {
    type OfEnum = unsafe extern "system" fn(*mut OrtTensorTypeAndShapeInfo, ONNXTensorElementDataType) -> OrtStatusPtr;
    type OfNumber = unsafe extern "system" fn(*mut OrtTensorTypeAndShapeInfo, i32) -> OrtStatusPtr;
    // SAFETY: in C the type is an `i32`, so the function accepts any number; the caller guarantees the rest.
    unsafe {
        let set = transmute::<OfEnum, OfNumber>((*api.table().as_ptr()).SetTensorElementType);
        api.check(set(info, number))
    }
}
