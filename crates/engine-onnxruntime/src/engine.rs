use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use opscope_model::{CLOCK_RESOLUTION, Capabilities, Engine, EngineError, Fidelity, LoadOptions, Model, PlanForm};
use opscope_onnx::Graph;

use crate::library::{Library, LibraryError};
use crate::options::{GraphOptimizationLevel, OnnxRuntimeOptions};
use crate::plan::{ExactModel, OptimisedModel, check_operators};
use crate::program::ProgramOptions;
use crate::setup::Setup;

/// ONNX Runtime, with the options of its sessions.
#[derive(Debug, Clone)]
pub struct OnnxRuntimeEngine(Setup);

/// The oldest interface that profiles single runs.
const PROFILES_RUNS: u32 = 25;

impl OnnxRuntimeEngine {
    /// Creates an engine.
    ///
    /// # Errors
    /// Returns an error if the library lacks a provider, or the provider rejects its options or does not find its
    /// device.
    pub fn new(library: Arc<Library>, options: OnnxRuntimeOptions) -> Result<Self, LibraryError> {
        Setup::new(library, options).map(Self)
    }

    /// Creates an engine whose sessions have the options of a session of the program, except those that write files,
    /// and in exact runs those of optimisation and parallel execution.
    pub fn beside_program(library: Arc<Library>, options: ProgramOptions) -> Self {
        Self(Setup::of_program(library, options.0))
    }

    /// Returns the library.
    pub fn library(&self) -> &Arc<Library> {
        &self.0.library
    }

    /// Returns the options of its sessions.
    pub fn options(&self) -> &OnnxRuntimeOptions {
        &self.0.options
    }

    /// Returns the optimisation level of a form.
    fn level(&self, form: Option<&PlanForm>) -> Result<GraphOptimizationLevel, EngineError> {
        let Some(form) = form else { return Ok(self.0.options.graph_optimization_level) };
        let known = GraphOptimizationLevel::ALL.into_iter().find(|level| form_of(*level) == *form);
        known.ok_or_else(|| EngineError::Load {
            node: None,
            reason: format!("it has no plans of the form '{}'", form.name()),
        })
    }
}

fn form_of(level: GraphOptimizationLevel) -> PlanForm {
    PlanForm::new(match level {
        GraphOptimizationLevel::Disable => "graph optimisations: disable",
        GraphOptimizationLevel::Basic => "graph optimisations: basic",
        GraphOptimizationLevel::Extended => "graph optimisations: extended",
        GraphOptimizationLevel::Layout => "graph optimisations: layout",
        GraphOptimizationLevel::All => "graph optimisations: all",
    })
}

impl Engine for OnnxRuntimeEngine {
    fn name(&self) -> &str {
        "onnxruntime"
    }

    fn version(&self) -> &str {
        self.0.library.version()
    }

    fn capabilities(&self, fidelity: Fidelity) -> Capabilities {
        let exact = fidelity == Fidelity::Exact;
        Capabilities {
            stop: exact,
            intermediates: exact,
            times: exact || self.0.library.api().number() >= PROFILES_RUNS,
            names: true,
            memory: false,
            skip: false,
        }
    }

    fn time_resolution(&self, fidelity: Fidelity) -> Duration {
        match fidelity {
            // The library's profiles are in whole microseconds.
            Fidelity::Optimised => Duration::from_micros(1),
            Fidelity::Exact => CLOCK_RESOLUTION,
        }
    }

    fn remedy(&self, wanted: Capabilities, fidelity: Fidelity) -> Option<String> {
        let times = wanted.times && !self.capabilities(fidelity).times;
        times.then(|| format!("ONNX Runtime 1.{PROFILES_RUNS} or later can: `pip install --upgrade onnxruntime`"))
    }

    fn settings(&self) -> BTreeMap<String, String> {
        let library = self.0.library.path().display().to_string();
        if self.0.is_of_program() {
            let settings = [("library", library), ("session_options", "those of the program".to_owned())];
            return settings.map(|(name, value)| (name.to_owned(), value)).into();
        }
        let options = &self.0.options;
        let mut settings = vec![
            ("library", library),
            ("providers", self.0.providers_text()),
            ("execution_mode", options.execution_mode.to_string()),
            ("graph_optimization_level", options.graph_optimization_level.to_string()),
            ("allow_spinning", options.allow_spinning.to_string()),
        ];
        settings.extend(options.inter_op_threads.map(|threads| ("inter_op_threads", threads.to_string())));
        settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    fn forms(&self) -> Vec<PlanForm> {
        let level = self.0.options.graph_optimization_level;
        // Which level the program has chosen is not known.
        if self.0.is_of_program() {
            return vec![form_of(level)];
        }
        let weaker = GraphOptimizationLevel::ALL.into_iter().rev().filter(|other| *other <= level);
        weaker.map(form_of).collect()
    }

    fn load(&self, graph: Arc<Graph>, options: &LoadOptions) -> Result<Arc<dyn Model>, EngineError> {
        check_operators(&graph, options.budget)?;
        let level = self.level(options.form.as_ref())?;
        Ok(match options.fidelity {
            Fidelity::Optimised => Arc::new(OptimisedModel::load(&self.0, graph, options, level)?),
            Fidelity::Exact => Arc::new(ExactModel::load(&self.0, graph, options)?),
        })
    }
}
