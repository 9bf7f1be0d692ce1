//! Capturing the runs of open models, whose operators are found while they run.

use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Action, Dispatch, EngineError, Interest, KernelSet, LiveValues, NoLiveValues, OpenRunInfo, RunId, RunObserver,
    TensorType,
};
use opscope_onnx::{Graph, Operator, ValueId};
use opscope_sys::Mutex;
use opscope_tensor::{Statistics, TensorView};

use super::subscription::Subscription;
use crate::stream::outcome::RunOutcome;
use crate::{InputEntry, Io, Missing, Origin, Position};

/// The observer of one run of an open model. There are no routes: whether a tensor is selected is decided when its
/// operator is executed.
pub(crate) struct OpenObserver {
    run: RunId,
    header: Arc<Graph>,
    subscriptions: Vec<Arc<Subscription>>,
    inputs: Arc<RunInputs>,
}

/// The inputs of the current run of an open model, which are found while it runs.
pub(crate) type RunInputs = Mutex<Vec<InputEntry>>;

impl OpenObserver {
    pub fn new(run: &OpenRunInfo<'_>, subscriptions: Vec<Arc<Subscription>>, inputs: Arc<RunInputs>) -> Self {
        Self { run: run.id, header: Arc::clone(run.header), subscriptions, inputs }
    }

    fn origin(&self, dispatch: &Dispatch<'_>, io: Io, slot: usize, value: ValueId) -> Origin {
        Origin {
            graph: Arc::clone(dispatch.graph),
            plan: 0,
            run: Some(self.run),
            operator: dispatch.operator().id,
            path: dispatch.path.into(),
            io,
            slot,
            value,
        }
    }

    /// Delivers what a subscription wants of an execution. Returns the reason to stop, if there is one.
    fn deliver(
        &self,
        subscription: &Subscription,
        dispatch: &Dispatch<'_>,
        outputs: &[TensorView<'_>],
    ) -> Option<String> {
        let operator = dispatch.operator();
        if let Some(chooser) = &subscription.selection.chooser {
            // It is to see all operators, also those of which the selection takes no side.
            chooser.wants(operator, Position { io: Io::Output, slot: 0 });
        }
        let wanted = |io: Io, slot: usize| {
            let value = values(operator, io).get(slot).copied().flatten()?;
            wants(subscription, dispatch.graph, operator, io, slot).then_some((io, slot, value))
        };
        let inputs = (0..operator.inputs.len()).filter_map(|slot| wanted(Io::Input, slot));
        let inputs: Vec<_> = inputs.collect();
        let are_kept = dispatch.inputs.len() == operator.inputs.len();
        for &(io, slot, value) in inputs.iter().filter(|_| !are_kept) {
            let origin = self.origin(dispatch, io, slot, value);
            subscription.missing(Missing { origin, reason: "an input of its operator cannot be read".to_owned() });
        }
        let inputs = inputs.into_iter().filter(|_| are_kept);
        let outputs_wanted = (0..outputs.len()).filter_map(|slot| wanted(Io::Output, slot));
        let all: Vec<_> = inputs.chain(outputs_wanted).collect();
        let mut stop = None;
        for &(io, slot, value) in &all {
            let origin = self.origin(dispatch, io, slot, value);
            let (tensor, live): (_, &dyn LiveValues) = match io {
                Io::Input => (&dispatch.inputs[slot], &NoLiveValues),
                Io::Output => (&outputs[slot], dispatch.live),
            };
            stop = stop.or(subscription.deliver(origin, all.len(), tensor, &|| live.keep(value)));
        }
        stop
    }
}

impl RunObserver for OpenObserver {
    fn interest(&self) -> Interest {
        let takes = |io: Io| self.subscriptions.iter().any(|subscription| subscription.selection.io.contains(io));
        let set = |wanted: bool| if wanted { KernelSet::All } else { KernelSet::Empty };
        let keeps = self.subscriptions.iter().any(|subscription| subscription.reads_in_place());
        // Inputs come with the outputs, so that it is known how many tensors of an operator there are.
        let keep_inputs = set(takes(Io::Input));
        Interest { after: set(!self.subscriptions.is_empty()), keep_inputs, keeps, ..Interest::default() }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let stops = self.subscriptions.iter().map(|subscription| self.deliver(subscription, dispatch, outputs));
        let stops: Vec<Option<String>> = stops.collect();
        stops.into_iter().flatten().next().map_or(Action::Continue, Action::Stop)
    }

    fn not_shown(&self, dispatch: &Dispatch<'_>, slot: usize, reason: &str) {
        let operator = dispatch.operator();
        let Some(value) = operator.outputs.get(slot).copied().flatten() else { return };
        for subscription in &self.subscriptions {
            if wants(subscription, dispatch.graph, operator, Io::Output, slot) {
                let origin = self.origin(dispatch, Io::Output, slot, value);
                subscription.missing(Missing { origin, reason: reason.to_owned() });
            }
        }
    }

    fn summarised(&self, dispatch: &Dispatch<'_>, slot: usize, tensor: &TensorType, statistics: &Statistics) {
        let operator = dispatch.operator();
        let Some(value) = operator.outputs.get(slot).copied().flatten() else { return };
        for subscription in &self.subscriptions {
            if wants(subscription, dispatch.graph, operator, Io::Output, slot) {
                subscription.summarise(self.origin(dispatch, Io::Output, slot, value), tensor, statistics);
            }
        }
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        let failure = outcome.err().map(ToString::to_string);
        let inputs = std::mem::take(&mut *self.inputs.lock());
        let inputs: Arc<[InputEntry]> = inputs.into();
        for subscription in &self.subscriptions {
            subscription.run_ended(RunOutcome {
                run: self.run,
                graph: Arc::clone(&self.header),
                inputs: Some(Arc::clone(&inputs)).filter(|inputs| !inputs.is_empty()),
                failure: failure.clone(),
                in_flight: Vec::new(),
            });
        }
    }
}

fn values(operator: &Operator, io: Io) -> &[Option<ValueId>] {
    match io {
        Io::Input => &operator.inputs,
        Io::Output => &operator.outputs,
    }
}

fn wants(subscription: &Subscription, graph: &Graph, operator: &Operator, io: Io, slot: usize) -> bool {
    let selection = &subscription.selection;
    selection.wants(&selection.ranges_in(graph), operator, io, slot)
}
