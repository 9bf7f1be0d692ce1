use std::collections::HashMap;
use std::sync::Arc;

use opscope_model::Iteration;
use opscope_onnx::CodeOrigin;
use opscope_trace::Correlation;

use crate::Recording;
use crate::recording::{DispatchFact, KernelNames, Names, TensorKind};
use opscope_tensor::DType;

/// The attribution of a kernel that stands for no operator.
const NONE: &str = "none";

/// The labels of a kernel in exports, which are made once.
#[derive(Debug)]
pub struct KernelLabels {
    /// The display name of the operator, with the number of other operators that the kernel executes.
    pub title: String,
    /// The name of the operator that the kernel's time counts for.
    pub operator: String,
    /// That operator's position in the program that the file was exported from, if the file has it.
    pub origin: Option<CodeOrigin>,
    /// That operator's type.
    pub op_type: String,
    /// The engine's name for the kernel.
    pub engine_name: String,
    /// What the engine executes.
    pub engine_op: String,
    /// How the operator is known: `exact` if the engine states it, `inferred`, or `none` for a kernel that stands for
    /// no operator.
    pub attribution: &'static str,
    /// The names of the other operators.
    pub fused: Vec<String>,
    /// The shapes of its inputs, such as `1,3,224,224;64,3,7,7`; `None` if there are none.
    pub input_shapes: Option<String>,
    /// The types of its inputs, such as `FLOAT;INT64`, with the names of ONNX's `TensorProto.DataType`.
    pub input_types: Option<String>,
    /// The shapes of its outputs.
    pub output_shapes: Option<String>,
    /// The types of its outputs.
    pub output_types: Option<String>,
}

/// The labels of all kernels that were requested so far.
pub struct LabelTable<'a> {
    names: &'a Names,
    labels: HashMap<(u64, u32), Arc<KernelLabels>>,
}

impl<'a> LabelTable<'a> {
    /// Creates an empty table.
    pub(crate) fn new(names: &'a Names) -> Self {
        Self { names, labels: HashMap::new() }
    }

    /// Returns the labels of a kernel. If its names were lost, they contain its numbers.
    pub fn get(&mut self, plan: u64, kernel: u32) -> Arc<KernelLabels> {
        let names = self.names;
        Arc::clone(self.labels.entry((plan, kernel)).or_insert_with(|| {
            let labels = match names.kernel(plan, kernel) {
                Some(known) => KernelLabels::of(known),
                None => KernelLabels::of(&KernelNames::unknown(plan, kernel)),
            };
            Arc::new(labels)
        }))
    }
}

impl KernelLabels {
    fn of(names: &KernelNames) -> Self {
        let title = match names.fused.len() {
            0 => names.display_name().to_owned(),
            count => format!("{} +{count} fused", names.display_name()),
        };
        Self {
            title,
            operator: names.operator.clone(),
            origin: names.origin.clone(),
            op_type: names.op_type.clone(),
            engine_name: names.name.clone(),
            engine_op: names.op.clone(),
            attribution: match names {
                KernelNames { added: true, .. } => NONE,
                KernelNames { exact: true, .. } => "exact",
                _ => "inferred",
            },
            fused: names.fused.iter().map(|operator| operator.name.clone()).collect(),
            input_shapes: shapes(&names.inputs),
            input_types: types(&names.inputs),
            output_shapes: shapes(&names.outputs),
            output_types: types(&names.outputs),
        }
    }

    /// Returns whether the engine added the kernel on its own.
    pub fn is_added(&self) -> bool {
        self.attribution == NONE
    }

    /// Returns the notes that a timeline shows beside the title: name and text.
    pub(crate) fn notes(&self) -> Vec<(&'static str, String)> {
        let mut notes = Vec::new();
        if !self.is_added() {
            notes.extend([("operator", self.operator.clone()), ("op_type", self.op_type.clone())]);
        }
        let origin = self.origin.iter().flat_map(|origin| origin.notes());
        notes.extend(origin.filter_map(|(name, text)| Some((name, text?))));
        notes.extend([
            ("kernel", self.engine_name.clone()),
            ("kernel_op", self.engine_op.clone()),
            ("attribution", self.attribution.to_owned()),
        ]);
        if !self.fused.is_empty() {
            notes.push(("fused", self.fused.join(", ")));
        }
        let tensors = [
            ("input_shapes", &self.input_shapes),
            ("input_types", &self.input_types),
            ("output_shapes", &self.output_shapes),
            ("output_types", &self.output_types),
        ];
        notes.extend(tensors.into_iter().filter_map(|(name, text)| text.clone().map(|text| (name, text))));
        notes
    }
}

/// Returns shapes with semicolons between tensors: `1,3,224,224;64,3,7,7`. `None` if there are no tensors.
fn shapes(tensors: &[TensorKind]) -> Option<String> {
    let shape = |tensor: &TensorKind| tensor.shape.iter().map(ToString::to_string).collect::<Vec<_>>().join(",");
    (!tensors.is_empty()).then(|| tensors.iter().map(shape).collect::<Vec<_>>().join(";"))
}

/// Returns types with the names of ONNX's `TensorProto.DataType`: `FLOAT;INT64`; `UNDEFINED` for the engine's own
/// types.
fn types(tensors: &[TensorKind]) -> Option<String> {
    let dtype = |tensor: &TensorKind| match tensor.dtype {
        Some(DType::F32) => "FLOAT".to_owned(),
        Some(DType::F64) => "DOUBLE".to_owned(),
        Some(other) => other.name().to_uppercase(),
        None => "UNDEFINED".to_owned(),
    };
    (!tensors.is_empty()).then(|| tensors.iter().map(dtype).collect::<Vec<_>>().join(";"))
}

/// Returns the model's name: that of its file, without the extension.
pub(crate) fn model_name(recording: &Recording) -> String {
    let path = &recording.manifest().model.path;
    // An imported trace may be compressed.
    let path = std::path::Path::new(path.strip_suffix(".gz").unwrap_or(path));
    path.file_stem()
        .map_or_else(|| recording.manifest().model.graph.clone(), |stem| stem.to_string_lossy().into_owned())
}

/// Returns the title of a thread's own track. Viewers show its number beside it.
pub(crate) fn thread_title(recording: &Recording, thread: u32) -> String {
    recording.thread_name(thread).map_or_else(|| format!("thread {thread}"), str::to_owned)
}

/// Returns the title of a side track of a thread: `copies of main 77`.
pub(crate) fn side_title(recording: &Recording, what: &str, thread: u32) -> String {
    format!("{what} of {} {thread}", recording.thread_name(thread).unwrap_or("thread"))
}

/// Returns the ids of the work that a run belongs to, with their names. Ids that are 0 are omitted.
pub(crate) fn correlation_notes(correlation: Correlation) -> impl Iterator<Item = (&'static str, u64)> {
    let ids = [("correlation", correlation.internal.0), ("external", correlation.external.0)];
    ids.into_iter().filter(|(_, id)| *id != 0)
}

/// Returns the path of a dispatch, such as `decode[3] > If_7[0]`: the operators whose bodies it was executed in,
/// outermost first, each with its iteration. If the name of an operator was lost, its number is used.
pub(crate) fn path_text(recording: &Recording, dispatch: &DispatchFact) -> String {
    let level = |level: &Iteration| match recording.operator(dispatch.plan, level.operator) {
        Some(operator) => format!("{operator}[{}]", level.index),
        None => format!("operator_{}[{}]", level.operator.index(), level.index),
    };
    dispatch.path.iter().map(level).collect::<Vec<_>>().join(" > ")
}

/// Returns a counter's name and unit. If they were lost, the name is its number. The unit may be empty.
pub(crate) fn counter_title(recording: &Recording, counter: u32) -> (String, &str) {
    match recording.counter(counter) {
        Some(known) => (known.name.clone(), &known.unit),
        None => (format!("counter {counter}"), ""),
    }
}
