//! When autograd computes the gradients of modules: from the first gradient of an output of a module's call to the last
//! of its inputs.

use std::collections::HashSet;
use std::sync::Arc;

use opscope::model::Iteration;
use opscope_torch::{Phase, Place};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::tensors::tensors_in;
use super::threads::{Call, Hooked, Mark, Timed};
use super::{State, TorchTap};

/// The calls of modules whose gradients autograd is computing.
#[derive(Default)]
pub struct Backward {
    /// Those that have begun, outermost first.
    open: Vec<Open>,
    /// Those that have ended in this backward pass.
    ended: HashSet<u64>,
    /// The number of calls so far.
    calls: u64,
}

struct Open {
    call: Arc<Hooked>,
    timed: Timed,
    /// How many gradients of inputs are still to come.
    awaited: usize,
}

impl Backward {
    /// Returns the levels of the calls that have begun.
    pub fn levels(&self) -> impl Iterator<Item = Iteration> {
        self.open.iter().map(|open| open.timed.level())
    }

    /// Returns the calls that end because the gradients of another call begin, innermost first.
    fn interrupted_by(&mut self, call: &Hooked) -> Vec<Open> {
        let is_related = |open: &Open| call.is_in(&open.call) || open.call.is_in(call);
        let kept = self.open.iter().position(|open| !is_related(open)).unwrap_or(self.open.len());
        self.end_from(kept)
    }

    fn end_from(&mut self, place: usize) -> Vec<Open> {
        let ended: Vec<Open> = self.open.drain(place..).rev().collect();
        self.ended.extend(ended.iter().map(|open| open.call.number()));
        ended
    }
}

/// Adds hooks to the inputs of a module that is called. `None` if it is not timed.
pub fn hook_inputs(tap: &Bound<'_, TorchTap>, call: &Call, args: &Bound<'_, PyTuple>) -> PyResult<()> {
    let (py, this) = (tap.py(), tap.get());
    if call.timed.is_none() || !this.autograd.is_enabled(py) {
        return Ok(());
    }
    let mut inputs = Vec::new();
    tensors_in(&this.reader, args, &mut |tensor| inputs.push(tensor.clone()));
    inputs.retain(|tensor| requires_gradient(tensor));
    let hooked = {
        let mut state = this.lock();
        let State { profile: Some(profile), threads, .. } = &mut *state else { return Ok(()) };
        profile.backward.calls += 1;
        let stack = &mut threads.current().stack;
        let around = stack.iter().rev().skip(1).find_map(|call| call.hooked.as_ref());
        let mut chain = around.map_or_else(Vec::new, |around| around.chain.clone());
        chain.push(profile.backward.calls);
        let place = Place { phase: Phase::Backward, ..call.place(None) };
        let hooked = Arc::new(Hooked { place, chain, inputs: inputs.len() });
        if let Some(current) = stack.last_mut() {
            current.hooked = Some(Arc::clone(&hooked));
        }
        hooked
    };
    inputs.iter().try_for_each(|tensor| hook(tap, tensor, &hooked, false))
}

/// Adds hooks to the outputs of a module whose call has ended.
pub fn hook_outputs(tap: &Bound<'_, TorchTap>, call: &Call, output: &Bound<'_, PyAny>) -> PyResult<()> {
    let Some(hooked) = &call.hooked else { return Ok(()) };
    let mut outputs = Vec::new();
    tensors_in(&tap.get().reader, output, &mut |tensor| outputs.push(tensor.clone()));
    outputs.retain(|tensor| requires_gradient(tensor));
    outputs.iter().try_for_each(|tensor| hook(tap, tensor, hooked, true))
}

fn requires_gradient(tensor: &Bound<'_, PyAny>) -> bool {
    tensor.getattr(intern!(tensor.py(), "requires_grad")).and_then(|requires| requires.extract()).unwrap_or(false)
}

fn hook(tap: &Bound<'_, TorchTap>, tensor: &Bound<'_, PyAny>, call: &Arc<Hooked>, is_output: bool) -> PyResult<()> {
    let hook = BackwardHook { tap: tap.clone().unbind(), call: Arc::clone(call), is_output };
    tensor.call_method1(intern!(tap.py(), "register_hook"), (hook,)).map(drop)
}

/// Called with the gradient of an input or an output of a module, when autograd has computed it.
#[pyclass(module = "opscope", frozen)]
pub struct BackwardHook {
    tap: Py<TorchTap>,
    call: Arc<Hooked>,
    is_output: bool,
}

#[pymethods]
impl BackwardHook {
    fn __call__(&self, py: Python<'_>, _gradient: &Bound<'_, PyAny>) -> PyResult<()> {
        let tap = self.tap.get();
        let Some(_inside) = tap.begin() else { return Ok(()) };
        let is_first = {
            let mut state = tap.lock();
            if self.is_output {
                state.gradient_of_output(py, &self.call)?
            } else {
                state.gradient_of_input(py, &self.call)?
            }
        };
        if is_first {
            // The engine calls it when this backward pass has ended.
            let end = BackwardEnd { tap: self.tap.clone_ref(py) };
            tap.autograd.queue_callback(py, Bound::new(py, end)?.as_any())?;
        }
        Ok(())
    }
}

/// Called at the end of a backward pass.
#[pyclass(module = "opscope", frozen)]
pub struct BackwardEnd {
    tap: Py<TorchTap>,
}

#[pymethods]
impl BackwardEnd {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let tap = self.tap.get();
        let Some(_inside) = tap.begin() else { return Ok(()) };
        tap.lock().end_backward(py)
    }
}

impl State {
    /// Begins the call of a module whose output has got a gradient. Returns whether it is the first of the pass.
    fn gradient_of_output(&mut self, py: Python<'_>, call: &Arc<Hooked>) -> PyResult<bool> {
        let Some(profile) = &mut self.profile else { return Ok(false) };
        let backward = &mut profile.backward;
        let is_known = |open: &Open| open.call.number() == call.number();
        if backward.ended.contains(&call.number()) || backward.open.iter().any(is_known) {
            return Ok(false);
        }
        let is_first = backward.open.is_empty() && backward.ended.is_empty();
        let ended = backward.interrupted_by(call);
        // An output of a module may also be an output of a module inside it, whose hook was called first.
        let place = backward.open.iter().position(|open| open.call.is_in(call)).unwrap_or(backward.open.len());
        let inner = backward.open.get(place).map(|open| open.timed.start().clone());
        let mark = profile.mark(py)?;
        self.end_calls(py, ended, &mark)?;
        let Some(operator) = self.program.found(&call.place) else { return Ok(false) };
        let timed = Timed::new(operator, inner.unwrap_or(mark));
        if let Some(profile) = &mut self.profile {
            profile.backward.open.insert(place, Open { call: Arc::clone(call), timed, awaited: call.inputs });
        }
        Ok(is_first)
    }

    /// Ends the call of a module all of whose inputs have got their gradients.
    fn gradient_of_input(&mut self, py: Python<'_>, call: &Arc<Hooked>) -> PyResult<bool> {
        let Some(profile) = &mut self.profile else { return Ok(false) };
        let open = &mut profile.backward.open;
        let Some(place) = open.iter().position(|open| open.call.number() == call.number()) else { return Ok(false) };
        open[place].awaited = open[place].awaited.saturating_sub(1);
        if open[place].awaited == 0 {
            let ended = profile.backward.end_from(place);
            let mark = profile.mark(py)?;
            self.end_calls(py, ended, &mark)?;
        }
        Ok(false)
    }

    /// Ends what has begun in the backward pass.
    pub fn end_backward(&mut self, py: Python<'_>) -> PyResult<()> {
        let Some(profile) = &mut self.profile else { return Ok(()) };
        let ended = profile.backward.end_from(0);
        profile.backward.ended.clear();
        if ended.is_empty() {
            return Ok(());
        }
        let mark = profile.mark(py)?;
        self.end_calls(py, ended, &mark)
    }

    /// Records that calls have ended, innermost first.
    fn end_calls(&mut self, py: Python<'_>, ended: Vec<Open>, mark: &Mark) -> PyResult<()> {
        let outer: Vec<Iteration> = ended.iter().rev().map(|open| open.timed.level()).collect();
        for (place, open) in ended.iter().enumerate() {
            // The calls around it that have ended with it.
            let around = &outer[..outer.len() - 1 - place];
            self.end_timed_in(py, &open.timed, around, mark, true)?;
        }
        Ok(())
    }
}
