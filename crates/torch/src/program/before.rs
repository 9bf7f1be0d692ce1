//! What instruments want before an operator is executed.

use std::ops::Range;

use opscope_clock::Ticks;
use opscope_model::{Action, Dispatch, KernelId, KernelSet, RunId};
use opscope_tensor::TensorView;

use super::{Observer, Program, Stopped, dispatch_of};
use crate::changes::different;
use crate::{Changes, Execution, Place, Strided};

/// Stands for every kernel that was not found yet: an observer wants all of these or none.
const LATER: KernelId = KernelId::new(u32::MAX);

impl Program {
    /// Returns whether an instrument wants to see the next execution at a place before it happens.
    pub fn wants_before(&mut self, place: &Place) -> bool {
        self.wants(place, |observer| &observer.interest.before)
    }

    /// Returns whether an instrument wants to see what the next execution at a place computes.
    pub fn wants_after(&mut self, place: &Place) -> bool {
        self.wants(place, |observer| &observer.interest.after)
    }

    fn wants(&mut self, place: &Place, set: impl Fn(&Observer) -> &KernelSet) -> bool {
        if !self.is_wanted() {
            return false;
        }
        self.begin_run(Ticks::now());
        let wants = |kernel: KernelId| self.observers.iter().flatten().any(|observer| set(observer).contains(kernel));
        // Without an observer that wants anything, no name is needed.
        if self.observers.iter().flatten().all(|observer| set(observer).is_empty()) {
            return false;
        }
        let is_later = wants(LATER);
        let (name, _) = self.stems.coming(place);
        match self.model.known(&name) {
            Some(known) => self.observers.iter().flatten().any(|observer| set(observer).contains(known.kernel.id)),
            None => is_later,
        }
    }

    /// Shows an operator to the instruments before it is executed, and returns what they change. What it will compute is
    /// not known: an execution has no outputs here.
    ///
    /// # Errors
    /// Returns the reason if an instrument stops the run.
    pub fn before(&mut self, execution: &Execution<'_>) -> Result<Changes, Stopped> {
        let mut changes = Changes::default();
        if !self.is_wanted() {
            return Ok(changes);
        }
        self.begin_run(Ticks::now());
        let place = execution.place;
        let (name, number) = self.stems.coming(place);
        let inputs = self.names_of(&name, execution.inputs, &[]);
        // Most operators have one. One that has another number is shown again after it was executed.
        let outputs = self.model.known(&name).map_or(1, |known| known.kernel.outputs.len());
        let operator = self.operator(place, &name, number, &inputs, execution.written, outputs);
        let taken: Vec<TensorView<'_>> =
            execution.inputs.iter().filter_map(|input| input.tensor.as_ref().map(Strided::view)).collect();
        let views: &[TensorView<'_>] = if taken.len() == execution.inputs.len() { &taken } else { &[] };
        let dispatch: Dispatch<'_> = dispatch_of(RunId(self.steps.current()), &operator);
        let mut stopped = None;
        for Observer { interest, observer } in self.observers.iter().flatten() {
            if !interest.before.contains(operator.kernel.id) {
                continue;
            }
            match observer.before(&dispatch, views) {
                Action::Continue | Action::Replace(_) => {}
                Action::Stop(reason) => stopped = Some(reason),
                Action::ReplaceInputs(inputs) => changes.inputs = different(inputs, views),
                Action::Skip(outputs) => changes.outputs = Some(outputs),
            }
        }
        stopped.map_or(Ok(changes), |reason| Err(Stopped(reason)))
    }

    /// Notes that the memory of a replaced input stands for the value that lies at an address.
    pub fn replaced(&mut self, address: usize, region: Range<usize>) {
        if let Some(name) = self.producers.at(address).cloned() {
            self.producers.wrote(region, &name);
        }
    }
}
