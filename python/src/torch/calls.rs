//! What is called: modules, and operators that classes of tensors have functions of their own for.

use std::sync::Arc;

use foldhash::{HashMap, HashMapExt};
use opscope::clock::Ticks;
use opscope_torch::Program;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::tensors::{Want, tensors_in};
use super::threads::Call;
use super::{TorchTap, looking, profiling};

impl TorchTap {
    /// Ends the current step, in this way.
    pub(super) fn end_step(&self, py: Python<'_>, end: impl FnOnce(&mut Program)) -> PyResult<()> {
        let Some(_inside) = self.begin() else { return Ok(()) };
        let mut state = self.lock();
        looking::fetch(self, &mut state, py)?;
        end(&mut state.program);
        state.calls.clear();
        Ok(())
    }

    /// Notes that a module is called. Returns its call if it is timed.
    pub(super) fn enter_call(
        &self,
        py: Python<'_>,
        module: &Bound<'_, PyAny>,
        args: &Bound<'_, PyTuple>,
    ) -> PyResult<Option<Call>> {
        let is_recomputed = self.autograd.is_backward(py);
        let mut state = self.lock();
        let state = &mut *state;
        let around = state.threads.current().stack.last().cloned();
        let address = module.as_ptr() as usize;
        if around.is_none() && !is_recomputed {
            if state.program.would_end(address) {
                looking::fetch(self, state, py)?;
                state.calls.clear();
            }
            state.program.root_called(address);
            if state.profile.is_some() {
                state.program.begin_step(Ticks::now());
            }
        }
        let (path, class) = state.modules.called(module, around.as_ref().map(|around| &around.path))?;
        if around.is_none() && !is_recomputed && state.dump.is_some() {
            let mut given = Vec::new();
            tensors_in(&self.reader, args, &mut |tensor| given.push(tensor.clone()));
            for (slot, tensor) in given.iter().enumerate() {
                let found = self.reader.read(tensor, Want::All);
                state.program.given(&path.name, slot, &found.taken(None));
            }
        }
        let calls = if is_recomputed { &mut HashMap::new() } else { &mut state.calls };
        let number = calls.entry(address).or_insert(0);
        let mut call = Call { module: address, path, class, number: *number, is_recomputed, timed: None, hooked: None };
        *number += 1;
        if !self.looks_at_operators {
            call.timed = profiling::enter_module(state, py, &call)?.map(Arc::new);
        }
        let timed = call.timed.is_some().then(|| call.clone());
        state.threads.current().stack.push(call);
        Ok(timed)
    }

    /// Returns whether a class of tensors among these has a dispatch function of its own.
    pub(super) fn has_own_dispatch(&self, types: &Bound<'_, PyAny>) -> PyResult<bool> {
        let py = types.py();
        let is_plain = |class: &Bound<'_, PyAny>| self.plain.iter().any(|plain| plain.is(class));
        // PyTorch's dispatcher gives a tuple, operators of higher order a list.
        if types.cast::<PyTuple>().is_ok_and(|types| types.iter_borrowed().all(|class| is_plain(&class))) {
            return Ok(false);
        }
        let mut state = self.lock();
        for class in types.try_iter()? {
            let class = class?;
            if is_plain(&class) {
                continue;
            }
            let has_own = match state.classes.get(&(class.as_ptr() as usize)) {
                Some((_, known)) => *known,
                None => {
                    let dispatch = class.getattr_opt(intern!(py, "__torch_dispatch__"))?;
                    let has_own = dispatch.is_some_and(|dispatch| !dispatch.is(&self.no_dispatch));
                    state.classes.insert(class.as_ptr() as usize, (class.clone().unbind(), has_own));
                    has_own
                }
            };
            if has_own {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns whether an exception is being handled, such as one that ended the call of a module.
pub fn is_handling_exception(py: Python<'_>) -> bool {
    let handled = py.import(intern!(py, "sys")).and_then(|sys| sys.call_method0(intern!(py, "exc_info")));
    handled.and_then(|handled| handled.get_item(0)).is_ok_and(|class| !class.is_none())
}
