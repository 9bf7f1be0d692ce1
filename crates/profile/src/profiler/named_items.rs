use std::collections::HashSet;
use std::sync::Arc;

use opscope_model::{Kernel, RunInfo};
use opscope_onnx::Graph;
use opscope_trace::{PlanId, ThreadId, current_thread};

use crate::recording::{NamesLine, RecordingWriter, name_of_this_thread};

/// The graphs, plans and threads whose names are written. They are kept so that no other one gets the same address.
#[derive(Default)]
pub struct Known {
    graphs: Vec<Arc<Graph>>,
    plans: Vec<Arc<[Kernel]>>,
    threads: HashSet<ThreadId>,
}

impl Known {
    /// Returns the number of a plan; its names are written when it is met first.
    pub fn plan(&mut self, run: &RunInfo<'_>, writer: &RecordingWriter) -> PlanId {
        // The plan of the last run is the likeliest.
        let met = self.plans.iter().rposition(|plan| Arc::ptr_eq(plan, run.kernels));
        let number = met.unwrap_or_else(|| {
            let (graph, plan) = (self.graph(run.graph, writer), self.plans.len());
            writer.names().add(&NamesLine::plan(plan, graph, run.graph, run.fidelity, run.kernels));
            self.plans.push(Arc::clone(run.kernels));
            plan
        });
        PlanId(number as u64)
    }

    /// Writes the name of the calling thread when it is met first: only the thread itself knows its whole name; the system keeps 15 bytes.
    pub fn thread(&mut self, writer: &RecordingWriter) {
        let thread = current_thread();
        if self.threads.insert(thread) {
            writer.names().thread(thread, name_of_this_thread);
        }
    }

    /// Returns the number of a graph; its names are written when it is met first.
    pub fn graph(&mut self, graph: &Arc<Graph>, writer: &RecordingWriter) -> usize {
        self.graphs.iter().position(|known| Arc::ptr_eq(known, graph)).unwrap_or_else(|| {
            writer.names().add(&NamesLine::graph(self.graphs.len(), graph));
            self.graphs.push(Arc::clone(graph));
            self.graphs.len() - 1
        })
    }
}
