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
use crate::{InputEntry, Io, Missing, Origin};

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

    fn deliver(&self, dispatch: &Dispatch<'_>, io: Io, tensors: &[TensorView<'_>], live: &dyn LiveValues) -> Action {
        let operator = dispatch.operator();
        let mut stop = None;
        for subscription in &self.subscriptions {
            let wanted = |slot: &usize| wants(subscription, dispatch.graph, operator, io, *slot);
            let slots: Vec<usize> = (0..tensors.len()).filter(wanted).collect();
            for &slot in &slots {
                let Some(value) = values(operator, io).get(slot).copied().flatten() else { continue };
                let origin = self.origin(dispatch, io, slot, value);
                let keep = || live.keep(value);
                stop = stop.or(subscription.deliver(origin, slots.len(), &tensors[slot], &keep));
            }
        }
        stop.map_or(Action::Continue, Action::Stop)
    }
}

impl RunObserver for OpenObserver {
    fn interest(&self) -> Interest {
        let takes = |io: Io| self.subscriptions.iter().any(|subscription| subscription.selection.io.contains(io));
        let set = |wanted: bool| if wanted { KernelSet::All } else { KernelSet::Empty };
        let keeps = self.subscriptions.iter().any(|subscription| subscription.reads_in_place());
        Interest { before: set(takes(Io::Input)), after: set(takes(Io::Output)), keeps, ..Interest::default() }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        self.deliver(dispatch, Io::Input, inputs, &NoLiveValues)
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.deliver(dispatch, Io::Output, outputs, dispatch.live)
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
