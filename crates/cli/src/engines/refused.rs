//! A model that the embedded engine refuses, and the engine that runs it.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use opscope::engine::{EngineName, EngineSpec, Library, LibraryError};
use opscope::machine;
use opscope::model::EngineError;
use opscope::onnx::Graph;
use rustix::process::{Pid, Resource, Rlimit, prlimit};

use crate::exit::{Exit, Failure};

/// How long ONNX Runtime may take to load and run a model only for a hint.
const PATIENCE: Duration = Duration::from_secs(20);

/// Adds to a failure which engine would run the model, if the embedded one refused it. `inputs` are the options that gave
/// the model its inputs.
pub fn with_hint(
    failure: Failure,
    error: Option<&EngineError>,
    engine: &EngineSpec,
    model: &Path,
    inputs: &[String],
) -> Failure {
    let Some(error) = error.filter(|_| engine.name == EngineName::Tract) else { return failure };
    match error {
        EngineError::UnsupportedOperator { .. } | EngineError::Load { .. } | EngineError::Panic { .. } => {}
        _ => return failure,
    }
    match Library::find(None) {
        Ok(library) if runs(model, inputs) => {
            failure.with_hint(format!("ONNX Runtime {} runs it: --engine onnxruntime", library.version()))
        }
        Err(LibraryError::NotFound { .. })
            if matches!(error, EngineError::UnsupportedOperator { .. }) && has_only_onnx_operators(model) =>
        {
            failure.with_hint("ONNX Runtime may run it: `pip install onnxruntime`, then --engine onnxruntime")
        }
        _ => failure,
    }
}

/// Returns whether ONNX Runtime runs a model. Another process tries: where the library crashes, takes too long or wants all
/// memory, only the hint is lost.
fn runs(model: &Path, inputs: &[String]) -> bool {
    let Ok(program) = std::env::current_exe() else { return false };
    let mut command = Command::new(program);
    command.args(["attempt", "--engine=onnxruntime", &format!("--parent={}", std::process::id())]);
    command.args(inputs).arg("--").arg(model);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let Ok(mut child) = command.spawn() else { return false };
    let most = Some(machine::available_memory());
    let _ = prlimit(Pid::from_child(&child).into(), Resource::As, Rlimit { current: most, maximum: most });
    let Some(mut stdout) = child.stdout.take() else { return false };
    let (done, ended) = mpsc::channel();
    thread::spawn(move || {
        let _ = stdout.read_to_end(&mut Vec::new());
        let _ = done.send(());
    });
    if ended.recv_timeout(PATIENCE).is_err() {
        let _ = child.kill();
    }
    child.wait().is_ok_and(|status| status.code() == Some(Exit::Done as i32))
}

fn has_only_onnx_operators(model: &Path) -> bool {
    let is_onnx = |graph: Graph| {
        let operators = graph.operators.iter().chain(&graph.inner_operators);
        operators.into_iter().all(|operator| operator.domain.is_empty())
    };
    Graph::load(model).is_ok_and(is_onnx)
}
