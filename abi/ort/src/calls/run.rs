//! Runs of the program's sessions.

use std::collections::HashSet;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;
use std::slice;
use std::sync::Once;

use opscope_debug::Debugger;
use opscope_engine_onnxruntime::{ProgramOutputs, ProgramValues};
use opscope_tensor::Tensor;
use ort_sys::{OrtIoBinding, OrtRunOptions, OrtSession, OrtStatusPtr, OrtValue, RunAsyncCallbackFn};

use super::{beside, own};
use crate::debug_server;
use crate::messages::say;
use crate::observed::{Observed, has_non_finite};
use crate::sessions::{self, Known};
use crate::variables::wanted;

#[allow(clippy::too_many_arguments, reason = "the library's function has as many")]
pub unsafe extern "system" fn run<const SLOT: usize>(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    input_names: *const *const c_char,
    inputs: *const *const OrtValue,
    input_count: usize,
    output_names: *const *const c_char,
    output_count: usize,
    outputs: *mut *mut OrtValue,
) -> OrtStatusPtr {
    let plain = || {
        // SAFETY: the program calls the library's function.
        unsafe {
            own!(SLOT, Run(session, options, input_names, inputs, input_count, output_names, output_count, outputs))
        }
    };
    let Some(observed) = observed(session) else { return plain() };
    let arguments = Arguments { input_names, inputs, input_count, output_names, output_count, outputs };
    if arguments.is_incomplete() {
        return plain();
    }
    let values = ProgramValues::of(observed.library());
    // SAFETY: the program passes lists of these lengths, with valid texts and values.
    unsafe {
        if observed.has_to_capture() && arguments.output_slots(&observed).is_some() {
            beside("a profile or a dump", || match arguments.input_tensors(&observed, values) {
                Ok(inputs) => observed.capture(&inputs),
                // What the library refuses needs no line.
                Err(Unfit::Names) => {}
                Err(unfit @ Unfit::Value(_)) => observed.say_once(format_args!("nothing is captured: {unfit}")),
            });
        }
        let is_looked_at = wanted().non_finite;
        // The outputs that the run makes are released if it becomes an error.
        let made: Vec<bool> = match is_looked_at {
            true => arguments.outputs().iter().map(|output| output.is_null()).collect(),
            false => Vec::new(),
        };
        let debugged = debug_server::attached()
            .and_then(|debugger| beside("a run with a debugger", || debug(&observed, &arguments, values, debugger)))
            .flatten();
        let status = debugged.unwrap_or_else(plain);
        if !status.0.is_null() || !is_looked_at {
            return status;
        }
        let found = beside("a look at outputs", || non_finite(&observed, &arguments, values)).flatten();
        let Some(sentence) = found else { return status };
        for (slot, is_made) in made.into_iter().enumerate() {
            if is_made {
                let output = ptr::replace(outputs.add(slot), ptr::null_mut());
                own!(SLOT, ReleaseValue(output));
            }
        }
        values.error(&sentence)
    }
}

#[allow(clippy::too_many_arguments, reason = "the library's function has as many")]
pub unsafe extern "system" fn run_async<const SLOT: usize>(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    input_names: *const *const c_char,
    inputs: *const *const OrtValue,
    input_count: usize,
    output_names: *const *const c_char,
    output_count: usize,
    outputs: *mut *mut OrtValue,
    callback: RunAsyncCallbackFn,
    user: *mut c_void,
) -> OrtStatusPtr {
    if let Some(observed) = observed(session) {
        observed.say_once("its runs by RunAsync are left alone");
    }
    // SAFETY: the program calls the library's function.
    unsafe {
        own!(
            SLOT,
            RunAsync(
                session,
                options,
                input_names,
                inputs,
                input_count,
                output_names,
                output_count,
                outputs,
                callback,
                user
            )
        )
    }
}

pub unsafe extern "system" fn run_with_binding<const SLOT: usize>(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    binding: *const OrtIoBinding,
) -> OrtStatusPtr {
    if let Some(observed) = observed(session) {
        observed.say_once("its runs by RunWithBinding are left alone");
    }
    // SAFETY: the program calls the library's function.
    unsafe { own!(SLOT, RunWithBinding(session, options, binding)) }
}

fn observed(session: *const OrtSession) -> Option<std::sync::Arc<Observed>> {
    static UNKNOWN: Once = Once::new();
    match sessions::find(session.addr()) {
        Some(Known::Observed(observed)) => Some(observed),
        Some(Known::LeftAlone) => None,
        None => {
            UNKNOWN.call_once(|| {
                say("a session that was made neither from a file nor from an array of bytes is left alone");
            });
            None
        }
    }
}

/// What the program passes to a run.
struct Arguments {
    input_names: *const *const c_char,
    inputs: *const *const OrtValue,
    input_count: usize,
    output_names: *const *const c_char,
    output_count: usize,
    outputs: *mut *mut OrtValue,
}

/// Why inputs are not taken.
#[derive(Debug)]
enum Unfit {
    /// They are not those of the model.
    Names,
    /// One is no tensor of numbers in the main memory.
    Value(String),
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Names => f.write_str("its inputs are not those of the model"),
            Self::Value(text) => f.write_str(text),
        }
    }
}

impl Arguments {
    /// Returns whether a list is missing, which the library refuses.
    fn is_incomplete(&self) -> bool {
        let inputs = self.input_count > 0 && (self.input_names.is_null() || self.inputs.is_null());
        inputs || self.output_count > 0 && (self.output_names.is_null() || self.outputs.is_null())
    }

    /// # Safety
    /// The lists have these lengths, with valid texts and values.
    unsafe fn outputs(&self) -> &[*mut OrtValue] {
        if self.output_count == 0 {
            return &[];
        }
        // SAFETY: guaranteed by the caller.
        unsafe { slice::from_raw_parts(self.outputs, self.output_count) }
    }

    /// Copies the inputs, in the order of the model.
    ///
    /// # Safety
    /// The lists have these lengths, with valid texts and values.
    unsafe fn input_tensors(&self, observed: &Observed, values: ProgramValues) -> Result<Vec<Tensor>, Unfit> {
        // SAFETY: guaranteed by the caller.
        let names = unsafe { texts(self.input_names, self.input_count) }.ok_or(Unfit::Names)?;
        let wanted = observed.input_names();
        if names.len() != wanted.len() {
            return Err(Unfit::Names);
        }
        let copy = |name: &str| {
            let slot = names.iter().position(|given| *given == name).ok_or(Unfit::Names)?;
            // SAFETY: guaranteed by the caller. The program does not change inputs while it runs a session.
            let copied = unsafe { values.copy(*self.inputs.add(slot)) };
            copied.map_err(|reason| Unfit::Value(format!("input '{name}' {reason}")))
        };
        wanted.into_iter().map(copy).collect()
    }

    /// Returns the output of the model that each name stands for. `None` if one stands for none, or two for the same.
    ///
    /// # Safety
    /// The list has this length, with valid texts.
    unsafe fn output_slots(&self, observed: &Observed) -> Option<Vec<usize>> {
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

/// Runs the session with taps in place of the program's own, so that the debugger can stop it. Returns `None` if it
/// cannot, and the program's own has to run.
///
/// # Safety
/// The program's arguments are valid.
unsafe fn debug(
    observed: &Observed,
    arguments: &Arguments,
    values: ProgramValues,
    debugger: &Debugger,
) -> Option<OrtStatusPtr> {
    // SAFETY: guaranteed by the caller.
    let (slots, inputs) = unsafe { (arguments.output_slots(observed)?, arguments.input_tensors(observed, values)) };
    let inputs = match inputs {
        Ok(inputs) => inputs,
        Err(Unfit::Names) => return None,
        Err(unfit) => {
            observed.say_once(format_args!("a debugger does not see its runs: {unfit}"));
            return None;
        }
    };
    let outputs = match observed.debug(&inputs, debugger)? {
        Ok(outputs) => outputs,
        Err(error) => return Some(values.error(&error)),
    };
    let mut outputs = ProgramOutputs::take(observed.library(), outputs)?;
    // First into the program's own tensors, because that can fail.
    // SAFETY: guaranteed by the caller.
    let targets: Vec<_> = unsafe { arguments.outputs() }.iter().copied().enumerate().collect();
    for (index, target) in targets.iter().filter(|(_, target)| !target.is_null()) {
        // SAFETY: the program has made the value for the output of this run.
        if let Err(reason) = unsafe { outputs.write_into(slots[*index], *target) } {
            let name = observed.output_names()[slots[*index]];
            return Some(values.error(&format!("output '{name}' cannot be written: {reason}")));
        }
    }
    for (index, _) in targets.iter().filter(|(_, target)| target.is_null()) {
        let value = outputs.hand_over(slots[*index])?;
        // SAFETY: the list has this length.
        unsafe { *arguments.outputs.add(*index) = value };
    }
    Some(OrtStatusPtr(ptr::null_mut()))
}

/// Returns the sentence about the outputs if they have NaN or infinity.
///
/// # Safety
/// The program's arguments are valid, and the outputs are those of a run that succeeded.
unsafe fn non_finite(observed: &Observed, arguments: &Arguments, values: ProgramValues) -> Option<String> {
    // SAFETY: guaranteed by the caller.
    let outputs = unsafe { arguments.outputs() };
    // What is no tensor in the main memory is not looked at.
    // SAFETY: guaranteed by the caller.
    let is_non_finite = |output: &*mut OrtValue| unsafe { values.with_view(*output, has_non_finite) }.unwrap_or(false);
    if !outputs.iter().any(is_non_finite) {
        return None;
    }
    // SAFETY: guaranteed by the caller.
    let culprit = match unsafe { arguments.input_tensors(observed, values) } {
        Ok(inputs) => observed.first_non_finite(&inputs),
        Err(unfit) => format!("the operator is not known: {unfit}"),
    };
    Some(format!("an output is NaN or infinite: {culprit}"))
}
