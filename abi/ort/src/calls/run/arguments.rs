//! What the program passes to `Run`, and to `RunAsync` before its callback.

use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_void};
use std::slice;

use opscope_engine_onnxruntime::ProgramValues;
use opscope_tensor::Tensor;
use ort_sys::{OrtRunOptions, OrtSession, OrtStatusPtr, OrtValue, RunAsyncCallbackFn};

use super::{Unfit, share_memory};
use crate::calls::own;
use crate::observed::Observed;

/// The arguments, as the library has them.
#[derive(Clone, Copy)]
pub(super) struct Arguments {
    pub session: *mut OrtSession,
    pub options: *const OrtRunOptions,
    pub input_names: *const *const c_char,
    pub inputs: *const *const OrtValue,
    pub input_count: usize,
    pub output_names: *const *const c_char,
    pub output_count: usize,
    pub outputs: *mut *mut OrtValue,
}

/// Defines a function of the library whose first arguments are these. Its body has them as one value.
macro_rules! with_arguments {
    ($name:ident<$slot:ident>($arguments:ident $(, $more:ident: $type:ty)* $(,)?) $body:block) => {
        #[allow(clippy::too_many_arguments, reason = "the library's function has as many")]
        pub unsafe extern "system" fn $name<const $slot: usize>(
            session: *mut ort_sys::OrtSession,
            options: *const ort_sys::OrtRunOptions,
            input_names: *const *const std::ffi::c_char,
            inputs: *const *const ort_sys::OrtValue,
            input_count: usize,
            output_names: *const *const std::ffi::c_char,
            output_count: usize,
            outputs: *mut *mut ort_sys::OrtValue,
            $($more: $type),*
        ) -> ort_sys::OrtStatusPtr {
            let $arguments = $crate::calls::run::arguments::Arguments {
                session,
                options,
                input_names,
                inputs,
                input_count,
                output_names,
                output_count,
                outputs,
            };
            $body
        }
    };
}
pub(super) use with_arguments;

/// Passes the arguments to a function of the library.
macro_rules! pass {
    ($slot:expr, $function:ident($arguments:expr $(, $more:expr)*)) => {{
        let Arguments { session, options, input_names, inputs, input_count, output_names, output_count, outputs } =
            $arguments;
        own!(
            $slot,
            $function(
                session, options, input_names, inputs, input_count, output_names, output_count, outputs $(, $more)*
            )
        )
    }};
}

impl Arguments {
    /// Calls the library's `Run`.
    ///
    /// # Safety
    /// The program has passed the arguments to a function of this library.
    pub unsafe fn run<const SLOT: usize>(self) -> OrtStatusPtr {
        // SAFETY: guaranteed by the caller.
        unsafe { pass!(SLOT, Run(self)) }
    }

    /// Calls the library's `RunAsync`.
    ///
    /// # Safety
    /// As [`run`](Self::run), and the callback takes this pointer.
    pub unsafe fn run_async<const SLOT: usize>(self, callback: RunAsyncCallbackFn, user: *mut c_void) -> OrtStatusPtr {
        // SAFETY: guaranteed by the caller.
        unsafe { pass!(SLOT, RunAsync(self, callback, user)) }
    }

    /// Returns whether a list is missing, which the library refuses.
    pub fn is_incomplete(&self) -> bool {
        let inputs = self.input_count > 0 && (self.input_names.is_null() || self.inputs.is_null());
        inputs || self.output_count > 0 && (self.output_names.is_null() || self.outputs.is_null())
    }

    /// # Safety
    /// The lists have these lengths, with valid texts and values.
    pub unsafe fn outputs(&self) -> &[*mut OrtValue] {
        if self.output_count == 0 {
            return &[];
        }
        // SAFETY: guaranteed by the caller.
        unsafe { slice::from_raw_parts(self.outputs, self.output_count) }
    }

    /// Returns whether the run writes an output into an input.
    ///
    /// # Safety
    /// The lists have these lengths, with valid texts and values.
    pub unsafe fn change_inputs(&self, values: ProgramValues) -> bool {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let inputs = (0..self.input_count).filter_map(|slot| values.place(*self.inputs.add(slot)));
            share_memory(inputs, self.outputs().iter().filter_map(|output| values.place(*output)))
        }
    }

    /// Copies the inputs, in the order of the model.
    ///
    /// # Safety
    /// The lists have these lengths, with valid texts and values.
    pub unsafe fn input_tensors(&self, observed: &Observed, values: ProgramValues) -> Result<Vec<Tensor>, Unfit> {
        // SAFETY: guaranteed by the caller.
        let names = unsafe { texts(self.input_names, self.input_count) }.ok_or(Unfit::Names)?;
        // SAFETY: guaranteed by the caller. The program does not change inputs while it runs a session.
        Unfit::in_order(observed, &names, |slot| unsafe { values.copy(*self.inputs.add(slot)) })
    }

    /// Returns the output of the model that each name stands for. `None` if one stands for none, or two for the same.
    ///
    /// # Safety
    /// The list has this length, with valid texts.
    pub unsafe fn output_slots(&self, observed: &Observed) -> Option<Vec<usize>> {
        // SAFETY: guaranteed by the caller.
        let names = unsafe { texts(self.output_names, self.output_count) }?;
        let known = observed.output_names();
        let slots: Vec<usize> =
            names.iter().map(|name| known.iter().position(|known| known == name)).collect::<Option<_>>()?;
        (slots.iter().collect::<HashSet<_>>().len() == slots.len()).then_some(slots)
    }
}

/// Returns the texts of a list. `None` if one is missing, or not UTF-8.
///
/// # Safety
/// The list has this length, and its texts end with NUL.
unsafe fn texts<'a>(list: *const *const c_char, count: usize) -> Option<Vec<&'a str>> {
    // SAFETY: guaranteed by the caller.
    let text = |index: usize| unsafe {
        let text = *list.add(index);
        (!text.is_null()).then(|| CStr::from_ptr(text))?.to_str().ok()
    };
    (0..count).map(text).collect()
}
