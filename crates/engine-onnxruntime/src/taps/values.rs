//! The values that pass through a tap.

use std::ptr;
use std::slice;

use opscope_tensor::{DType, Tensor, TensorView};
use ort_sys::{OrtKernelContext, OrtValue};

use crate::api::{Api, call, described};
use crate::errors::Refusal;

/// The values that passed through the taps on one side of an operator, as the nodes behind them receive them.
#[derive(Default)]
pub(crate) struct Passed {
    pub held: Vec<LibraryTensor>,
    /// Copies of the values that the library may have given up already.
    copies: Vec<Tensor>,
}

/// A tensor in the library's memory.
#[derive(Debug, Clone)]
pub(crate) struct LibraryTensor {
    pub dtype: DType,
    pub shape: Vec<usize>,
    /// Null for strings, which have no bytes.
    data: *mut u8,
    /// Whether this is the library's memory, not a copy.
    pub is_own: bool,
}

/// A call of a tap that is in progress.
pub(crate) struct TapCall {
    api: Api,
    context: *mut OrtKernelContext,
    count: usize,
}

impl TapCall {
    /// # Safety
    /// The context is that of a call of a tap with at least this many inputs, and exactly this many outputs. The call
    /// lasts as long as this lives.
    pub unsafe fn new(api: Api, context: *mut OrtKernelContext, count: usize) -> Self {
        Self { api, context, count }
    }

    /// Passes all inputs on, without recording them.
    pub fn hand_on(&self) -> Result<(), Refusal> {
        // SAFETY: guaranteed by the caller of `new`.
        unsafe { hand_on(self.api, self.context, self.count) }
    }

    /// Passes all inputs on, and records where they are.
    pub fn values(&self) -> Result<Passed, Refusal> {
        // SAFETY: guaranteed by the caller of `new`.
        unsafe { Passed::through(self.api, self.context, self.count) }
    }
}

/// Passes all inputs of a tap on, without recording them. In a run without an observer, a tap does nothing else, so
/// this allocates no memory.
///
/// # Safety
/// The context is that of a call in progress of a tap with this many inputs.
unsafe fn hand_on(api: Api, context: *mut OrtKernelContext, count: usize) -> Result<(), Refusal> {
    if api.number() < 24 {
        // SAFETY: guaranteed by the caller.
        return unsafe { Passed::through(api, context, count) }.map(drop);
    }
    for index in 0..count {
        let (mut input, mut output) = (ptr::null(), ptr::null_mut());
        let (mut element, mut dims, mut rank) = (0i32, ptr::null(), 0usize);
        let (mut from, mut to) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the context is valid, and the results may be written. The input owns the dimensions, and lives during
        // the call.
        unsafe {
            call!(api, KernelContext_GetInput(context, index, &mut input))?;
            let element = ptr::from_mut(&mut element).cast();
            call!(api, GetTensorElementTypeAndShapeDataReference(input, element, &mut dims, &mut rank))?;
            call!(api, KernelContext_GetOutput(context, index, dims, rank, &mut output))?;
            call!(api, GetTensorMutableData(input.cast_mut(), &mut from))?;
            call!(api, GetTensorMutableData(output, &mut to))?;
        }
        if from != to {
            // SAFETY: the output was just created for this input.
            unsafe { pass(api, context, index) }?;
        }
    }
    Ok(())
}

impl Passed {
    /// Passes all inputs of a tap on.
    ///
    /// # Safety
    /// The context is that of a call in progress of a tap with this many inputs.
    unsafe fn through(api: Api, context: *mut OrtKernelContext, count: usize) -> Result<Self, Refusal> {
        // SAFETY: guaranteed by the caller.
        (0..count)
            .map(|index| unsafe { pass(api, context, index) })
            .collect::<Result<_, _>>()
            .map(|held| Self { held, copies: Vec::new() })
    }

    /// Adds the values that passed through another tap.
    pub fn add(&mut self, other: Passed) {
        self.held.extend(other.held);
        self.copies.extend(other.copies);
    }

    /// Copies the values, because the library may give them up before the last tap is called.
    ///
    /// # Safety
    /// The library holds the tensors.
    pub unsafe fn copy(&mut self) {
        for held in self.held.iter_mut().filter(|held| held.is_own && !held.data.is_null()) {
            // SAFETY: guaranteed by the caller.
            if let Ok(copy) = unsafe { held.view() }.to_tensor() {
                held.data = copy.bytes().as_ptr().cast_mut();
                held.is_own = false;
                self.copies.push(copy);
            }
        }
    }
}

unsafe fn pass(api: Api, context: *mut OrtKernelContext, index: usize) -> Result<LibraryTensor, Refusal> {
    let (mut input, mut output) = (ptr::null(), ptr::null_mut());
    // SAFETY: the context is valid, and the results may be written. A tensor's type and shape describe its memory
    // correctly.
    unsafe {
        call!(api, KernelContext_GetInput(context, index, &mut input))?;
        let (dtype, shape) = typed(api, input)?;
        let dims: Vec<i64> = shape.iter().map(|&dim| dim as i64).collect();
        call!(api, KernelContext_GetOutput(context, index, dims.as_ptr(), dims.len(), &mut output))?;
        if dtype == DType::String {
            copy_texts(api, input, output, shape.iter().product())?;
            return Ok(LibraryTensor { dtype, shape, data: ptr::null_mut(), is_own: true });
        }
        let (mut from, mut to) = (ptr::null_mut(), ptr::null_mut());
        call!(api, GetTensorMutableData(input.cast_mut(), &mut from))?;
        call!(api, GetTensorMutableData(output, &mut to))?;
        let length = dtype.bytes_of(shape.iter().product()).unwrap_or(0);
        if from != to && length > 0 {
            ptr::copy_nonoverlapping(from.cast::<u8>(), to.cast::<u8>(), length);
        }
        Ok(LibraryTensor { dtype, shape, data: to.cast(), is_own: true })
    }
}

unsafe fn typed(api: Api, value: *const OrtValue) -> Result<(DType, Vec<usize>), Refusal> {
    if api.number() >= 24 {
        let (mut dtype, mut dims, mut rank) = (0i32, ptr::null(), 0usize);
        // SAFETY: the value is a tensor that only its tap takes. It owns its dimensions, which are copied here.
        unsafe {
            let into = ptr::from_mut(&mut dtype).cast();
            call!(api, GetTensorElementTypeAndShapeDataReference(value, into, &mut dims, &mut rank))?;
            let dims = if rank == 0 { &[] } else { slice::from_raw_parts(dims, rank) };
            let dtype = DType::from_onnx(dtype).ok_or_else(|| format!("its element type {dtype} is not known"))?;
            return Ok((dtype, dims.iter().map(|&dim| usize::try_from(dim).unwrap_or(0)).collect()));
        }
    }
    // SAFETY: the value lives during the call.
    let described = unsafe { described(api, value) }.ok_or("its element type is not known")?;
    Ok((described.dtype, described.shape))
}

/// Copies strings, unless both tensors are the same.
unsafe fn copy_texts(api: Api, from: *const OrtValue, to: *mut OrtValue, count: usize) -> Result<(), Refusal> {
    let (mut source, mut target) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: both are tensors with this many strings, and every text is read into a buffer of its length.
    unsafe {
        call!(api, GetTensorMutableData(from.cast_mut(), &mut source))?;
        call!(api, GetTensorMutableData(to, &mut target))?;
        if source == target {
            return Ok(());
        }
        for index in 0..count {
            let mut length = 0;
            call!(api, GetStringTensorElementLength(from, index, &mut length))?;
            let mut text = vec![0u8; length + 1];
            call!(api, GetStringTensorElement(from, length, index, text.as_mut_ptr().cast()))?;
            call!(api, FillStringTensorElement(to, text.as_ptr().cast(), index))?;
        }
    }
    Ok(())
}

impl LibraryTensor {
    /// Returns the address and the length of the tensor's bytes; `None` if it has none.
    pub fn memory(&self) -> Option<(*const u8, usize)> {
        let length = self.dtype.bytes_of(self.shape.iter().product())?;
        (!self.data.is_null()).then_some((self.data.cast_const(), length))
    }

    /// Returns a view of the tensor.
    ///
    /// # Safety
    /// The library holds the tensor as long as the view lives, and nothing writes to it meanwhile.
    pub unsafe fn view<'a>(&self) -> TensorView<'a> {
        let length = self.dtype.bytes_of(self.shape.iter().product());
        let bytes: &[u8] = match length {
            None => return TensorView::opaque(self.dtype, self.shape.clone()),
            Some(0) => &[],
            // SAFETY: a tensor of this type and shape has this many bytes; the caller guarantees that they live long
            // enough.
            Some(length) => unsafe { slice::from_raw_parts(self.data, length) },
        };
        let opaque = || TensorView::opaque(self.dtype, self.shape.clone());
        TensorView::new(self.dtype, self.shape.clone(), bytes).unwrap_or_else(|_| opaque())
    }

    /// Writes another tensor's elements into this one.
    ///
    /// # Errors
    /// Returns an error if the tensor has another type or shape.
    ///
    /// # Safety
    /// The library holds the tensor, and there is no view of it.
    pub unsafe fn replace(&self, tensor: &Tensor, what: &str) -> Result<(), Refusal> {
        if tensor.dtype() != self.dtype {
            return Err(format!("{what} is of {}, {} was given", self.dtype, tensor.dtype()).into());
        }
        if !self.is_own {
            return Err(format!("{what} was already handed on, so it cannot be replaced").into());
        }
        if tensor.shape() != self.shape {
            return Err(format!("{what} has shape {:?}, {:?} was given", self.shape, tensor.shape()).into());
        }
        let bytes = tensor.bytes();
        if !bytes.is_empty() {
            // SAFETY: the memory has as many bytes as the type and shape say, which are those of `tensor`.
            unsafe { ptr::copy_nonoverlapping(bytes.as_ptr(), self.data, bytes.len()) };
        }
        Ok(())
    }
}
