//! Runs whose inputs and outputs the program has bound before.

use std::ffi::{CStr, c_char};
use std::sync::Arc;

use opscope_engine_onnxruntime::{ProgramOutputs, ProgramValue, ProgramValues, Refusal};
use opscope_model::EngineError;
use opscope_tensor::Tensor;
use ort_sys::{OrtIoBinding, OrtRunOptions, OrtSession, OrtStatusPtr, OrtValue};

use super::{KeptInputs, Unfit, capture, fit, non_finite, observed, share_memory, write};
use crate::bindings::{self, Bound};
use crate::calls::{beside, own};
use crate::debug_server;
use crate::observed::Observed;
use crate::variables::wanted;

pub unsafe extern "system" fn create_binding<const SLOT: usize>(
    session: *mut OrtSession,
    binding: *mut *mut OrtIoBinding,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let status = unsafe { own!(SLOT, CreateIoBinding(session, binding)) };
    if status.0.is_null() && !binding.is_null() {
        // SAFETY: the library has just written it.
        let binding = unsafe { *binding };
        if let Some(observed) = observed(session) {
            bindings::add(binding.addr(), &observed);
        }
    }
    status
}

pub unsafe extern "system" fn release_binding<const SLOT: usize>(binding: *mut OrtIoBinding) {
    bindings::remove(binding.addr());
    // SAFETY: the program calls the library's function.
    unsafe { own!(SLOT, ReleaseIoBinding(binding)) }
}

pub unsafe extern "system" fn bind_input<const SLOT: usize>(
    binding: *mut OrtIoBinding,
    name: *const c_char,
    value: *const OrtValue,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let status = unsafe { own!(SLOT, BindInput(binding, name, value)) };
    let Some(bound) = bindings::find(binding.addr()).filter(|_| status.0.is_null()) else { return status };
    beside("a look at a bound input", || {
        let Some(observed) = bound.observed() else { return };
        // SAFETY: the library has accepted the text and the value.
        let (name, kept) = unsafe {
            (CStr::from_ptr(name).to_string_lossy().into_owned(), ProgramValues::of(observed.library()).keep(value))
        };
        bound.bind(name, kept);
    });
    status
}

pub unsafe extern "system" fn clear_bound_inputs<const SLOT: usize>(binding: *mut OrtIoBinding) {
    if let Some(bound) = bindings::find(binding.addr()) {
        bound.clear();
    }
    // SAFETY: the program calls the library's function.
    unsafe { own!(SLOT, ClearBoundInputs(binding)) }
}

pub unsafe extern "system" fn run_with_binding<const SLOT: usize>(
    session: *mut OrtSession,
    options: *const OrtRunOptions,
    binding: *const OrtIoBinding,
) -> OrtStatusPtr {
    // SAFETY: the program calls the library's function.
    let plain = || unsafe { own!(SLOT, RunWithBinding(session, options, binding)) };
    let (Some(observed), Some(bound)) = (observed(session), bindings::find(binding.addr())) else { return plain() };
    let values = ProgramValues::of(observed.library());
    let run = Run { observed, bound, values, binding };
    // SAFETY: the program passes a valid binding.
    unsafe {
        if run.has_outputs() {
            capture(&run.observed, || run.inputs());
        }
        let kept = wanted().non_finite.then(|| beside("a look at outputs", || run.kept_inputs())).flatten();
        let debugged = match beside("a run with a debugger", || run.debug()).flatten() {
            Some(Err(error)) => return values.error(&error.to_string()),
            Some(Ok(outputs)) => Some(outputs),
            None => None,
        };
        // This makes the outputs that are bound to a device.
        let status = plain();
        if !status.0.is_null() || debugged.is_none() && kept.is_none() {
            return status;
        }
        let look = || {
            let outputs = values.bound_outputs(binding)?;
            debugged.map_or(Ok(()), |debugged| run.write(&debugged, &outputs))?;
            let Some(kept) = kept else { return Ok(()) };
            let outputs: Vec<_> = outputs.iter().map(|(_, output)| output.raw()).collect();
            let inputs = || kept.unwrap_or_else(|| run.inputs());
            non_finite(&run.observed, values, &outputs, inputs).map_or(Ok(()), |sentence| Err(Refusal::from(sentence)))
        };
        match beside("a look at outputs", look) {
            Some(Err(refusal)) => values.error(refusal.reason()),
            _ => status,
        }
    }
}

/// A run of a session that is observed.
struct Run {
    observed: Arc<Observed>,
    bound: Arc<Bound>,
    values: ProgramValues,
    binding: *const OrtIoBinding,
}

impl Run {
    /// Copies the inputs, in the order of the model.
    fn inputs(&self) -> Result<Vec<Tensor>, Unfit> {
        self.bound.with_inputs(|inputs| {
            let (names, values): (Vec<&str>, Vec<_>) =
                inputs.iter().map(|(name, value)| (name.as_str(), value)).unzip();
            Unfit::in_order(&self.observed, &names, |slot| values[slot].as_ref().map_err(Clone::clone)?.copy())
        })
    }

    /// Returns whether the bound outputs are those of the model. The library refuses others.
    ///
    /// # Safety
    /// The binding is valid.
    unsafe fn has_outputs(&self) -> bool {
        let known = self.observed.output_names();
        let is_known = |(name, _): &(String, ProgramValue)| known.contains(&name.as_str());
        // SAFETY: guaranteed by the caller.
        unsafe { self.values.bound_outputs(self.binding) }.is_ok_and(|outputs| outputs.iter().all(is_known))
    }

    /// Copies the inputs if the run changes them.
    ///
    /// # Safety
    /// The binding is valid.
    unsafe fn kept_inputs(&self) -> KeptInputs {
        // SAFETY: guaranteed by the caller. An output that no run has made has no place.
        let outputs = unsafe { self.values.bound_outputs(self.binding) }.unwrap_or_default();
        let places = |outputs: &[(String, ProgramValue)]| {
            // SAFETY: the outputs are owned here.
            outputs.iter().filter_map(|(_, output)| unsafe { self.values.place(output.raw()) }).collect::<Vec<_>>()
        };
        let outputs = places(&outputs);
        let changes = self.bound.with_inputs(|inputs| {
            let inputs = inputs.values().filter_map(|input| Some(input.as_ref().ok()?.place()));
            share_memory(inputs, outputs.iter().cloned())
        });
        changes.then(|| self.inputs())
    }

    /// Runs the session with taps, so that the debugger can stop it. Returns `None` if no debugger is attached, or it cannot.
    fn debug(&self) -> Option<Result<ProgramOutputs, EngineError>> {
        let debugger = debug_server::attached()?;
        let inputs = fit(&self.observed, self.inputs())?;
        match self.observed.debug(&inputs, debugger)? {
            Ok(outputs) => ProgramOutputs::take(self.observed.library(), outputs).map(Ok),
            Err(error) => Some(Err(error)),
        }
    }

    /// Copies the outputs of the run with a debugger into those that the program has bound.
    ///
    /// # Safety
    /// Nothing else uses the bound outputs meanwhile.
    unsafe fn write(&self, debugged: &ProgramOutputs, outputs: &[(String, ProgramValue)]) -> Result<(), Refusal> {
        let names = self.observed.output_names();
        for (name, output) in outputs {
            // The library refuses other names.
            let Some(slot) = names.iter().position(|known| known == name) else { continue };
            // SAFETY: guaranteed by the caller; the value is alive.
            unsafe { write(&self.observed, debugged, slot, output.raw()) }?;
        }
        Ok(())
    }
}
