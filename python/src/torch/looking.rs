//! An operator or a module that was executed: what it took, copied before, and what it computed, and where.

use std::sync::Arc;

use opscope::dump::Coverage;
use opscope::tensor::{Statistics, Tensor};
use opscope_torch::{Execution, ModulePath, Phase, Place, Shown, Strided, Taken};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

use super::autograd::{Around, Node};
use super::changing::{self, Arguments};
use super::operators::{Facts, Skipped};
use super::tensors::{Found, Reader, Want, taken_by, tensors_in, tensors_of};
use super::threads::{Call, Mark, Relation};
use super::{Inside, State, TorchTap, debugging, finding, profiling};

/// Shows an operator that was executed. `around` is what autograd did then, `before` what the operator took, and `times`
/// when it was executed, if only that is wanted.
pub fn operator<'py>(
    tap: &TorchTap,
    facts: &Facts,
    (args, kwargs): (&Bound<'py, PyTuple>, Option<&Bound<'py, PyDict>>),
    result: &Bound<'py, PyAny>,
    (around, before): (&Around<'_>, &Before<'py>),
    times: Option<(Mark, Mark)>,
) -> PyResult<()> {
    let py = result.py();
    if facts.skipped == Some(Skipped::Marker) {
        return Ok(());
    }
    let mut state = tap.lock();
    let state = &mut *state;
    let place = place(state, py, facts, around);
    if !state.program.is_wanted() {
        return Ok(());
    }
    if let Some(times) = times {
        let is_on_device = times.1.is_on_device_clock() && profiling::is_on_device(&tap.reader, result);
        return profiling::operator(state, py, &place, times, is_on_device);
    }
    if place.phase != Phase::Forward && !tap.looks_backward {
        state.skip("outside of the forward pass");
        return Ok(());
    }
    if facts.skipped == Some(Skipped::Uninitialised) {
        state.skip("memory that holds nothing yet");
        return Ok(());
    }
    let mut outputs = Vec::new();
    for output in facts.outputs(args, kwargs, result) {
        tensors_of(&tap.reader, &output, &mut |tensor| outputs.push(tensor.clone()));
    }
    if let Some(given) = &before.outputs {
        changing::outputs(&tap.reader, facts, &outputs, given).unwrap_or_else(|error| changing::failed(facts, &error));
    }
    if outputs.is_empty() {
        if facts.gives_views() {
            // Operators take a parameter through a view, such as a transposed one.
            for argument in args.iter().filter(|argument| tap.reader.is_tensor(argument)) {
                if let Some((name, owner)) = state.modules.parameter(&argument) {
                    note_read(state, &owner, place.phase);
                    state.program.viewed(&tap.reader.read(&argument, Want::Place).taken(Some(name)));
                }
            }
        }
        state.skip(if facts.gives_views() {
            "views of values that were captured"
        } else {
            "operators without a tensor"
        });
        return Ok(());
    }
    let want = match &state.debug {
        Some(_) => debugging::want(state, &place),
        None => state.want(),
    };
    let read = |tensor, want| match facts.gives_new {
        true => tap.reader.read_new(tensor, want),
        false => tap.reader.read(tensor, want),
    };
    let mut computed: Vec<Found<'_>> = outputs.iter().map(|tensor| read(tensor, want)).collect();
    // A watch looks at the inputs, and at outputs beside the one that is not finite, only once it has found something.
    if want == Want::NonFinite {
        if computed.iter().all(Found::is_unread) {
            let taken = if facts.writes() { taken_by(&tap.reader, args, kwargs) } else { Vec::new() };
            let shown: Vec<Shown<'_>> = computed.iter().map(Found::shown).collect();
            return show(state, py, &place, &[], &slots_of(&outputs, &taken), &shown).map(drop);
        }
        computed = outputs.iter().map(|tensor| read(tensor, Want::All)).collect();
    }
    let taken = taken_by(&tap.reader, args, kwargs);
    let written = slots_of(&outputs, &taken);
    // Of a value that is known, statistics need only where it lies. Whatever else is wanted of it, it has been read.
    let known = |tensor| {
        let found = (want == Want::Reduced).then(|| tap.reader.read_new(tensor, Want::Address));
        found.filter(|found| state.program.is_known(found.address))
    };
    let is_watched = state.debug.is_some() && want == Want::All;
    let of_taken = if want == Want::NonFinite || is_watched { Want::All } else { Want::Place };
    let take = |tensor| match known(tensor) {
        Some(found) => (found, true),
        None => (tap.reader.read(tensor, of_taken), false),
    };
    let found: Vec<(Found<'_>, bool)> = taken.iter().map(take).collect();
    let mut inputs = Vec::with_capacity(found.len());
    for (tensor, (found, is_known)) in taken.iter().zip(&found) {
        let parameter = state.modules.parameter(tensor);
        if let Some((_, owner)) = &parameter {
            note_read(state, owner, place.phase);
        }
        inputs.push(before.with_copy(tensor, found.taken(parameter.filter(|_| !is_known).map(|(name, _)| name))));
    }
    let shown: Vec<Shown<'_>> = computed.iter().map(Found::shown).collect();
    let replaced = show(state, py, &place, &inputs, &written, &shown)?;
    keep_reductions(tap, state, py, &computed)?;
    for (slot, tensor) in replaced {
        changing::write(&outputs[slot], &tensor).unwrap_or_else(|error| changing::failed(facts, &error));
    }
    Ok(())
}

/// Returns the slots of the inputs that are also outputs, because the operator has written to them.
pub fn slots_of(outputs: &[Bound<'_, PyAny>], taken: &[Bound<'_, PyAny>]) -> Vec<usize> {
    (0..taken.len()).filter(|&slot| outputs.iter().any(|output| output.is(&taken[slot]))).collect()
}

/// Keeps what a device computes or copies until the end of the step. Large amounts are fetched earlier.
fn keep_reductions(tap: &TorchTap, state: &mut State, py: Python<'_>, computed: &[Found<'_>]) -> PyResult<()> {
    for found in computed {
        if let Some(reduction) = found.reduction() {
            state.reductions.push(reduction.clone_ref(py));
            state.reduced_bytes += found.length().min(LARGEST_COPY);
        }
    }
    let is_much = state.reductions.len() >= MOST_REDUCTIONS || state.reduced_bytes >= MOST_BYTES;
    if is_much { fetch(tap, state, py) } else { Ok(()) }
}

/// How many places of calls of modules are kept.
const MOST_PLACES: usize = 1 << 18;

/// How many statistics wait on devices, and how many bytes are copied from there meanwhile, at most.
const MOST_REDUCTIONS: usize = 1 << 14;
const MOST_BYTES: usize = 64 << 20;

/// The most bytes that a copy has: `COPIED` in `opscope.torch._reductions`.
const LARGEST_COPY: usize = 1 << 20;

/// Fetches the statistics that devices have computed, and computes those of copies.
pub fn fetch(tap: &TorchTap, state: &mut State, py: Python<'_>) -> PyResult<()> {
    let State { program, profile, .. } = &mut *state;
    profile.as_mut().map_or(Ok(()), |profile| profile.fetch(program, py))?;
    if state.reductions.is_empty() {
        return Ok(());
    }
    state.reduced_bytes = 0;
    let reductions = PyList::new(py, std::mem::take(&mut state.reductions))?;
    let fetched = py.import("opscope.torch._reductions")?.call_method1("fetch", (reductions,));
    let fetched: Vec<Bound<'_, PyAny>> = fetched.and_then(|fetched| fetched.extract()).unwrap_or_default();
    let counts: Vec<u64> = state.program.deferred_elements();
    let computed = fetched.iter().zip(counts).map(|(one, count)| match tap.reader.is_tensor(one) {
        true => match tap.reader.read(one, Want::All).shown() {
            Shown::Tensor { tensor, .. } => Statistics::of(&tensor.view()).ok(),
            _ => None,
        },
        false => one.extract().ok().map(|row| statistics(row, count)),
    });
    state.program.resolve(computed);
    Ok(())
}

/// Returns the statistics of a tensor from what a device has computed.
fn statistics([nan, plus, minus, zeros, min, max, sum, norm]: [f64; 8], count: u64) -> Statistics {
    let [nan, positive_infinite, negative_infinite, zeros] = [nan, plus, minus, zeros].map(|number| number as u64);
    let finite = count.saturating_sub(nan + positive_infinite + negative_infinite);
    let of_finite = |number: f64| (finite > 0).then_some(number);
    Statistics {
        count,
        nan,
        positive_infinite,
        negative_infinite,
        zeros,
        min: of_finite(min),
        max: of_finite(max),
        mean: of_finite(sum / finite as f64),
        // Computed from sums, it would be inexact if the elements are close together.
        std: None,
        l2: of_finite(norm),
        xxh3: opscope::tensor::Digest(0),
    }
}

/// Notes that an operator has taken a parameter.
fn note_read(state: &mut State, owner: &Arc<ModulePath>, phase: Phase) {
    let is_inside = state.threads.current().stack.iter().any(|call| Arc::ptr_eq(&call.path, owner));
    if !is_inside && phase == Phase::Forward {
        state.modules.read_without_call(owner);
    }
}

/// Shows an execution. Returns the outputs that the debugger replaces, by slot. It looks at operators only.
fn show(
    state: &mut State,
    py: Python<'_>,
    place: &Place,
    inputs: &[Taken<'_>],
    written: &[usize],
    outputs: &[Shown<'_>],
) -> PyResult<Vec<(usize, Tensor)>> {
    match state.program.executed(&Execution { place, inputs, written, outputs }) {
        Ok(replaced) => Ok(replaced),
        Err(stopped) => match state.watch.as_ref().and_then(|watch| watch.finding()) {
            Some(found) if state.raises => Err(finding::exception(py, &found)),
            _ if state.debug.is_some() => Err(debugging::aborted(&stopped)),
            _ => Ok(Vec::new()),
        },
    }
}

/// Returns where an operator is executed, and remembers its autograd node.
pub fn place(state: &mut State, py: Python<'_>, facts: &Facts, around: &Around<'_>) -> Place {
    let thread = state.threads.current();
    let operator = Some(Arc::clone(&facts.name));
    let outside = |phase, source| Place { module: None, call: 0, phase, operator: None, class: "".into(), source };
    let of_call = |call: Option<&Call>, phase, source| match call {
        Some(call) => Place { phase, ..call.place(source) },
        None => outside(phase, source),
    };
    let call = thread.stack.last();
    let is_recomputed = call.is_some_and(|call| call.is_recomputed);
    let place = match around {
        Around::Backward { is_enabled, .. } if is_recomputed || *is_enabled => {
            of_call(call, Phase::Recompute, state.frames.line(py))
        }
        Around::Backward { node: Node::Accumulate(variable), .. } => {
            let owner = state.modules.parameter(variable).map(|(_, owner)| owner);
            Place { module: owner, ..outside(Phase::Backward, None) }
        }
        Around::Backward { node: Node::Numbered { number, node }, .. } => match state.threads.relation(*number, node) {
            Some(Relation { module, class, call, source, .. }) => {
                Place { module, call, phase: Phase::Backward, operator: None, class, source }
            }
            None => outside(Phase::Backward, state.frames.line(py)),
        },
        Around::Forward { next } => {
            let source = state.frames.line(py);
            let made = thread.made_node(*next);
            if let Some(module) = &thread.optimizer {
                let class = Arc::from(module.name.as_str());
                let module = Some(Arc::clone(module));
                return Place { module, operator, class, ..outside(Phase::Optimizer, source) };
            }
            let place = of_call(thread.stack.last(), Phase::Forward, source);
            if let Some(made) = made {
                let Place { module, class, call, source, .. } = place.clone();
                let operator = Arc::clone(&facts.name);
                thread.relate(made, Relation { operator, module, class, call, source });
            }
            place
        }
    };
    Place { operator, ..place }
}

/// Shows the outputs of a module.
pub fn module(tap: &Bound<'_, TorchTap>, call: &Call, output: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = tap.py();
    let this = tap.get();
    {
        let state = this.lock();
        if !state.program.is_wanted() || (call.is_recomputed && !this.looks_backward) {
            return Ok(());
        }
    }
    let mut outputs = Vec::new();
    tensors_in(&this.reader, output, &mut |tensor| outputs.push(tensor.clone()));
    if outputs.is_empty() {
        if !output.is_none() {
            this.lock().skip("modules that returned no tensor");
        }
        return Ok(());
    }
    let mut state = this.lock();
    let place = state.place_of(py, call);
    let phase = place.phase;
    let want = state.want();
    let computed: Vec<Found<'_>> = outputs.iter().map(|tensor| this.reader.read(tensor, want)).collect();
    let shown: Vec<Shown<'_>> = computed.iter().map(Found::shown).collect();
    show(&mut state, py, &place, &[], &[], &shown)?;
    keep_reductions(this, &mut state, py, &computed)?;
    drop(state);
    if this.looks_backward && phase == Phase::Forward && this.autograd.is_enabled(py) {
        for (slot, tensor) in outputs.iter().enumerate() {
            if tensor.getattr("requires_grad")?.extract::<bool>()? {
                let hook = GradientHook { tap: tap.clone().unbind(), place: place.clone(), slot };
                tensor.call_method1("register_hook", (hook,))?;
            }
        }
    }
    Ok(())
}

/// Shows the gradient of a module's output, when autograd has computed it.
#[pyclass(module = "opscope", frozen)]
pub struct GradientHook {
    tap: Py<TorchTap>,
    place: Place,
    slot: usize,
}

#[pymethods]
impl GradientHook {
    fn __call__(&self, py: Python<'_>, gradient: &Bound<'_, PyAny>) -> PyResult<()> {
        let tap = self.tap.get();
        let Some(_inside): Option<Inside> = tap.begin() else { return Ok(()) };
        let mut state = tap.lock();
        let name = (self.slot > 0).then(|| Arc::from(format!("gradient{}", self.slot)));
        let place = Place { phase: Phase::Backward, operator: name, ..self.place.clone() };
        let found = tap.reader.read(gradient, state.want());
        show(&mut state, py, &place, &[], &[], &[found.shown()])?;
        keep_reductions(tap, &mut state, py, &[found])
    }
}

/// Ends the run and closes the dump.
pub fn close<'py>(tap: &TorchTap, py: Python<'py>, error: Option<String>) -> PyResult<Option<Bound<'py, PyDict>>> {
    let mut state = tap.lock();
    let state = &mut *state;
    fetch(tap, state, py)?;
    state.program.finish(error);
    if let Some(debug) = state.debug.take() {
        state.program.remove_instruments();
        drop(debug);
    }
    if let Some(profile) = state.profile.take() {
        if state.program.executions() == 0 {
            state.problem("nothing was executed in the steps that were asked for".to_owned());
        }
        return profile.close(py, &mut state.program, &state.problems).map(Some);
    }
    let (executions, operators) = (state.program.executions(), state.program.operators());
    let not_called = state.modules.not_called();
    let read = state.modules.read();
    if !tap.looks_at_operators {
        for name in &not_called {
            state.problem(format!(
                "{name} has parameters and was never called: what its forward computed without a call, if it did, is not in the dump; \
                 --level op sees its operators"
            ));
        }
    }
    let Some(dump) = state.dump.take() else { return Ok(None) };
    let coverage = Coverage {
        level: if tap.looks_at_operators { "op" } else { "module" }.to_owned(),
        backward: tap.looks_backward,
        compiled: dump.compiled.clone(),
        seen: executions,
        modules_called: state.modules.calls(),
        modules_not_called: not_called,
        read_without_call: read,
        skipped: state.skipped.clone(),
        not_seen: state.not_seen.clone(),
    };
    if executions == 0 {
        state.problem("nothing was executed in the steps that were asked for".to_owned());
    }
    if executions > 0 {
        dump.unselected(&state.program).into_iter().for_each(|problem| state.problem(problem));
    }
    dump.close(py, &coverage, &state.problems, operators).map(Some)
}

impl State {
    /// Returns the place of a module that is called. Its line is that of the first such call.
    pub fn place_of(&mut self, py: Python<'_>, call: &Call) -> Place {
        let key = (call.module, call.number, call.is_recomputed);
        let known =
            self.places.get(&key).filter(|known| known.module.as_ref().is_some_and(|of| Arc::ptr_eq(of, &call.path)));
        if let Some(known) = known {
            return known.clone();
        }
        let place = call.place(self.frames.line(py));
        if self.places.len() >= MOST_PLACES {
            self.places.clear();
        }
        self.places.insert(key, place.clone());
        place
    }

    /// Returns what is wanted of what is computed.
    fn want(&self) -> Want {
        match &self.dump {
            Some(dump) if dump.is_of_statistics() && self.watch.is_none() => Want::Reduced,
            Some(_) => Want::All,
            None => Want::NonFinite,
        }
    }

    fn skip(&mut self, reason: &str) {
        match self.skipped.get_mut(reason) {
            Some(count) => *count += 1,
            None => drop(self.skipped.insert(reason.to_owned(), 1)),
        }
    }
}

/// What was noted before an operator is executed.
#[derive(Default)]
pub struct Before<'py> {
    /// Copies of the tensors that it is about to take, each with the tensor. `None` is one whose elements cannot be read.
    /// An operator may write to what it takes, and the schemas of some do not say so, such as that of batch normalisation.
    ///
    /// They are not tensors of PyTorch's, because other modes would see operators that make these.
    copies: Vec<(Bound<'py, PyAny>, Option<Tensor>)>,
    /// Its arguments, if a debugger has changed them.
    pub arguments: Option<Arguments<'py>>,
    /// What its outputs are, if a debugger skips it.
    pub outputs: Option<Vec<Tensor>>,
}

impl<'py> Before<'py> {
    /// Copies what an operator is about to take.
    pub fn copy(reader: &Reader, taken: Vec<Bound<'py, PyAny>>) -> Self {
        let copy = |tensor: Bound<'py, PyAny>| {
            let copy = match reader.read(&tensor, Want::All).shown() {
                Shown::Tensor { tensor, .. } => tensor.view().to_tensor().ok(),
                _ => None,
            };
            (tensor, copy)
        };
        Self { copies: taken.into_iter().map(copy).collect(), ..Self::default() }
    }

    /// Returns a tensor as one that was taken, with the elements that it had before.
    pub fn with_copy<'a>(&'a self, tensor: &Bound<'py, PyAny>, taken: Taken<'a>) -> Taken<'a> {
        let Some((_, copy)) = self.copies.iter().find(|(known, _)| known.is(tensor)) else { return taken };
        Taken { tensor: copy.as_ref().map(Strided::row_major), ..taken }
    }
}
