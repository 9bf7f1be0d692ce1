//! A model that runs beside a session of the program.
//!
//! This is what a session of the crate `opscope` does. That crate has the embedded engine, whose start would cost every
//! process into which this library is preloaded.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_clock::Ticks;
use opscope_dump::DumpInfo;
use opscope_engine_onnxruntime::OnnxRuntimeEngine;
use opscope_model::{
    CLOCK_RESOLUTION, DeviceTensors, Engine, EngineError, Fidelity, Instrument, LoadOptions, Plan, RunId, RunInfo,
};
use opscope_onnx::Graph;
use opscope_profile::{EngineInfo, RecordingInfo};
use opscope_tensor::Tensor;
use opscope_trace::correlate;

/// A model that is loaded and can run.
pub struct Model {
    engine: OnnxRuntimeEngine,
    loaded: Arc<dyn opscope_model::Model>,
    threads: NonZeroUsize,
    loading: (Ticks, Ticks),
    /// The number of the next run.
    next_run: AtomicU64,
}

impl Model {
    /// Loads a graph.
    pub fn load(
        engine: OnnxRuntimeEngine,
        graph: &Arc<Graph>,
        fidelity: Fidelity,
        threads: NonZeroUsize,
    ) -> Result<Self, EngineError> {
        let start = Ticks::now();
        let loaded = engine.load(Arc::clone(graph), &LoadOptions::new(fidelity, threads))?;
        Ok(Self { engine, loaded, threads, loading: (start, Ticks::now()), next_run: AtomicU64::new(0) })
    }

    /// Returns the model as the engine has loaded it.
    pub fn loaded(&self) -> &dyn opscope_model::Model {
        &*self.loaded
    }

    /// Returns when loading began and ended.
    pub fn loading(&self) -> (Ticks, Ticks) {
        self.loading
    }

    /// Prepares a plan for these inputs.
    pub fn plan(&self, inputs: &[Tensor]) -> Result<Arc<dyn Plan>, EngineError> {
        self.loaded.plan(inputs)
    }

    /// Runs once on the calling thread, with an instrument. The outputs stay in the engine's memory.
    pub fn run(&self, inputs: &[Tensor], instrument: &dyn Instrument) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let id = RunId(self.next_run.fetch_add(1, Ordering::Relaxed));
        self.run_plan(&*self.plan(inputs)?, id, inputs, instrument)
    }

    /// As [`run`](Self::run), with a plan for such inputs and a number.
    pub fn run_plan(
        &self,
        plan: &dyn Plan,
        id: RunId,
        inputs: &[Tensor],
        instrument: &dyn Instrument,
    ) -> Result<Box<dyn DeviceTensors>, EngineError> {
        let (graph, fidelity) = (self.loaded.graph(), self.loaded.fidelity());
        let info = RunInfo { id, graph, kernels: plan.kernels(), fidelity };
        let _correlated = correlate();
        let observer = instrument.observe(&info);
        let start = Ticks::now();
        let resident = plan.upload(inputs).inspect_err(|error| observer.finished(Err(error)))?;
        observer.uploaded(&*resident, start, Ticks::now());
        let outputs = plan.run(id, &*resident, &*observer)?;
        Ok(outputs)
    }

    /// Returns whether taking times costs a part of a run.
    pub fn takes_times_from_a_profile(&self) -> bool {
        self.engine.time_resolution(self.loaded.fidelity()) > CLOCK_RESOLUTION
    }

    /// Returns what a recording says of the model and the engine.
    pub fn recording_info(&self) -> RecordingInfo {
        let fidelity = self.loaded.fidelity();
        let resolution = self.engine.time_resolution(fidelity);
        let engine = EngineInfo {
            name: self.engine.name().to_owned(),
            version: self.engine.version().to_owned(),
            settings: self.engine.settings(),
            fidelity,
            threads: self.threads.get(),
            concurrent_runs: 1,
            time_resolution_ns: u64::try_from(resolution.as_nanos()).unwrap_or(u64::MAX),
        };
        RecordingInfo { graph: Arc::clone(self.loaded.graph()), engine }
    }

    /// Returns what a dump says of the model and the engine.
    pub fn dump_info(&self) -> DumpInfo {
        DumpInfo::new(self.loaded.graph(), self.loaded.fidelity(), self.engine.name(), self.engine.version())
    }
}
