//! What a program that uses the library itself has made with it: options, values, statuses. An engine beside the
//! program's sessions takes its inputs from there, and leaves its outputs there.

use std::any::Any;
use std::ptr;
use std::slice;
use std::sync::Arc;

use opscope_model::DeviceTensors;
use opscope_tensor::{Tensor, TensorView};
use ort_sys::{OrtSessionOptions, OrtStatusPtr, OrtValue};

use crate::api::{Api, SessionOptions, Value, Values, call, described, is_in_main_memory, view};
use crate::library::Library;
use crate::refusal::Refusal;

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
    /// Returns what it is instead, if it is no tensor of numbers in the main memory.
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
    /// Returns what it is instead, if it is no tensor in the main memory.
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

    /// Makes a status of an error, which the program releases.
    pub fn error(self, message: &str) -> OrtStatusPtr {
        self.0.error(message)
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
