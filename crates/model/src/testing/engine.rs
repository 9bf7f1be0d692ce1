use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opscope_onnx::Graph;
use opscope_tensor::Tensor;

use crate::testing::FakePlan;
use crate::{Capabilities, Engine, EngineError, Fidelity, LoadOptions, Model, Plan, PlanForm};

/// An engine whose plans are made by a function, with several forms of optimised plans.
pub struct FakeEngine {
    forms: Vec<PlanForm>,
    capabilities: Capabilities,
    remedy: Option<String>,
    plan: Arc<MakePlan>,
    loads: AtomicUsize,
}

type MakePlan = dyn Fn(&Arc<Graph>, &LoadOptions) -> Result<FakePlan, EngineError> + Send + Sync;

impl FakeEngine {
    /// Creates an engine. `plan` makes a plan whenever one is requested from a model of the engine. An optimised plan
    /// has the form in its options, which is never `None`.
    pub fn new(
        forms: &[&'static str],
        plan: impl Fn(&Arc<Graph>, &LoadOptions) -> Result<FakePlan, EngineError> + Send + Sync + 'static,
    ) -> Self {
        let forms = forms.iter().copied().map(PlanForm::new).collect();
        let capabilities =
            Capabilities { stop: true, intermediates: true, times: true, names: true, memory: true, skip: true };
        Self { forms, capabilities, remedy: None, plan: Arc::new(plan), loads: AtomicUsize::new(0) }
    }

    /// Returns this engine with these capabilities instead of all.
    pub fn with_capabilities(self, capabilities: Capabilities) -> Self {
        Self { capabilities, ..self }
    }

    /// Returns this engine with a remedy for the capabilities that it lacks.
    pub fn with_remedy(self, remedy: &str) -> Self {
        Self { remedy: Some(remedy.to_owned()), ..self }
    }

    /// Returns how many models were loaded.
    pub fn loads(&self) -> usize {
        self.loads.load(Ordering::Relaxed)
    }
}

impl Engine for FakeEngine {
    fn name(&self) -> &str {
        "fake"
    }

    fn version(&self) -> &str {
        "1"
    }

    fn capabilities(&self, _fidelity: Fidelity) -> Capabilities {
        self.capabilities
    }

    fn remedy(&self, _wanted: Capabilities, _fidelity: Fidelity) -> Option<String> {
        self.remedy.clone()
    }

    fn forms(&self) -> Vec<PlanForm> {
        self.forms.clone()
    }

    fn load(&self, graph: Arc<Graph>, options: &LoadOptions) -> Result<Arc<dyn Model>, EngineError> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let form = options.form.clone().or_else(|| self.forms.first().cloned());
        let options = LoadOptions { form, ..options.clone() };
        Ok(Arc::new(FakeModel { graph, options, plan: Arc::clone(&self.plan) }))
    }
}

struct FakeModel {
    graph: Arc<Graph>,
    options: LoadOptions,
    plan: Arc<MakePlan>,
}

impl Model for FakeModel {
    fn graph(&self) -> &Arc<Graph> {
        &self.graph
    }

    fn fidelity(&self) -> Fidelity {
        self.options.fidelity
    }

    fn plan(&self, _inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        Ok(Arc::new((self.plan)(&self.graph, &self.options)?))
    }
}

impl fmt::Debug for FakeEngine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FakeEngine").field("forms", &self.forms).finish_non_exhaustive()
    }
}
