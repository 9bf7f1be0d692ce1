use std::sync::Arc;

use opscope_clock::Ticks;
use opscope_model::{
    Action, Capabilities, Dispatch, EngineError, Instrument, Interest, KernelSet, NoObserver, OpenRunInfo, RunId,
    RunInfo, RunObserver,
};
use opscope_onnx::{Attribute, Operator};
use opscope_sys::{Mutex, MutexGuard};
use opscope_tensor::{DType, Statistics, TensorView};

use crate::Found;
use crate::nonfinite::non_finite;
use crate::place::{PHASE, WRITTEN};

/// Which elements end a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NonFinite {
    /// NaN.
    Nan,
    /// NaN and infinity.
    Any,
}

/// The instrument that stops a program at the first NaN, or at the first infinity.
///
/// It looks at the outputs of every operator, and at the inputs only once something was found.
#[derive(Debug, Clone)]
pub struct Watch {
    kind: NonFinite,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    finding: Option<Finding>,
    /// The first operator of the step that gave an infinity.
    infinity: Option<String>,
}

/// What a watch has found.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// The step.
    pub step: u64,
    /// The operator's name.
    pub operator: String,
    /// Its type.
    pub op_type: String,
    /// The phase.
    pub phase: String,
    /// The path of the module, and its class.
    pub module: Option<(String, String)>,
    /// The line of the program: file, number and text.
    pub source: Option<(String, u32, Option<String>)>,
    /// The output slot.
    pub slot: usize,
    /// What was found.
    pub found: Found,
    /// The statistics of the output.
    pub output: Statistics,
    /// The inputs, by slot.
    pub inputs: Vec<FindingInput>,
    /// The operator of the same step that gave the first infinity, if that was another one.
    pub first_infinity: Option<String>,
}

/// An input of the operator at which something was found.
#[derive(Debug, Clone, PartialEq)]
pub struct FindingInput {
    /// The value: the operator that gave it, or the parameter.
    pub name: Option<String>,
    /// The type of its elements.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its statistics after the operator was executed.
    pub statistics: Statistics,
    /// Whether the operator has written to it, so that the statistics are those of its result.
    pub is_written: bool,
}

impl Watch {
    /// Creates a watch.
    pub fn new(kind: NonFinite) -> Self {
        Self { kind, state: Arc::default() }
    }

    /// Returns what was found.
    pub fn finding(&self) -> Option<Finding> {
        self.lock().finding.clone()
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl Finding {
    /// Returns whether an input has what was found, so that the operator only passed it on.
    pub fn came_in(&self) -> bool {
        let has = |input: &FindingInput| match self.found {
            Found::Nan => input.statistics.nan > 0,
            Found::Infinity => infinite(input) > 0,
        };
        self.inputs.iter().any(|input| !input.is_written && has(input))
    }
}

fn infinite(input: &FindingInput) -> u64 {
    input.statistics.positive_infinite + input.statistics.negative_infinite
}

impl Instrument for Watch {
    fn name(&self) -> &str {
        "watch"
    }

    fn requires(&self) -> Capabilities {
        Capabilities { intermediates: true, names: true, ..Capabilities::default() }
    }

    /// Engines have breakpoints for this: `first nonfinite` of the debugger.
    fn observe<'a>(&'a self, _run: &RunInfo<'a>) -> Box<dyn RunObserver + 'a> {
        Box::new(NoObserver)
    }

    fn observe_open(self: Arc<Self>, run: &OpenRunInfo<'_>) -> Option<Arc<dyn RunObserver + Send + Sync>> {
        self.lock().infinity = None;
        Some(Arc::new(Observer { run: run.id, watch: (*self).clone() }))
    }
}

struct Observer {
    run: RunId,
    watch: Watch,
}

impl RunObserver for Observer {
    fn interest(&self) -> Interest {
        Interest { after: KernelSet::All, keep_inputs: KernelSet::All, ..Interest::default() }
    }

    fn after(&self, dispatch: &Dispatch<'_>, outputs: &[TensorView<'_>]) -> Action {
        let found = outputs.iter().enumerate().find_map(|(slot, output)| Some((slot, output, non_finite(output)?)));
        let Some((slot, output, found)) = found else { return Action::Continue };
        let mut state = self.watch.lock();
        let operator = dispatch.operator();
        if found == Found::Infinity && self.watch.kind == NonFinite::Nan {
            state.infinity.get_or_insert_with(|| operator.name.clone());
            return Action::Continue;
        }
        if state.finding.is_some() {
            return Action::Continue;
        }
        let Ok(output) = Statistics::of(output) else { return Action::Continue };
        let inputs = dispatch.inputs.iter().enumerate().filter_map(|(slot, input)| {
            let value = operator.inputs.get(slot).copied().flatten();
            Some(FindingInput {
                name: value.map(|value| dispatch.graph.value(value).name.clone()),
                dtype: input.dtype(),
                shape: input.shape().to_vec(),
                statistics: Statistics::of(input).ok()?,
                is_written: match operator.attributes.get(WRITTEN) {
                    Some(Attribute::Ints(written)) => written.contains(&(slot as i64)),
                    _ => false,
                },
            })
        });
        let first_infinity = state.infinity.clone().filter(|name| *name != operator.name);
        let finding = finding(self.run, operator, slot, found, output, inputs.collect(), first_infinity);
        let what = if found == Found::Nan { "NaN" } else { "infinity" };
        let reason = format!("{} gave {what}", finding.operator);
        state.finding = Some(finding);
        Action::Stop(reason)
    }

    fn finished(&self, _outcome: Result<(Ticks, Ticks), &EngineError>) {}
}

fn finding(
    run: RunId,
    operator: &Operator,
    slot: usize,
    found: Found,
    output: Statistics,
    inputs: Vec<FindingInput>,
    first_infinity: Option<String>,
) -> Finding {
    let origin = operator.origin.as_ref();
    let phase = match operator.attributes.get(PHASE) {
        Some(Attribute::String(phase)) => phase.clone(),
        _ => String::new(),
    };
    let module = origin.and_then(|origin| origin.module());
    let source = origin.and_then(|origin| origin.source.as_ref());
    Finding {
        step: run.0,
        operator: operator.name.clone(),
        op_type: operator.op_type.clone(),
        phase,
        module: module.map(|module| (module.path.clone(), module.class.clone())),
        source: source.map(|source| (source.file.clone(), source.line, source.code.clone())),
        slot,
        found,
        output,
        inputs,
        first_infinity,
    }
}
