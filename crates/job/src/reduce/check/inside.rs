//! Checks that run in this process.

use std::sync::Arc;

use opscope::engine::{EngineName, EngineSpec};
use opscope::{Session, SessionError};
use opscope_dump::{CompareOptions, Comparison, Verdict};
use opscope_model::{EngineError, Fidelity, LoadBudget, LoadOptions};
use opscope_onnx::Graph;
use opscope_tensor::Tensor;

use super::nonfinite::first_nonfinite;
use super::{CheckSpec, Outcome};
use crate::compare::{CompareError, Reference, RunSpec, compare_runs};
use crate::inputs::Inputs;
use crate::reduce::case::Case;
use crate::reduce::fails::{Fails, Failure, Symptom};
use crate::verify::own_plan;

/// Runs a model and returns whether it fails.
pub fn outcome(case: &Case, spec: &CheckSpec) -> Outcome {
    let graph = match case.graph() {
        Ok(graph) => graph,
        Err(error) => return of_error(&spec.fails, &error.to_string()),
    };
    let inputs = case.tensors(&graph);
    match &spec.fails {
        Fails::FirstNonfinite => nonfinite(&graph, &inputs, spec),
        Fails::EnginesDiffer => engines(&graph, &inputs, spec),
        Fails::PlanDiffers => plan(&graph, &inputs, spec),
        Fails::Error(_) => error(&graph, &inputs, spec),
        Fails::Crash | Fails::Command(_) => Outcome::Otherwise("it is checked in another process only".to_owned()),
    }
}

/// Returns whether the engine loads a model and plans it for its inputs.
pub fn loads(case: &Case, spec: &CheckSpec) -> bool {
    let Ok(graph) = case.graph() else { return false };
    let inputs = case.tensors(&graph);
    open(&graph, spec, Fidelity::Exact).is_ok_and(|session| session.model().plan(&inputs).is_ok())
}

fn open(graph: &Arc<Graph>, spec: &CheckSpec, fidelity: Fidelity) -> Result<Session, SessionError> {
    let options = LoadOptions::new(fidelity, spec.threads);
    Ok(Session::with_engine(spec.engine.open()?, Arc::clone(graph), &options)?)
}

fn nonfinite(graph: &Arc<Graph>, inputs: &[Tensor], spec: &CheckSpec) -> Outcome {
    let session = match open(graph, spec, Fidelity::Exact) {
        Ok(session) => session,
        Err(error) => return Outcome::Otherwise(error.to_string()),
    };
    match first_nonfinite(&session, inputs) {
        Ok(Some(failure)) => Outcome::Fails(failure),
        Ok(None) => Outcome::Otherwise("no operator makes a NaN or an infinity; all values are finite".to_owned()),
        Err(error) => Outcome::Otherwise(error.to_string()),
    }
}

fn engines(graph: &Arc<Graph>, inputs: &[Tensor], spec: &CheckSpec) -> Outcome {
    let side = |name| (EngineSpec { name, ..spec.engine.clone() }, Fidelity::Exact);
    let sides = [side(EngineName::Tract), side(EngineName::OnnxRuntime)];
    let comparison = match compared(graph, inputs, spec, sides) {
        Ok(comparison) => comparison,
        Err(error) => return Outcome::Otherwise(error.to_string()),
    };
    if comparison.verdict() != Verdict::Different {
        return Outcome::Otherwise("the engines agree within the tolerance of opscope compare".to_owned());
    }
    let operator = comparison.divergence.as_ref().and_then(|divergence| divergence.operator.as_ref());
    let op_type = operator.and_then(|operator| operator.op_type.clone());
    let text = match operator {
        Some(operator) => format!("tract and ONNX Runtime differ, first at {}", operator.name),
        None => "tract and ONNX Runtime differ".to_owned(),
    };
    Outcome::Fails(Failure {
        symptom: Symptom::EnginesDiffer { op_type },
        text,
        operator: operator.map(|operator| operator.name.clone()),
    })
}

/// Compares the values of two runs of a model.
fn compared(
    graph: &Arc<Graph>,
    inputs: &[Tensor],
    spec: &CheckSpec,
    sides: [(EngineSpec, Fidelity); 2],
) -> Result<Comparison, CompareError> {
    let [run, reference] = sides.map(|(engine, fidelity)| RunSpec {
        model: graph.source.path.clone(),
        graph: Some(Arc::clone(graph)),
        engine,
        fidelity,
        threads: spec.threads,
        budget: LoadBudget::default(),
    });
    let inputs = Inputs::Same(inputs.to_vec());
    compare_runs(&run, &Reference::Run(reference), &inputs, graph, CompareOptions::default())
}

fn plan(graph: &Arc<Graph>, inputs: &[Tensor], spec: &CheckSpec) -> Outcome {
    let session = match open(graph, spec, Fidelity::Optimised) {
        Ok(session) => session,
        Err(error) => return Outcome::Otherwise(error.to_string()),
    };
    match own_plan(&session, inputs) {
        Ok(None) => Outcome::Otherwise("the optimised plan has the outputs of the exact plan".to_owned()),
        Ok(Some(wrong)) => Outcome::Fails(Failure {
            symptom: Symptom::PlanDiffers { runs: wrong.fails_with.is_none() },
            text: format!("the optimised plan {}", wrong.fault(1)),
            operator: None,
        }),
        Err(because) => Outcome::Otherwise(because.to_string()),
    }
}

/// Loads and runs a model, as the benchmark does and then exactly, until an error contains the text.
fn error(graph: &Arc<Graph>, inputs: &[Tensor], spec: &CheckSpec) -> Outcome {
    let mut instead = None;
    for fidelity in [Fidelity::Optimised, Fidelity::Exact] {
        let ran = open(graph, spec, fidelity).and_then(|session| Ok(session.compute(inputs, &[]).map(drop)?));
        let Err(error) = ran else { continue };
        match of_error(&spec.fails, &error.to_string()) {
            Outcome::Fails(failure) => {
                let node = match &error {
                    SessionError::Engine(error) => node_of(error),
                    _ => None,
                };
                return Outcome::Fails(Failure { operator: node, ..failure });
            }
            Outcome::Otherwise(text) => instead = instead.or(Some(text)),
        }
    }
    Outcome::Otherwise(instead.unwrap_or_else(|| "it loads and runs without an error".to_owned()))
}

/// Returns the node that an error names.
fn node_of(error: &EngineError) -> Option<String> {
    match error {
        EngineError::UnsupportedOperator { node, .. } => Some(node.clone()),
        EngineError::Load { node, .. }
        | EngineError::OverBudget { node, .. }
        | EngineError::Memory { node, .. }
        | EngineError::Run { node, .. }
        | EngineError::Index { node, .. }
        | EngineError::Panic { node, .. } => node.clone(),
        _ => None,
    }
}

/// Returns whether an error is the one that is looked for.
fn of_error(fails: &Fails, error: &str) -> Outcome {
    match fails {
        Fails::Error(text) if error.contains(text.as_str()) => {
            Outcome::Fails(Failure { symptom: Symptom::Error, text: error.to_owned(), operator: None })
        }
        _ => Outcome::Otherwise(error.to_owned()),
    }
}
