//! What a program that uses the library itself has made with it: options, values, statuses. An engine beside the
//! program's sessions takes its inputs from there, and leaves its outputs there.

use std::any::Any;
use std::ops::Range;
use std::ptr;
use std::slice;
use std::sync::Arc;

use opscope_model::DeviceTensors;
use opscope_tensor::{Tensor, TensorView};
use ort_sys::{ONNXType, OrtIoBinding, OrtSessionOptions, OrtStatusPtr, OrtValue};

use crate::api::{Api, SessionOptions, Value, Values, call, described, is_in_main_memory, view};
use crate::errors::Refusal;
use crate::library::Library;

/// The options of a session of the program, as they were when they were copied.
#[derive(Clone)]
pub struct ProgramOptions(pub(crate) Arc<SessionOptions>);

impl ProgramOptions {
    /// Copies the options of a session; null stands for the library's defaults.
    ///
    /// # Errors
    /// Returns the library's reason.
    ///
    /// # Safety
    /// `options` is null, or options that the program has made with this library. What they refer to, such as custom
    /// operators, lives as long as the models of an engine with this copy.
    pub unsafe fn copy_of(library: &Library, options: *const OrtSessionOptions) -> Result<Self, Refusal> {
        let api = *library.api();
        let copy = match options.is_null() {
            true => SessionOptions::new(api)?,
            // SAFETY: guaranteed by the caller.
            false => unsafe { SessionOptions::copy_of(api, options) }?,
        };
        Ok(Self(Arc::new(copy)))
    }
}

/// Access to the values of the program.
#[derive(Clone, Copy)]
pub struct ProgramValues(Api);

impl ProgramValues {
    /// Returns access to the values that the program makes with this library.
    pub fn of(library: &Library) -> Self {
        Self(*library.api())
    }

    /// Copies a tensor of the program.
    ///
    /// # Errors
    /// Returns an error that says what the value is, if it is not a tensor of numbers in main memory.
    ///
    /// # Safety
    /// The value is alive, and nothing writes to it meanwhile.
    pub unsafe fn copy(self, value: *const OrtValue) -> Result<Tensor, Refusal> {
        // SAFETY: guaranteed by the caller.
        let copied = unsafe { self.with_view(value, |view| view.to_tensor()) }?;
        copied.map_err(|error| error.to_string().into())
    }

    /// Calls `look` with a view of a tensor of the program.
    ///
    /// # Errors
    /// Returns an error that says what the value is, if it is not a tensor in main memory.
    ///
    /// # Safety
    /// The value is alive, and nothing writes to it meanwhile.
    pub unsafe fn with_view<R>(
        self,
        value: *const OrtValue,
        look: impl FnOnce(&TensorView<'_>) -> R,
    ) -> Result<R, Refusal> {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if value.is_null() || described(self.0, value).is_none() {
                return Err("is not a tensor".into());
            }
            if !is_in_main_memory(self.0, value) {
                return Err("is in the memory of a device".into());
            }
            Ok(look(&view(self.0, value)))
        }
    }

    /// Returns the addresses of a tensor's bytes; `None` if the value is not a tensor of numbers in main memory.
    ///
    /// # Safety
    /// The value is null or alive.
    pub unsafe fn place(self, value: *const OrtValue) -> Option<Range<usize>> {
        let place = |view: &TensorView<'_>| {
            let bytes = view.bytes()?.as_ptr_range();
            Some(bytes.start.addr()..bytes.end.addr())
        };
        // SAFETY: guaranteed by the caller; the bytes are not read.
        unsafe { self.with_view(value, place) }.ok().flatten()
    }

    /// Keeps a tensor of the program whose handle the program may release.
    ///
    /// # Errors
    /// Returns an error that says what the value is, if it is not a tensor of numbers in main memory.
    ///
    /// # Safety
    /// The value is alive.
    pub unsafe fn keep(self, value: *const OrtValue) -> Result<KeptValue, Refusal> {
        // SAFETY: guaranteed by the caller; the bytes are not read, and the result may be written.
        unsafe {
            self.with_view(value, |_| ())?;
            let place = self.place(value).ok_or("has elements that are not numbers")?;
            let mut raw = ptr::null_mut();
            call!(self.0, CreateValue(&value, 1, ONNXType::ONNX_TYPE_SEQUENCE, &mut raw))?;
            let sequence = Value::owned(self.0, raw).ok_or("cannot be kept")?;
            Ok(KeptValue { api: self.0, sequence, place })
        }
    }

    /// Returns the outputs of a binding with their names, in the order in which they were bound. An output for which
    /// the program has allocated no memory is not a tensor until a run has computed it.
    ///
    /// # Errors
    /// Returns the library's reason.
    ///
    /// # Safety
    /// The binding is valid.
    pub unsafe fn bound_outputs(self, binding: *const OrtIoBinding) -> Result<Vec<(String, ProgramValue)>, Refusal> {
        let api = self.0;
        let (mut allocator, mut values, mut count) = (ptr::null_mut(), ptr::null_mut(), 0);
        let (mut texts, mut lengths, mut named) = (ptr::null_mut(), ptr::null_mut(), 0);
        // SAFETY: the binding is valid, and the results may be written. The caller owns the values and the three lists,
        // which are freed by the allocator that made them. The texts follow one another.
        unsafe {
            call!(api, GetAllocatorWithDefaultOptions(&mut allocator))?;
            call!(api, GetBoundOutputValues(binding, allocator, &mut values, &mut count))?;
            let owned: Vec<_> =
                (0..count).filter_map(|at| Value::owned(api, *values.add(at))).map(ProgramValue).collect();
            let free = |list: *mut std::ffi::c_void| match list.is_null() {
                true => Ok(()),
                false => call!(api, AllocatorFree(allocator, list)),
            };
            free(values.cast())?;
            call!(api, GetBoundOutputNames(binding, allocator, &mut texts, &mut lengths, &mut named))?;
            let mut start = texts.cast::<u8>().cast_const();
            let name = |at: usize| {
                let length = *lengths.add(at);
                let name = String::from_utf8_lossy(slice::from_raw_parts(start, length)).into_owned();
                start = start.add(length);
                name
            };
            let names: Vec<String> = (0..named).map(name).collect();
            free(texts.cast())?;
            free(lengths.cast())?;
            Ok(names.into_iter().zip(owned).collect())
        }
    }

    /// Makes a status of an error, which the program releases.
    pub fn error(self, message: &str) -> OrtStatusPtr {
        self.0.error(message)
    }
}

/// A handle of one of the program's values, in addition to the program's own.
pub struct ProgramValue(Value);

impl ProgramValue {
    /// Returns the handle, which is released with this.
    pub fn raw(&self) -> *mut OrtValue {
        self.0.raw()
    }
}

/// A tensor of the program that lives at least as long as this.
pub struct KeptValue {
    api: Api,
    /// A sequence with only this tensor: the library has no other handle that shares the memory of a tensor.
    sequence: Value,
    place: Range<usize>,
}

impl KeptValue {
    /// Returns the addresses of its bytes.
    pub fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// Copies the tensor as it is now.
    ///
    /// # Errors
    /// Returns the library's reason.
    pub fn copy(&self) -> Result<Tensor, Refusal> {
        let (mut allocator, mut raw) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the sequence is alive and has one element; the results may be written, and this owns the element's handle.
        unsafe {
            call!(self.api, GetAllocatorWithDefaultOptions(&mut allocator))?;
            call!(self.api, GetValue(self.sequence.raw(), 0, allocator, &mut raw))?;
            let element = Value::owned(self.api, raw).ok_or("cannot be read")?;
            ProgramValues(self.api).copy(element.raw())
        }
    }
}

/// The outputs of a run of this engine, for the program.
pub struct ProgramOutputs {
    api: Api,
    values: Vec<Option<Value>>,
}

impl ProgramOutputs {
    /// Takes the outputs of a run. Returns `None` if another engine made them.
    pub fn take(library: &Library, outputs: Box<dyn DeviceTensors>) -> Option<Self> {
        let outputs: Box<dyn Any> = outputs;
        let Values(values) = *outputs.downcast::<Values>().ok()?;
        Some(Self { api: *library.api(), values: values.into_iter().map(Some).collect() })
    }

    /// Hands an output over: the program owns the value that is returned. Returns `None` if it was taken before.
    pub fn hand_over(&mut self, slot: usize) -> Option<*mut OrtValue> {
        Some(self.values.get_mut(slot)?.take()?.into_raw())
    }

    /// Copies an output into a tensor that the program has made for it.
    ///
    /// # Errors
    /// Returns an error unless both are tensors of the same type and shape in the main memory.
    ///
    /// # Safety
    /// The target is an alive value, and nothing else uses it meanwhile.
    pub unsafe fn write_into(&self, slot: usize, target: *mut OrtValue) -> Result<(), Refusal> {
        let source = self.values.get(slot).and_then(Option::as_ref).ok_or("there is no such output")?;
        // SAFETY: guaranteed by the caller; the source is owned here.
        let (from, to) = unsafe { (described(self.api, source.raw()), described(self.api, target)) };
        let (Some(from), Some(to)) = (from, to) else { return Err("it is not a tensor".into()) };
        if (from.dtype, &from.shape) != (to.dtype, &to.shape) {
            return Err(format!(
                "it is {} {:?}, and the program has made room for {} {:?}",
                from.dtype, from.shape, to.dtype, to.shape
            )
            .into());
        }
        let bytes = from.dtype.bytes_of(from.shape.iter().product()).ok_or("its elements have no fixed size")?;
        // SAFETY: both are tensors of this type and shape, so their memory has this many bytes. They do not overlap,
        // because the run has made the source.
        unsafe {
            if !is_in_main_memory(self.api, source.raw()) || !is_in_main_memory(self.api, target) {
                return Err("it is in the memory of a device".into());
            }
            let (mut source_data, mut target_data) = (ptr::null_mut(), ptr::null_mut());
            call!(self.api, GetTensorMutableData(source.raw(), &mut source_data))?;
            call!(self.api, GetTensorMutableData(target, &mut target_data))?;
            if bytes > 0 {
                let source = slice::from_raw_parts(source_data.cast::<u8>(), bytes);
                slice::from_raw_parts_mut(target_data.cast::<u8>(), bytes).copy_from_slice(source);
            }
        }
        Ok(())
    }
}
