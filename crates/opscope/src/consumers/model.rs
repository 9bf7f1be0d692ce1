use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use opscope_model::{Engine, Kernel, Model, RunInfo, RunObserver};
use opscope_producer::{LoadedModel, LoadedPlan, RunFeed, is_any_attached};
use opscope_sys::Mutex;

use super::facts;
use super::observer::Fed;

/// A session's model as consumers see it. They are notified that it is unloaded when this and the last of its runs are
/// dropped.
#[derive(Default)]
pub(crate) struct FedModel {
    /// Set once there is a consumer.
    model: OnceLock<Arc<LoadedModel>>,
    /// The plans that ran, by the address of their kernels.
    plans: Mutex<HashMap<usize, FedPlan>>,
}

struct FedPlan {
    plan: LoadedPlan,
    /// Kept so that the kernels of no other plan get this address.
    _kernels: Arc<[Kernel]>,
}

impl FedModel {
    /// Announces the model to consumers. A model that is not announced here is announced with its first run.
    pub fn announce(&self, engine: &dyn Engine, model: &dyn Model) {
        if is_any_attached() {
            self.model(engine, model).announce();
        }
    }

    /// Begins a run. Returns the observer that feeds it to consumers, or `None` if no consumer requests it.
    #[inline]
    pub fn observe<'a>(
        &self,
        engine: &dyn Engine,
        model: &dyn Model,
        run: &RunInfo<'_>,
    ) -> Option<Box<dyn RunObserver + 'a>> {
        if is_any_attached() { self.begin(engine, model, run) } else { None }
    }

    #[cold]
    fn begin<'a>(
        &self,
        engine: &dyn Engine,
        model: &dyn Model,
        run: &RunInfo<'_>,
    ) -> Option<Box<dyn RunObserver + 'a>> {
        let plan = self.plan(engine, model, run.kernels);
        RunFeed::begin(&plan, run.id.0).map(|feed| Box::new(Fed(feed)) as _)
    }

    fn model(&self, engine: &dyn Engine, model: &dyn Model) -> &Arc<LoadedModel> {
        self.model.get_or_init(|| {
            let graph = model.graph();
            let facts = facts::of_model(graph, engine, model.fidelity());
            LoadedModel::new(&facts, graph.all_operators().map(facts::of_operator))
        })
    }

    fn plan(&self, engine: &dyn Engine, model: &dyn Model, kernels: &Arc<[Kernel]>) -> LoadedPlan {
        let loaded = self.model(engine, model);
        let mut plans = self.plans.lock();
        let fed = plans.entry(kernels.as_ptr().addr()).or_insert_with(|| FedPlan {
            plan: loaded.plan(kernels.iter().map(|kernel| facts::of_kernel(model.graph(), kernel))),
            _kernels: Arc::clone(kernels),
        });
        fed.plan.clone()
    }
}
