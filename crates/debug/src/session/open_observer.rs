//! The debugger's observer of a run of an open model, whose operators are found while it runs.

use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{Action, Dispatch, EngineError, Fidelity, Interest, NoObserver, OpenRunInfo, RunId, RunObserver};
use opscope_onnx::Graph;
use opscope_sys::{RwLock, RwLockReadGuard};
use opscope_tensor::{ScanQuery, ScanResult, TensorView};

use super::observer::Observer;
use super::shared::Shared;
use crate::event::{EventKind, Moment};
use crate::run::{ActiveRun, Step};

/// Looks at a run with a plan of the operators that were found so far. Where the client may want something of an
/// operator that the plan does not have, the plan grows by all that were found since.
pub(super) struct OpenObserver {
    shared: Arc<Shared>,
    id: RunId,
    header: Arc<Graph>,
    /// `None` before the run begins.
    observer: RwLock<Option<Observer>>,
}

impl OpenObserver {
    pub fn new(shared: Arc<Shared>, info: &OpenRunInfo<'_>) -> Self {
        Self { shared, id: info.id, header: Arc::clone(info.header), observer: RwLock::default() }
    }

    /// Adds the run.
    fn begin(&self) -> Option<Observer> {
        let mut registry = self.shared.registry();
        let (model, model_announced) = registry.model(&self.shared.announcer, &self.header, Fidelity::Exact);
        let plan = registry.open_plan(model)?;
        let run = Arc::new(ActiveRun::new(self.id, plan));
        registry.begin(&run);
        let announced = self.shared.announcer.announce(EventKind::RunCreated { run: run.id, model });
        drop(registry);
        self.shared.wait_at(model_announced);
        self.shared.wait_at(announced);
        Some(Observer::new(Arc::clone(&self.shared), run))
    }

    /// Calls a function with the observer, if the client may want something of this dispatch. The dispatch that it gets
    /// is the one of the observer's plan.
    fn look(
        &self,
        dispatch: &Dispatch<'_>,
        moment: Moment,
        views: &[TensorView<'_>],
        look: impl FnOnce(&Observer, &Dispatch<'_>) -> Action,
    ) -> Action {
        let kernel = dispatch.kernel.id;
        if !self.is_wanted(dispatch, moment, views) {
            return Action::Continue;
        }
        self.grow_for(dispatch);
        let observer = self.observer();
        let Some(observer) = &*observer else { return Action::Continue };
        let plan = Arc::clone(&observer.run().plan);
        let Some(kernel) = plan.kernels.get(kernel.index()) else { return Action::Continue };
        look(observer, &Dispatch { kernel, graph: &plan.graph, ..*dispatch })
    }

    /// Returns whether the client may want something of a dispatch.
    fn is_wanted(&self, dispatch: &Dispatch<'_>, moment: Moment, views: &[TensorView<'_>]) -> bool {
        let observer = self.observer();
        let Some(observer) = &*observer else { return false };
        let run = observer.run();
        if dispatch.kernel.id.index() < run.plan.kernels.len() {
            return run.is_wanted(dispatch.kernel.id, moment);
        }
        let operator = dispatch.operator();
        {
            let control = run.control();
            let Some(table) = &control.table else { return control.abort.is_some() };
            let steps = match (&control.step, moment) {
                (Some(Step::Next), Moment::Before) | (Some(Step::Finish(_)), Moment::After) => true,
                (Some(Step::Until(_, destination)), Moment::Before) => destination.may_be(operator),
                _ => false,
            };
            let reports = match moment {
                Moment::Before => table.ready || control.pause.is_some(),
                Moment::After => table.finished,
            };
            let watches = moment == Moment::After && table.first.iter().any(|first| first.watches(run.id));
            if steps || reports || control.abort.is_some() || (watches && is_non_finite(dispatch.inputs, views)) {
                return true;
            }
        }
        self.shared.registry().may_stop_at(operator)
    }

    /// Makes the plan grow, unless it has this operator with the same values.
    fn grow_for(&self, dispatch: &Dispatch<'_>) {
        let Some(run) = self.observer().as_ref().map(|observer| Arc::clone(observer.run())) else { return };
        let grown = {
            let mut registry = self.shared.registry();
            let is_new = registry.found(run.plan.model, dispatch);
            if !is_new && dispatch.kernel.id.index() < run.plan.kernels.len() {
                return;
            }
            registry.grow_run(&run)
        };
        if let Some(observer) = &mut *self.observer.write() {
            observer.set_run(grown);
        }
    }

    fn observer(&self) -> RwLockReadGuard<'_, Option<Observer>> {
        self.observer.read()
    }
}

/// Returns whether an element is not finite, or cannot be read.
fn is_non_finite(inputs: &[TensorView<'_>], outputs: &[TensorView<'_>]) -> bool {
    let is_finite = |view: &TensorView<'_>| {
        let found = ScanResult::of(view, ScanQuery::NON_FINITE);
        found.is_ok_and(|ScanResult { nan, infinite, .. }| nan == 0 && infinite == 0)
    };
    !inputs.iter().chain(outputs).all(is_finite)
}

impl RunObserver for OpenObserver {
    fn interest(&self) -> Interest {
        let Some(observer) = self.begin() else { return NoObserver.interest() };
        let interest = observer.interest();
        *self.observer.write() = Some(observer);
        interest
    }

    fn found(&self, dispatch: &Dispatch<'_>) {
        if let Some(observer) = &*self.observer() {
            self.shared.registry().found(observer.run().plan.model, dispatch);
        }
    }

    fn before(&self, dispatch: &Dispatch<'_>, inputs: &[TensorView<'_>]) -> Action {
        self.look(dispatch, Moment::Before, inputs, |observer, dispatch| observer.before(dispatch, inputs))
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        self.look(dispatch, Moment::After, outputs, |observer, dispatch| observer.after(dispatch, outputs))
    }

    fn finished(&self, outcome: Result<(Ticks, Ticks), &EngineError>) {
        if let Some(observer) = &*self.observer() {
            observer.finished(outcome);
        }
    }
}
