//! Runs of the program's sessions, in the three ways that the library has.

mod arguments;
mod asynchronous;
mod bound;

use std::fmt;
use std::ops::Range;
use std::ptr;
use std::sync::{Arc, Once};

use opscope_debug::Debugger;
use opscope_engine_onnxruntime::{ProgramOutputs, ProgramValues, Refusal};
use opscope_tensor::Tensor;
use ort_sys::{OrtSession, OrtStatusPtr, OrtValue};

use self::arguments::{Arguments, with_arguments};
pub use self::asynchronous::run_async;
pub use self::bound::{bind_input, clear_bound_inputs, create_binding, release_binding, run_with_binding};
use super::{beside, own};
use crate::debug_server;
use crate::messages::say;
use crate::observed::{Observed, has_non_finite};
use crate::sessions::{self, Known};
use crate::variables::wanted;

with_arguments!(run<SLOT>(arguments) {
    // SAFETY: the program calls the library's function.
    let plain = || unsafe { arguments.run::<SLOT>() };
    let Some(observed) = observed(arguments.session) else { return plain() };
    if arguments.is_incomplete() {
        return plain();
    }
    let values = ProgramValues::of(observed.library());
    // SAFETY: the program passes lists of these lengths, with valid texts and values.
    unsafe {
        if arguments.output_slots(&observed).is_some() {
            capture(&observed, || arguments.input_tensors(&observed, values));
        }
        let look = Look::begin(&observed, &arguments, values);
        let debugged = debug_server::attached()
            .and_then(|debugger| {
                beside("a run with a debugger", || {
                    let inputs = fit(&observed, arguments.input_tensors(&observed, values))?;
                    debug(&observed, &arguments, values, debugger, &inputs)
                })
            })
            .flatten();
        let status = debugged.unwrap_or_else(plain);
        match look {
            Some(look) if status.0.is_null() => look.end::<SLOT>(&observed, &arguments, values),
            _ => status,
        }
    }
});

fn observed(session: *const OrtSession) -> Option<Arc<Observed>> {
    static UNKNOWN: Once = Once::new();
    match sessions::find(session.addr()) {
        Some(Known::Observed(observed)) => Some(observed),
        Some(Known::LeftAlone) => None,
        None => {
            UNKNOWN.call_once(|| {
                say("a session that was made neither from a file nor from an array of bytes is not observed");
            });
            None
        }
    }
}

/// Why inputs are not taken.
#[derive(Debug)]
enum Unfit {
    /// They are not those of the model.
    Names,
    /// One is not a tensor of numbers in the main memory.
    Value(String),
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Names => f.write_str("its inputs are not those of the model"),
            Self::Value(text) => f.write_str(text),
        }
    }
}

impl Unfit {
    /// Returns the inputs in the order of the model, of those with these names.
    fn in_order(
        observed: &Observed,
        names: &[&str],
        copy: impl Fn(usize) -> Result<Tensor, Refusal>,
    ) -> Result<Vec<Tensor>, Self> {
        let wanted = observed.input_names();
        if names.len() != wanted.len() {
            return Err(Self::Names);
        }
        let copy = |name: &str| {
            let slot = names.iter().position(|given| *given == name).ok_or(Self::Names)?;
            copy(slot).map_err(|reason| Self::Value(format!("input '{name}' {reason}")))
        };
        wanted.into_iter().map(copy).collect()
    }
}

/// Makes the profile and the dump of a session, on the inputs of its first run, and begins what commands ask for, on the
/// inputs of this one.
fn capture(observed: &Arc<Observed>, inputs: impl FnOnce() -> Result<Vec<Tensor>, Unfit>) {
    if !observed.has_to_capture() && debug_server::requested().is_none() {
        return;
    }
    beside("a profile or a dump", || match inputs() {
        Ok(inputs) => {
            observed.capture(&inputs);
            observed.capture_requested(&inputs);
        }
        // The library itself reports names that it refuses.
        Err(Unfit::Names) => {}
        Err(unfit @ Unfit::Value(_)) => observed.say_once(format_args!("nothing is captured: {unfit}")),
    });
}

/// Returns the inputs for a run with a debugger. If they do not allow such a run, returns `None`, and writes a line
/// about values that cannot be copied.
fn fit(observed: &Observed, inputs: Result<Vec<Tensor>, Unfit>) -> Option<Vec<Tensor>> {
    match inputs {
        Ok(inputs) => Some(inputs),
        Err(Unfit::Names) => None,
        Err(unfit) => {
            observed.say_once(format_args!("its runs cannot be debugged: {unfit}"));
            None
        }
    }
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
    inputs: &[Tensor],
) -> Option<OrtStatusPtr> {
    // SAFETY: guaranteed by the caller.
    let slots = unsafe { arguments.output_slots(observed)? };
    let outputs = match observed.debug(inputs, debugger)? {
        Ok(outputs) => outputs,
        Err(error) => return Some(values.error(&error.to_string())),
    };
    let mut outputs = ProgramOutputs::take(observed.library(), outputs)?;
    // First into the program's own tensors, because that can fail.
    // SAFETY: guaranteed by the caller.
    let targets: Vec<_> = unsafe { arguments.outputs() }.iter().copied().enumerate().collect();
    for (index, target) in targets.iter().filter(|(_, target)| !target.is_null()) {
        // SAFETY: the program has made the value for the output of this run.
        if let Err(refusal) = unsafe { write(observed, &outputs, slots[*index], *target) } {
            return Some(values.error(refusal.reason()));
        }
    }
    for (index, _) in targets.iter().filter(|(_, target)| target.is_null()) {
        let value = outputs.hand_over(slots[*index])?;
        // SAFETY: the list has this length.
        unsafe { *arguments.outputs.add(*index) = value };
    }
    Some(OrtStatusPtr(ptr::null_mut()))
}

/// Copies an output of a run with a debugger into a tensor of the program.
///
/// # Safety
/// The target is an alive value, and nothing else uses it meanwhile.
unsafe fn write(
    observed: &Observed,
    outputs: &ProgramOutputs,
    slot: usize,
    target: *mut OrtValue,
) -> Result<(), Refusal> {
    // SAFETY: guaranteed by the caller.
    let written = unsafe { outputs.write_into(slot, target) };
    written.map_err(|reason| {
        Refusal::from(format!("output '{}' cannot be written: {reason}", observed.output_names()[slot]))
    })
}

/// A look at the outputs of a run for NaN and infinity.
struct Look {
    /// Whether the run makes each output. Those are released if it becomes an error.
    made: Vec<bool>,
    inputs: KeptInputs,
}

/// The inputs of a run as they were before it, if the run changes them.
type KeptInputs = Option<Result<Vec<Tensor>, Unfit>>;

impl Look {
    /// Returns `None` if the environment asks for no such look.
    ///
    /// # Safety
    /// The program's arguments are valid.
    unsafe fn begin(observed: &Observed, arguments: &Arguments, values: ProgramValues) -> Option<Self> {
        // SAFETY: guaranteed by the caller.
        let begin = || unsafe {
            let made = arguments.outputs().iter().map(|output| output.is_null()).collect();
            let inputs = arguments.change_inputs(values).then(|| arguments.input_tensors(observed, values));
            Self { made, inputs }
        };
        wanted().non_finite.then(|| beside("a look at outputs", begin)).flatten()
    }

    /// Returns the status of a run that succeeded: an error if an output has NaN or infinity.
    ///
    /// # Safety
    /// The program's arguments are valid.
    unsafe fn end<const SLOT: usize>(
        self,
        observed: &Observed,
        arguments: &Arguments,
        values: ProgramValues,
    ) -> OrtStatusPtr {
        let Self { made, inputs } = self;
        // SAFETY: guaranteed by the caller. The outputs are those of a run that succeeded.
        unsafe {
            let inputs = || inputs.unwrap_or_else(|| arguments.input_tensors(observed, values));
            let Some(sentence) = non_finite(observed, values, arguments.outputs(), inputs) else {
                return OrtStatusPtr(ptr::null_mut());
            };
            for (slot, is_made) in made.into_iter().enumerate() {
                if is_made {
                    let output = ptr::replace(arguments.outputs.add(slot), ptr::null_mut());
                    own!(SLOT, ReleaseValue(output));
                }
            }
            values.error(&sentence)
        }
    }
}

/// Returns the sentence about the outputs if they have NaN or infinity.
///
/// # Safety
/// The outputs are null, or values that are alive.
unsafe fn non_finite(
    observed: &Observed,
    values: ProgramValues,
    outputs: &[*mut OrtValue],
    inputs: impl FnOnce() -> Result<Vec<Tensor>, Unfit>,
) -> Option<String> {
    // Only tensors in the main memory are searched.
    // SAFETY: guaranteed by the caller.
    let is_non_finite = |output: &*mut OrtValue| unsafe { values.with_view(*output, has_non_finite) }.unwrap_or(false);
    let look = || {
        outputs.iter().any(is_non_finite).then(|| match inputs() {
            Ok(inputs) => observed.first_non_finite(&inputs),
            Err(unfit) => format!("the operator is not known: {unfit}"),
        })
    };
    let culprit = beside("a look at outputs", look).flatten()?;
    Some(format!("an output is NaN or infinite: {culprit}"))
}

/// Returns whether an input has memory that an output has, too.
fn share_memory(
    mut inputs: impl Iterator<Item = Range<usize>>,
    outputs: impl Iterator<Item = Range<usize>> + Clone,
) -> bool {
    let overlap = |input: &Range<usize>, output: Range<usize>| input.start < output.end && output.start < input.end;
    inputs.any(|input| outputs.clone().any(|output| overlap(&input, output)))
}
