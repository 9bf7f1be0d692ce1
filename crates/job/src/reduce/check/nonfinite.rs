//! The first operator that makes a NaN or an infinity.

use std::collections::HashSet;
use std::io;

use opscope::Session;
use opscope_model::{Action, Dispatch, EngineError, Interest, KernelSet, Plan, RunId, RunObserver};
use opscope_onnx::{Graph, OnnxError, Operator, OperatorId, Producer, ValueId};
use opscope_sys::Mutex;
use opscope_tensor::{ScanQuery, ScanResult, Tensor, TensorView};

use super::super::fails::{Failure, Symptom};

/// Runs a model once, exactly, and returns the first operator that makes a NaN or an infinity of finite inputs. If
/// there is none, it is the first one that makes a NaN of infinite inputs without one.
///
/// # Errors
/// Returns the engine's error.
pub fn first_nonfinite(session: &Session, inputs: &[Tensor]) -> Result<Option<Failure>, EngineError> {
    let plan = session.model().plan(inputs)?;
    let graph = session.graph();
    let mut found = Found::default();
    if let Some(folded) = among_constants(graph, &*plan) {
        if folded.from_finite {
            return Ok(Some(folded.failure(graph)));
        }
        found.second = Some(folded);
    }
    let observer = Observer { found: Mutex::new(found) };
    let resident = plan.upload(inputs)?;
    let outcome = plan.run(RunId(0), &*resident, &observer);
    let Found { first, second } = observer.found.into_inner();
    match (first.or(second), outcome) {
        (Some(origin), _) => Ok(Some(origin.failure(graph))),
        (None, Err(error)) => Err(error),
        (None, Ok(_)) => Ok(None),
    }
}

/// An operator that makes a NaN or an infinity.
#[derive(Debug, Clone, Copy)]
struct Origin {
    operator: OperatorId,
    nan: bool,
    from_finite: bool,
}

impl Origin {
    fn failure(self, graph: &Graph) -> Failure {
        let operator = graph.operator(self.operator);
        let made = if self.nan { "NaN" } else { "infinite" };
        let of = if self.from_finite { "finite" } else { "infinite" };
        let (name, op_type) = (&operator.name, typed(operator));
        // The name of an operator without one of its own begins with its type.
        let shown = if name.starts_with(&op_type) { name.clone() } else { format!("{op_type} '{name}'") };
        Failure {
            text: format!("{shown} is the first whose outputs are {made} where its inputs are {of}"),
            symptom: Symptom::Nonfinite { op_type, nan: self.nan, from_finite: self.from_finite },
            operator: Some(name.clone()),
        }
    }
}

/// Returns the type of an operator, with its domain unless that is ONNX's own.
pub fn typed(operator: &Operator) -> String {
    match operator.domain.as_str() {
        "" | "ai.onnx" => operator.op_type.clone(),
        domain => format!("{domain}.{}", operator.op_type),
    }
}

/// Which numbers of a tensor are not finite.
#[derive(Debug, Clone, Copy, Default)]
struct Kinds {
    nan: bool,
    infinite: bool,
}

impl Kinds {
    /// Scans a tensor. One that cannot be read counts as finite.
    fn of(tensor: &TensorView<'_>) -> Self {
        match ScanResult::of(tensor, ScanQuery::NON_FINITE) {
            Ok(found) => Self { nan: found.nan > 0, infinite: found.infinite > 0 },
            Err(_) => Self::default(),
        }
    }

    fn any(self) -> bool {
        self.nan || self.infinite
    }

    fn or(self, other: Self) -> Self {
        Self { nan: self.nan || other.nan, infinite: self.infinite || other.infinite }
    }
}

/// Returns the origin of what outputs contain, given what the inputs contain.
fn origin(operator: OperatorId, inputs: Kinds, outputs: Kinds) -> Option<Origin> {
    let new = match (inputs.any(), outputs.any()) {
        (false, is_new) => is_new,
        (true, _) => outputs.nan && !inputs.nan,
    };
    new.then_some(Origin { operator, nan: outputs.nan, from_finite: !inputs.any() })
}

/// Returns the first operator that makes such numbers among those that the engine computed when it loaded the model.
fn among_constants(graph: &Graph, plan: &dyn Plan) -> Option<Origin> {
    let mut folded = Vec::new();
    let visited = plan.constants(&mut |value, tensor| {
        let kinds = Kinds::of(&tensor);
        if kinds.any() {
            folded.push((value, kinds));
        }
        io::Result::Ok(())
    });
    visited.ok()?;
    let of = |value: ValueId| folded.iter().find(|(other, _)| *other == value).map(|(_, kinds)| *kinds);
    let mut second = None;
    for operator in graph.operators.iter().filter(|operator| !operator.is_constant()) {
        let outputs =
            operator.outputs.iter().flatten().filter_map(|&value| of(value)).fold(Kinds::default(), Kinds::or);
        if !outputs.any() {
            continue;
        }
        let inputs = operator.inputs.iter().flatten().filter_map(|&value| of(value)).fold(Kinds::default(), Kinds::or);
        let inputs = inputs.or(constants_of(graph, operator));
        match origin(operator.id, inputs, outputs) {
            Some(found) if found.from_finite => return Some(found),
            Some(found) => second = second.or(Some(found)),
            None => {}
        }
    }
    second
}

/// Returns what the constants among an operator's inputs contain.
fn constants_of(graph: &Graph, operator: &Operator) -> Kinds {
    let is_stored = |value: ValueId| match graph.value(value).producer {
        Producer::Initializer => true,
        Producer::Operator(producer, _) => graph.operator(producer).is_constant(),
        Producer::Input => false,
    };
    let wanted: HashSet<ValueId> =
        operator.inputs.iter().flatten().copied().filter(|&value| is_stored(value)).collect();
    let mut kinds = Kinds::default();
    if !wanted.is_empty() {
        // Data that cannot be read would have been an error before.
        let _ = graph.constants::<OnnxError>(
            |value| wanted.contains(&value),
            |_, tensor| {
                kinds = kinds.or(Kinds::of(&tensor.view()));
                Ok(())
            },
        );
    }
    kinds
}

#[derive(Default)]
struct Found {
    first: Option<Origin>,
    /// The first operator that makes a NaN of infinities.
    second: Option<Origin>,
}

struct Observer {
    found: Mutex<Found>,
}

impl RunObserver for Observer {
    fn interest(&self) -> Interest {
        Interest { after: KernelSet::All, keep_inputs: KernelSet::All, ..Interest::default() }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let given = outputs.iter().map(Kinds::of).fold(Kinds::default(), Kinds::or);
        if !given.any() {
            return Action::Continue;
        }
        let taken = dispatch.inputs.iter().map(Kinds::of).fold(Kinds::default(), Kinds::or);
        let taken = taken.or(constants_of(dispatch.graph, dispatch.operator()));
        let mut found = self.found.lock();
        match origin(dispatch.operator().id, taken, given) {
            Some(origin) if origin.from_finite && found.first.is_none() => {
                found.first = Some(origin);
                Action::Stop("the first operator is found".to_owned())
            }
            Some(origin) if !origin.from_finite && found.second.is_none() => {
                found.second = Some(origin);
                Action::Continue
            }
            _ => Action::Continue,
        }
    }
}
