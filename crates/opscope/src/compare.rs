//! Comparing two ways to run a model, or a run with a dump: while running, without a dump of its own on disk.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::Arc;

use opscope_dump::{
    CompareOptions, CompareSink, Comparison, DumpError, Dumper, KeepSink, Pattern, Request, Selection, Sink, StoredDump,
};
use opscope_model::{EngineError, Fidelity, Instrument, RunId, RunInfo};
use opscope_onnx::{Graph, Producer};
use opscope_tensor::Tensor;

use crate::{Session, SessionError};

/// One way to run a model.
#[derive(Debug, Clone)]
pub struct Way {
    /// The ONNX file.
    pub model: PathBuf,
    /// How faithfully it is followed. Only at exact fidelity all values can be seen; else the model's outputs.
    pub fidelity: Fidelity,
    /// Threads within an operator.
    pub threads: NonZeroUsize,
}

/// What a run is compared with.
#[derive(Debug, Clone)]
pub enum Reference {
    /// Another way to run a model, on the same inputs.
    Run(Way),
    /// A dump.
    Dump(Arc<StoredDump>),
}

/// Why two ways could not be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CompareError {
    /// A model.
    #[error(transparent)]
    Session(#[from] SessionError),
    /// A run.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The tensors on their way.
    #[error(transparent)]
    Dump(#[from] DumpError),
}

/// Tensors of the reference's run that are kept in memory; beyond it they wait in a file without a name.
const KEPT_IN_MEMORY: u64 = 128 << 20;

/// Runs a model once and compares every tensor with the reference's, by the names of values.
///
/// # Errors
/// When a model cannot be loaded or run, or there is no room for the tensors of the reference.
pub fn compare_run(
    way: &Way,
    reference: &Reference,
    inputs: &[Tensor],
    mut options: CompareOptions,
) -> Result<Comparison, CompareError> {
    let kept = match reference {
        Reference::Dump(dump) => Arc::clone(dump),
        Reference::Run(reference) => {
            let session = Session::load(&reference.model, reference.fidelity, reference.threads)?;
            let (sink, keeper) = KeepSink::new(KEPT_IN_MEMORY, std::env::temp_dir());
            run(&session, inputs, Box::new(sink))?;
            Arc::new(StoredDump { path: reference.label().into(), ..keeper.dump() })
        }
    };
    let session = Session::load(&way.model, way.fidelity, way.threads)?;
    options.graph.get_or_insert_with(|| Arc::clone(session.graph()));
    let (sink, comparer) = CompareSink::new(kept, options);
    run(&session, inputs, Box::new(sink))?;
    Ok(comparer.comparison(&way.label()))
}

impl Way {
    /// What a comparison calls it.
    fn label(&self) -> String {
        let threads = if self.threads.get() == 1 { String::new() } else { format!(", {} threads", self.threads) };
        format!("{} ({}{threads})", self.model.display(), self.fidelity)
    }
}

fn run(session: &Session, inputs: &[Tensor], sink: Box<dyn Sink>) -> Result<(), CompareError> {
    let plan = session.model().plan(inputs)?;
    let resident = plan.upload(inputs)?;
    let dumper = Dumper::new();
    let fidelity = session.model().fidelity();
    dumper.subscribe(sink, Request { selection: selection(session.graph(), fidelity), ..Request::default() })?;
    dumper.add_plan(&**session.model(), &*plan)?;
    let graph = session.graph();
    let info = RunInfo { id: RunId(0), graph, kernels: plan.kernels(), fidelity };
    let outcome = plan.run(RunId(0), &*resident, &*dumper.observe(&info));
    dumper.finish()?;
    outcome?;
    Ok(())
}

/// What can be seen of a model: where operators are fused, only those that give the model's outputs.
fn selection(graph: &Graph, fidelity: Fidelity) -> Selection {
    let mut selection = Selection::default();
    if fidelity == Fidelity::Optimised {
        let producers = graph.outputs.iter().filter_map(|&output| match graph.value(output).producer {
            Producer::Operator(operator, _) => Some(Pattern::Exact(graph.operator(operator).name.clone())),
            _ => None,
        });
        selection.operators = producers.collect();
    }
    selection
}
