use std::collections::HashSet;
use std::sync::Arc;

use opscope_model::{Kernel, RunInfo};
use opscope_onnx::Graph;
use opscope_trace::{PlanId, ThreadId, current_thread};

use crate::recording::{NamesLine, RecordingWriter, name_of_this_thread};

/// The graphs, plans and threads whose names have been written. They are kept alive so that nothing else gets the same
/// address.
#[derive(Default)]
pub struct NamedItems {
    graphs: Vec<Arc<Graph>>,
    plans: Vec<Arc<[Kernel]>>,
    threads: HashSet<ThreadId>,
}

impl NamedItems {
    /// Returns the number of a plan. Writes its names if the plan is new.
    pub fn plan(&mut self, run: &RunInfo<'_>, writer: &RecordingWriter) -> PlanId {
        // The plan of the last run is the most likely one.
        let met = self.plans.iter().rposition(|plan| Arc::ptr_eq(plan, run.kernels));
        let number = met.unwrap_or_else(|| {
            let (graph, plan) = (self.graph(run.graph, writer), self.plans.len());
            writer.names().add(&NamesLine::plan(plan, graph, run.graph, run.fidelity, run.kernels));
            self.plans.push(Arc::clone(run.kernels));
            plan
        });
        PlanId(number as u64)
    }

    /// Writes the name of the calling thread if the thread is new. Only the thread itself knows its full name, because
    /// the system keeps only 15 bytes.
    pub fn thread(&mut self, writer: &RecordingWriter) {
        let thread = current_thread();
        if self.threads.insert(thread) {
            writer.names().thread(thread, name_of_this_thread);
        }
    }

    /// Returns the number of a graph. Writes its names if the graph is new.
    pub fn graph(&mut self, graph: &Arc<Graph>, writer: &RecordingWriter) -> usize {
        self.graphs.iter().position(|known| Arc::ptr_eq(known, graph)).unwrap_or_else(|| {
            writer.names().add(&NamesLine::graph(self.graphs.len(), graph));
            self.graphs.push(Arc::clone(graph));
            self.graphs.len() - 1
        })
    }
}
