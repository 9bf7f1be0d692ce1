//! Runs that call a callback of the program when they have ended.

use std::ffi::c_void;
use std::ptr;
use std::sync::Arc;
use std::thread;

use opscope_debug::Debugger;
use opscope_engine_onnxruntime::ProgramValues;
use opscope_tensor::Tensor;
use ort_sys::{OrtStatusPtr, OrtValue, RunAsyncCallbackFn};

use super::{Arguments, Look, capture, debug, fit, observed, with_arguments};
use crate::calls::beside;
use crate::debug_server;
use crate::observed::Observed;

/// A run that has not ended.
struct Pending {
    observed: Arc<Observed>,
    values: ProgramValues,
    arguments: Arguments,
    look: Option<Look>,
    callback: Callback,
    user: *mut c_void,
}

type Callback = unsafe extern "C" fn(*mut c_void, *mut *mut OrtValue, usize, OrtStatusPtr);

// SAFETY: the program keeps what it passes until its callback is called, which the library does on any thread.
unsafe impl Send for Pending {}

with_arguments!(run_async<SLOT>(arguments, callback: RunAsyncCallbackFn, user: *mut c_void) {
    // SAFETY: the program calls the library's function.
    let plain = || unsafe { arguments.run_async::<SLOT>(callback, user) };
    let Some(observed) = observed(arguments.session) else { return plain() };
    let Some(callback) = callback.filter(|_| !arguments.is_incomplete()) else { return plain() };
    let values = ProgramValues::of(observed.library());
    // SAFETY: the program passes lists of these lengths, with valid texts and values, and keeps them until the callback.
    unsafe {
        let fits = arguments.output_slots(&observed).is_some();
        if fits {
            capture(&observed, || arguments.input_tensors(&observed, values));
        }
        // A session without threads of its own has no such runs.
        let debugger = debug_server::attached().filter(|_| fits && observed.has_threads());
        let look = Look::begin(&observed, &arguments, values);
        if debugger.is_none() && look.is_none() {
            return plain();
        }
        let pending = Pending { observed, values, arguments, look, callback, user };
        match debugger.and_then(|debugger| Some((debugger, pending.inputs()?))) {
            Some((debugger, inputs)) => pending.debug::<SLOT>(debugger, inputs),
            None => pending.submit::<SLOT>(),
        }
    }
});

impl Pending {
    /// # Safety
    /// The program's arguments are valid.
    unsafe fn inputs(&self) -> Option<Vec<Tensor>> {
        // SAFETY: guaranteed by the caller.
        let inputs = || unsafe { self.arguments.input_tensors(&self.observed, self.values) };
        beside("a run with a debugger", || fit(&self.observed, inputs())).flatten()
    }

    /// Lets the library run, and looks at the outputs before the program is notified.
    ///
    /// # Safety
    /// The program's arguments are valid.
    unsafe fn submit<const SLOT: usize>(self) -> OrtStatusPtr {
        let arguments = self.arguments;
        let pending = Box::into_raw(Box::new(self));
        // SAFETY: guaranteed by the caller; the callback takes the pointer. An error means that it is never called.
        unsafe {
            let status = arguments.run_async::<SLOT>(Some(ended::<SLOT>), pending.cast());
            if !status.0.is_null() {
                drop(Box::from_raw(pending));
            }
            status
        }
    }

    /// Runs with the debugger, on a thread of its own: a run that is stopped does not stop the program's thread.
    ///
    /// # Safety
    /// The program's arguments are valid.
    unsafe fn debug<const SLOT: usize>(self, debugger: &'static Debugger, inputs: Vec<Tensor>) -> OrtStatusPtr {
        let values = self.values;
        let work = move || {
            let pending = self;
            // SAFETY: the program keeps what it has passed until its callback is called.
            unsafe {
                let Pending { observed, arguments, .. } = &pending;
                let run = || debug(observed, arguments, pending.values, debugger, &inputs);
                match beside("a run with a debugger", run).flatten() {
                    Some(status) => pending.end::<SLOT>(status),
                    None => {
                        let (callback, user) = (pending.callback, pending.user);
                        let status = pending.submit::<SLOT>();
                        if !status.0.is_null() {
                            callback(user, ptr::null_mut(), 0, status);
                        }
                    }
                }
            }
        };
        match thread::Builder::new().name("opscope-run".to_owned()).spawn(work) {
            Ok(_) => OrtStatusPtr(ptr::null_mut()),
            Err(error) => values.error(&format!("no thread can be started for a run with a debugger: {error}")),
        }
    }

    /// Notifies the program that the run has ended.
    ///
    /// # Safety
    /// The program's arguments are valid, and a status without an error is that of a run that has made the outputs.
    unsafe fn end<const SLOT: usize>(self, status: OrtStatusPtr) {
        let Self { observed, values, arguments, look, callback, user } = self;
        // SAFETY: guaranteed by the caller.
        unsafe {
            let status = match look {
                Some(look) if status.0.is_null() => look.end::<SLOT>(&observed, &arguments, values),
                _ => status,
            };
            // As the library does.
            match status.0.is_null() {
                true => callback(user, arguments.outputs, arguments.output_count, status),
                false => callback(user, ptr::null_mut(), 0, status),
            }
        }
    }
}

/// What the library calls when the run has ended.
unsafe extern "C" fn ended<const SLOT: usize>(
    user: *mut c_void,
    _outputs: *mut *mut OrtValue,
    _count: usize,
    status: OrtStatusPtr,
) {
    // SAFETY: `submit` has passed this pointer, and the library calls this once.
    unsafe { Box::from_raw(user.cast::<Pending>()).end::<SLOT>(status) };
}
