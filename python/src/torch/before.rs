//! An operator that is about to be executed.

use opscope_torch::{Changes, Execution};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};

use super::autograd::Around;
use super::looking::{Before, place, slots_of};
use super::operators::Facts;
use super::tensors::{Found, Want, taken_by, tensors_of};
use super::{State, TorchTap, changing, debugging};

/// Shows an operator that is about to be executed to the debugger, and copies what it takes, as far as that is wanted.
pub fn operator<'py>(
    tap: &TorchTap,
    facts: &Facts,
    (args, kwargs): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
    around: &Around<'py>,
) -> PyResult<Before<'py>> {
    let mut state = tap.lock();
    let changes = show(tap, &mut state, facts, (args, kwargs), around)?;
    let arguments = changing::inputs(&tap.reader, &mut state, facts, (args, kwargs), &changes);
    let arguments = arguments.unwrap_or_else(|error| {
        changing::failed(facts, &error);
        None
    });
    let mut before = match state.dump.as_ref().is_some_and(|dump| dump.takes_inputs) && state.program.is_wanted() {
        true => Before::copy(&tap.reader, taken_by(&tap.reader, args, kwargs)),
        false => Before::default(),
    };
    (before.arguments, before.outputs) = (arguments, changes.outputs);
    Ok(before)
}

/// Shows an operator that is about to be executed, if the debugger wants it. Returns what it changes.
fn show<'py>(
    tap: &TorchTap,
    state: &mut State,
    facts: &Facts,
    (args, kwargs): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
    around: &Around<'py>,
) -> PyResult<Changes> {
    if !state.debug.as_ref().is_some_and(|debug| debug.is_attached()) || !facts.gives_tensors() {
        return Ok(Changes::default());
    }
    let place = place(state, args.py(), facts, around);
    if !state.program.wants_before(&place) {
        return Ok(Changes::default());
    }
    let taken = taken_by(&tap.reader, args, kwargs);
    let mut written = Vec::new();
    for argument in facts.written(args, kwargs) {
        tensors_of(&tap.reader, &argument, &mut |tensor| written.push(tensor.clone()));
    }
    let found: Vec<Found<'_>> = taken.iter().map(|tensor| tap.reader.read(tensor, Want::All)).collect();
    let name = |tensor| state.modules.parameter(tensor).map(|(name, _)| name);
    let inputs: Vec<_> = taken.iter().zip(&found).map(|(tensor, found)| found.taken(name(tensor))).collect();
    let written = slots_of(&written, &taken);
    let execution = Execution { place: &place, inputs: &inputs, written: &written, outputs: &[] };
    state.program.before(&execution).map_err(|stopped| debugging::aborted(&stopped))
}
