mod before;
mod deferred;

use std::path::PathBuf;
use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Action, Capabilities, Dispatch, EngineError, Instrument, Interest, Iteration, NoLiveValues, NoObserver, OpenModel,
    OpenOperator, OpenRunInfo, RunId, RunObserver,
};
use opscope_onnx::{Graph, Operator, Pattern};
use opscope_tensor::{Digest, Tensor, TensorView};

use crate::changes::different;
use crate::execution::{Deferred, show};
use crate::producers::Producers;
use crate::stems::Stems;
use crate::{Execution, GivenInput, GivenInputs, Place, Shown, StepRange, Steps, Strided, Taken};

/// A program that executes operators, and the instruments that watch it.
///
/// A step is a run of its open model. Instruments see it as they see a run of an engine, except that no operator is
/// known before it is about to be executed, that nothing is told of memory, and that an operator that they skip is executed
/// before its outputs are replaced.
pub struct Program {
    model: OpenModel,
    instruments: Vec<Attached>,
    wanted: StepRange,
    steps: Steps,
    observers: Option<Vec<Observer>>,
    begun: Ticks,
    /// When the last operator whose time was taken ended.
    last: Ticks,
    stems: Stems,
    producers: Producers,
    given: Option<GivenInputs>,
    executions: u64,
    deferred: Vec<Deferred>,
    /// Whether the instruments want only statistics.
    summarises: bool,
}

/// What a program does for instruments.
pub const CAPABILITIES: Capabilities =
    Capabilities { stop: true, intermediates: true, times: true, names: true, memory: false, skip: false };

/// How many outputs may wait for the end of the step before they are shown, if the statistics of all of them are known.
const MOST_DEFERRED: usize = 1 << 13;

/// An instrument, and how many of the operators that were found have been shown to it.
struct Attached {
    instrument: Arc<dyn Instrument>,
    shown: usize,
}

struct Observer {
    interest: Interest,
    observer: Arc<dyn RunObserver + Send + Sync>,
}

/// An instrument ended the run, for this reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stopped(pub String);

impl Program {
    /// Creates a program that was started from a file, without instruments. `xxh3` is the hash of the file.
    pub fn new(path: PathBuf, xxh3: u64, version: &str, wanted: StepRange) -> Self {
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        Self {
            model: OpenModel::new(&name, path, Digest(xxh3), version),
            instruments: Vec::new(),
            wanted,
            steps: Steps::default(),
            observers: None,
            begun: Ticks::now(),
            last: Ticks::now(),
            stems: Stems::default(),
            producers: Producers::default(),
            given: None,
            executions: 0,
            deferred: Vec::new(),
            summarises: false,
        }
    }

    /// Returns the empty beginning of its graph.
    pub fn header(&self) -> &Arc<Graph> {
        self.model.header()
    }

    /// Adds an instrument, which watches from the next step on.
    ///
    /// # Errors
    /// Returns an error if it cannot watch an open model.
    pub fn add(&mut self, instrument: Arc<dyn Instrument>) -> Result<(), String> {
        let info = OpenRunInfo { id: RunId(0), header: self.model.header() };
        let refused = |what: &str| format!("the {} {what}", instrument.name());
        if Arc::clone(&instrument).observe_open(&info).is_none() {
            return Err(refused("does not watch programs whose operators are found while they run"));
        }
        self.instruments.push(Attached { instrument, shown: 0 });
        Ok(())
    }

    /// Removes the instruments, after the last run has ended.
    pub fn remove_instruments(&mut self) {
        self.instruments.clear();
    }

    /// Notes that the instruments want only the statistics of what is computed. These are computed at once, and shown
    /// together when the step ends, so that no thread is woken for each.
    pub fn set_summarises(&mut self) {
        self.summarises = true;
    }

    /// Sets what is called with the inputs of a step.
    pub fn set_given_inputs(&mut self, given: GivenInputs) {
        self.given = Some(given);
    }

    /// Returns the current step.
    pub fn step(&self) -> u64 {
        self.steps.current()
    }

    /// Returns whether the current step is watched.
    pub fn is_wanted(&self) -> bool {
        self.wanted.contains(self.steps.current())
    }

    /// Returns whether neither the current step nor a later one is watched.
    pub fn is_over(&self) -> bool {
        self.wanted.is_over(self.steps.current())
    }

    /// Returns how many executions were watched so far.
    pub fn executions(&self) -> u64 {
        self.executions
    }

    /// Returns how many operators were found so far.
    pub fn operators(&self) -> usize {
        self.model.len()
    }

    /// Returns the operators that were found so far, in their order.
    pub fn found_operators(&self) -> impl Iterator<Item = &Operator> {
        self.model.operators().map(|found| found.operator())
    }

    /// Returns whether one of the patterns names an operator that was found.
    pub fn is_any_named(&self, patterns: &[Pattern]) -> bool {
        self.found_operators().any(|found| patterns.iter().any(|pattern| pattern.matches_operator(found)))
    }

    /// Notes the call of an outermost module. This may end a step.
    pub fn root_called(&mut self, module: usize) {
        if self.steps.called(module) {
            self.end_run();
        }
    }

    /// Notes that an optimizer has changed parameters.
    pub fn optimized(&mut self) {
        self.steps.optimized();
    }

    /// Ends the step because the program says so.
    pub fn end_step(&mut self) {
        self.steps.end();
        self.end_run();
    }

    /// Ends the step because what comes now is not looked at. Later steps end as before.
    pub fn cut_step(&mut self) {
        self.steps.cut();
        self.end_run();
    }

    /// Ends the current run, with the reason if it failed. A run whose times are taken has ended with the last of them:
    /// what the program does afterwards belongs to no step.
    pub fn finish(&mut self, failure: Option<String>) {
        let end = if self.last > self.begun { self.last } else { Ticks::now() };
        self.end_run_at(failure, end);
    }

    /// Begins the run of the current step at this time, if the step is watched and it has not begun.
    pub fn begin_step(&mut self, at: Ticks) {
        if self.is_wanted() {
            self.begin_run(at);
        }
    }

    /// Returns the operator of a place whose next execution is to be timed. `None` in a step that is not watched.
    pub fn found(&mut self, place: &Place) -> Option<Arc<OpenOperator>> {
        self.found_at(place, Ticks::now())
    }

    /// As [`found`](Self::found), for an operator whose execution began at this time.
    pub fn found_at(&mut self, place: &Place, begun: Ticks) -> Option<Arc<OpenOperator>> {
        if !self.is_wanted() {
            return None;
        }
        self.begin_run(begun);
        self.executions += 1;
        let (name, number) = self.stems.next(place);
        Some(self.operator(place, &name, number, &[], &[], 0))
    }

    /// Reports when an operator was executed. `path` is the calls of modules that it is part of, outermost first.
    pub fn timed(&mut self, operator: &OpenOperator, path: &[Iteration], start: Ticks, end: Ticks) {
        self.last = self.last.max(end);
        for Observer { interest, observer } in self.observers.iter().flatten() {
            if interest.times {
                observer.timed(operator.kernel.id, path, start, end);
            }
        }
    }

    /// Reports that the times of this many executions are not known.
    pub fn untimed(&self, executions: u64) {
        for Observer { observer, .. } in self.observers.iter().flatten() {
            observer.untimed(executions);
        }
    }

    /// Returns the operator with this name, and shows it to the instruments if it is new.
    fn operator(
        &mut self,
        place: &Place,
        name: &str,
        number: u32,
        inputs: &[Option<Arc<str>>],
        written: &[usize],
        outputs: usize,
    ) -> Arc<OpenOperator> {
        let before = self.model.len();
        let source = place.source.as_deref();
        let operator = self.model.operator(name, inputs, outputs, source, || place.description(number, written));
        if self.model.len() > before {
            self.show_found();
        }
        operator
    }

    /// Shows the operators that were found to the instruments that have not seen them.
    fn show_found(&mut self) {
        let run = RunId(self.steps.current());
        for (attached, observer) in self.instruments.iter_mut().zip(self.observers.iter().flatten()) {
            for operator in self.model.operators_after(attached.shown) {
                observer.observer.found(&dispatch_of(run, operator));
            }
            attached.shown = self.model.len();
        }
    }

    /// Shows an execution to the instruments. Returns the outputs that they replace, by slot. Nothing happens in a step
    /// that is not watched.
    ///
    /// # Errors
    /// Returns the reason if an instrument stops the run.
    pub fn executed(&mut self, execution: &Execution<'_>) -> Result<Vec<(usize, Tensor)>, Stopped> {
        if !self.is_wanted() {
            return Ok(Vec::new());
        }
        self.begin_run(Ticks::now());
        self.executions += 1;
        let place = execution.place;
        let (name, number) = self.stems.next(place);
        let inputs = self.names_of(&name, execution.inputs, execution.written);
        let operator = self.operator(place, &name, number, &inputs, execution.written, execution.outputs.len());
        for (slot, output) in execution.outputs.iter().enumerate() {
            if let Shown::Tensor { region, .. } | Shown::Finite { region } | Shown::Deferred { region, .. } = output {
                // The first output has the name of the operator.
                let output = match slot {
                    0 => Arc::clone(&name),
                    _ => Arc::from(operator.graph.value(operator.kernel.outputs[slot][0]).name.as_str()),
                };
                self.producers.wrote(region.clone(), &output);
            }
        }
        if self.summarises || execution.outputs.iter().any(|output| matches!(output, Shown::Deferred { .. })) {
            self.defer(&operator, execution.outputs);
            if self.deferred.len() >= MOST_DEFERRED && self.awaited().next().is_none() {
                self.resolve([]);
            }
            return Ok(Vec::new());
        }
        let taken: Vec<TensorView<'_>> =
            execution.inputs.iter().filter_map(|input| Some(input.tensor.as_ref()?.view())).collect();
        let inputs: &[TensorView<'_>] = if taken.len() == execution.inputs.len() { &taken } else { &[] };
        let dispatch = Dispatch { inputs, ..dispatch_of(RunId(self.steps.current()), &operator) };
        let (mut stopped, mut replaced) = (None, Vec::new());
        for Observer { interest, observer } in self.observers.iter().flatten() {
            if !interest.after.contains(operator.kernel.id) {
                continue;
            }
            match show(&**observer, &dispatch, execution.outputs) {
                Action::Continue | Action::ReplaceInputs(_) | Action::Skip(_) => {}
                Action::Stop(reason) => stopped = Some(reason),
                Action::Replace(outputs) => {
                    let there: Vec<TensorView<'_>> = execution.outputs.iter().map_while(Shown::view).collect();
                    replaced = different(outputs, &there);
                }
            }
        }
        stopped.map_or(Ok(replaced), |reason| Err(Stopped(reason)))
    }

    /// Returns whether the call of an outermost module would end the current step.
    pub fn would_end(&self, module: usize) -> bool {
        self.steps.would_begin(module)
    }

    /// Notes an argument of the call of an outermost module.
    pub fn given(&mut self, module: &str, slot: usize, argument: &Taken<'_>) {
        if !self.is_wanted() {
            return;
        }
        self.begin_run(Ticks::now());
        match self.producers.at(argument.region.start).cloned() {
            None => drop(self.give(module, slot, argument)),
            Some(known) => {
                self.give(module, slot, argument);
                // An operator outside of modules has computed it, or it was given before. It keeps that name.
                self.producers.wrote(argument.region.clone(), &known);
            }
        }
    }

    /// Notes that the program has made a view of a parameter, through which operators may take it.
    pub fn viewed(&mut self, parameter: &Taken<'_>) {
        if self.is_wanted() && self.producers.at(parameter.region.start).is_none() {
            self.begin_run(Ticks::now());
            self.give("", 0, parameter);
        }
    }

    /// Returns whether it is known which value of the current step lies at an address.
    pub fn is_known(&self, address: usize) -> bool {
        self.producers.at(address).is_some()
    }

    /// Returns the names of the values that an operator takes. `overwritten` are the slots of those that it has written to
    /// by now.
    fn names_of(&mut self, operator: &str, inputs: &[Taken<'_>], overwritten: &[usize]) -> Vec<Option<Arc<str>>> {
        let mut names = Vec::with_capacity(inputs.len());
        for (slot, input) in inputs.iter().enumerate() {
            let known = self.producers.at(input.region.start).cloned();
            names.push(Some(match known {
                Some(known) => known,
                // What it was before is not known any more.
                None if overwritten.contains(&slot) => {
                    let unknown = Taken {
                        parameter: input.parameter.clone(),
                        tensor: None,
                        region: input.region.clone(),
                        ..*input
                    };
                    self.give(operator, slot, &unknown)
                }
                None => self.give(operator, slot, input),
            }));
        }
        names
    }

    /// Adds an input of the step, and returns its name.
    fn give(&mut self, operator: &str, slot: usize, input: &Taken<'_>) -> Arc<str> {
        let name = input.parameter.clone().unwrap_or_else(|| Arc::from(format!("{operator}:input{slot}")));
        if let Some(given) = &mut self.given {
            let view = input.tensor.as_ref().map(Strided::view);
            given(&GivenInput { name: &name, view, version: input.version });
        }
        self.producers.wrote(input.region.clone(), &name);
        name
    }

    fn begin_run(&mut self, at: Ticks) {
        if self.observers.is_some() {
            return;
        }
        let info = OpenRunInfo { id: RunId(self.steps.current()), header: self.model.header() };
        let observers = self.instruments.iter().map(|attached| {
            let observer = Arc::clone(&attached.instrument).observe_open(&info);
            // `add` has checked that the instrument makes observers.
            let observer = observer.unwrap_or_else(|| Arc::new(NoObserver));
            Observer { interest: observer.interest(), observer }
        });
        self.observers = Some(observers.collect());
        self.begun = at;
        self.show_found();
    }

    fn end_run(&mut self) {
        self.end_run_at(None, Ticks::now());
    }

    fn end_run_at(&mut self, failure: Option<String>, end: Ticks) {
        self.resolve([]);
        let error = failure.map(|reason| EngineError::Run { node: None, reason });
        for Observer { observer, .. } in self.observers.take().into_iter().flatten() {
            observer.finished(match &error {
                Some(error) => Err(error),
                None => Ok((self.begun, end)),
            });
        }
        self.stems.begin_step();
        self.producers.clear();
    }
}

fn dispatch_of(run: RunId, operator: &OpenOperator) -> Dispatch<'_> {
    Dispatch { run, kernel: &operator.kernel, graph: &operator.graph, path: &[], inputs: &[], live: &NoLiveValues }
}
