mod lines;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::io::{self, BufRead, Read};
use std::sync::Arc;

use opscope_model::{Fidelity, Kernel};
use opscope_onnx::{CodeOrigin, Graph, GroupCost, Operator, OperatorId};
use opscope_tensor::DType;
use serde::{Deserialize, Serialize};

/// The schema that this version writes and reads.
pub(crate) const SCHEMA: &str = "opscope.names/1";
/// The file's name.
pub(crate) const NAMES: &str = "names.jsonl";

/// The longest line that is read. The operators of the largest graphs take some megabytes.
const LONGEST_LINE: u64 = 64 << 20;

/// A line of `names.jsonl`. Lines are added while the recording grows. An incomplete line is ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "snake_case")]
pub(crate) enum NamesLine {
    /// The first line.
    Header { schema: String },
    /// The operators of a graph.
    Graph { graph: usize, operators: Vec<NamedOperator> },
    /// The kernels of a plan, in the order of execution.
    Plan { plan: usize, graph: usize, fidelity: Fidelity, kernels: Vec<NamedKernel> },
    /// The plan of an open model, whose kernels are found while it runs.
    OpenPlan { plan: usize, fidelity: Fidelity },
    /// The next kernel of the plan of an open model, with the operator that it stands for.
    Found { plan: usize, operator: Box<NamedOperator>, kernel: Box<NamedKernel> },
    /// A counter: its name and the unit of its values (`%`, `bytes`, ...), which may be empty.
    Counter { counter: u32, name: String, unit: String },
    /// A marker of the user's code.
    Marker { marker: u32, name: String },
    /// A thread.
    Thread { thread: u32, name: String },
}

/// An operator of the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamedOperator {
    pub name: String,
    pub op_type: String,
    pub domain: String,
    pub inputs: Vec<Option<NamedValue>>,
    pub outputs: Vec<Option<NamedValue>>,
    /// Its position in the program that the file was exported from. Recordings of earlier versions do not have it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<CodeOrigin>,
}

/// A value of the file, with its type and shape in the file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamedValue {
    pub name: String,
    pub dtype: Option<DType>,
    pub shape: Option<Vec<Extent>>,
}

/// A step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamedKernel {
    pub name: String,
    pub op: String,
    pub operators: Vec<NamedAttribution>,
    pub inputs: Vec<TensorKind>,
    pub outputs: Vec<TensorKind>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<KernelCost>,
}

/// The cost of the operators of a kernel in one execution.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelCost {
    /// The number of floating-point operations; a multiplication and an addition are two. `None` if it is not known.
    pub flops: Option<u64>,
    /// The bytes of the input tensors. `None` if a type or shape is not known.
    pub bytes_read: Option<u64>,
    /// The bytes of the output tensors. `None` if a type or shape is not known.
    pub bytes_written: Option<u64>,
    /// The element type in which most of it is computed, such as `float32`; `None` if it is not known.
    pub dtype: Option<DType>,
}

/// An operator that a kernel stands for, by its index in the graph's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct NamedAttribution {
    pub operator: usize,
    pub exact: bool,
}

/// The type and shape of a tensor of a kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TensorKind {
    /// The element type, such as `float32`; `None` for types of the engine's own.
    pub dtype: Option<DType>,
    /// The shape.
    pub shape: Vec<usize>,
}

/// A dimension as the file has it: a number or a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub(crate) enum Extent {
    Fixed(usize),
    Symbol(String),
}

/// The names of a kernel in a recording. A fused kernel stands for several operators, and its time counts for the
/// first. A kernel that the engine added stands for none.
#[derive(Debug, Clone, PartialEq)]
pub struct KernelNames {
    /// The number of its plan.
    pub plan: usize,
    /// Its index in the plan.
    pub index: usize,
    /// The engine's name for it.
    pub name: String,
    /// What the engine executes.
    pub op: String,
    /// The name of the operator that its time counts for; the kernel's own name if it stands for none.
    pub operator: String,
    /// That operator's type, or the engine's operation.
    pub op_type: String,
    /// That operator's position in the program that the file was exported from, if the file has it.
    pub origin: Option<CodeOrigin>,
    /// Whether the engine added it on its own, so that it stands for no operator of the file.
    pub added: bool,
    /// Whether the engine states that the kernel executes this operator; if not, it was inferred from the graph.
    pub exact: bool,
    /// The other operators that it stands for.
    pub fused: Vec<FusedOperator>,
    /// Its inputs, by slot.
    pub inputs: Vec<TensorKind>,
    /// Its outputs, by slot.
    pub outputs: Vec<TensorKind>,
    /// The cost of the operators that its time counts for. If several kernels count for the same operator, one of them
    /// has the cost of all, and the others have `None`. Also `None` in older recordings, and outside of recordings.
    pub cost: Option<KernelCost>,
}

/// An operator that a kernel executes in addition to the one that its time counts for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FusedOperator {
    /// Its name in the file.
    pub name: String,
    /// Its display name; see [`CodeOrigin::display_name`]. Its name if the file has no more information.
    pub display_name: String,
    /// Its type.
    pub op_type: String,
    /// Whether the engine states this; if not, it was inferred from the graph.
    pub exact: bool,
}

/// A counter of a recording.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterNames {
    /// Its name.
    pub name: String,
    /// The unit of its values, which may be empty.
    pub unit: String,
}

/// The names of a recording: the kernels of every plan, counters, markers and threads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    pub plans: Vec<Vec<KernelNames>>,
    /// The operators of the graph of every plan. Those in bodies follow those of the main graph.
    pub operators: Vec<Arc<[String]>>,
    /// The plans of open models, whose runs may execute any number of kernels.
    pub open: HashSet<u64>,
    pub counters: BTreeMap<u32, CounterNames>,
    pub markers: BTreeMap<u32, String>,
    pub threads: BTreeMap<u32, String>,
    /// The number of lines that could not be read.
    pub damaged_lines: usize,
}

impl Names {
    /// Reads the complete lines.
    pub(crate) fn read(mut from: impl BufRead) -> io::Result<Self> {
        let mut names = Self::default();
        let mut graphs: HashMap<usize, (Vec<NamedOperator>, Arc<[String]>)> = HashMap::new();
        let mut open: HashMap<usize, Vec<String>> = HashMap::new();
        let mut line = Vec::new();
        loop {
            line.clear();
            let read = from.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                break;
            }
            if read as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
                // A line that is too long is damaged, and so is everything after it.
                names.damaged_lines += 1;
                break;
            }
            if line == b"\n" {
                continue;
            }
            match serde_json::from_slice(&line) {
                Ok(NamesLine::Header { schema }) if schema == SCHEMA => {}
                Ok(NamesLine::Graph { graph, operators }) => {
                    let texts = operators.iter().map(|operator| operator.name.clone()).collect();
                    graphs.insert(graph, (operators, texts));
                }
                Ok(NamesLine::Plan { plan, graph, kernels, .. }) if plan == names.plans.len() => {
                    let known = graphs.get(&graph);
                    let operators = known.map_or(&[][..], |(operators, _)| operators);
                    let operator = |index: usize| operators.get(index).map(OperatorNames::of_recording);
                    let resolve = |(index, kernel)| KernelNames::resolve(plan, index, kernel, operator);
                    names.plans.push(kernels.into_iter().enumerate().map(resolve).collect());
                    names.operators.push(known.map(|(_, texts)| Arc::clone(texts)).unwrap_or_default());
                }
                Ok(NamesLine::OpenPlan { plan, .. }) if plan == names.plans.len() => {
                    names.plans.push(Vec::new());
                    names.operators.push(Arc::default());
                    names.open.insert(plan as u64);
                    open.insert(plan, Vec::new());
                }
                Ok(NamesLine::Found { plan, operator, kernel }) if open.contains_key(&plan) => {
                    let of = |_| Some(OperatorNames::of_recording(&operator));
                    let kernels = &mut names.plans[plan];
                    kernels.push(KernelNames::resolve(plan, kernels.len(), *kernel, of));
                    open.entry(plan).or_default().push(operator.name);
                }
                Ok(NamesLine::Counter { counter, name, unit }) => {
                    names.counters.insert(counter, CounterNames { name, unit });
                }
                Ok(NamesLine::Marker { marker, name }) => {
                    names.markers.insert(marker, name);
                }
                Ok(NamesLine::Thread { thread, name }) => {
                    names.threads.insert(thread, name);
                }
                Ok(_) | Err(_) => names.damaged_lines += 1,
            }
        }
        open.into_iter().for_each(|(plan, operators)| names.operators[plan] = operators.into());
        Ok(names)
    }

    /// Returns the kernel with this index in this plan.
    pub(crate) fn kernel(&self, plan: u64, kernel: u32) -> Option<&KernelNames> {
        self.plans.get(usize::try_from(plan).ok()?)?.get(kernel as usize)
    }

    /// Returns the operator with this id in the graph of this plan.
    pub(crate) fn operator(&self, plan: u64, operator: OperatorId) -> Option<&str> {
        self.operators.get(usize::try_from(plan).ok()?)?.get(operator.index()).map(String::as_str)
    }

    /// Returns the number of kernels that a run of this plan executes; `None` if no plan says it.
    pub(crate) fn kernels_of(&self, plan: u64) -> Option<usize> {
        if self.open.contains(&plan) {
            return None;
        }
        self.plans.get(usize::try_from(plan).ok()?).map(Vec::len)
    }
}

impl KernelNames {
    /// Returns the names of a kernel of a plan.
    pub(crate) fn of(plan: usize, index: usize, kernel: &Kernel, graph: &Graph) -> Self {
        Self::resolve(plan, index, NamedKernel::of(kernel), |operator| {
            graph.all_operators().nth(operator).map(OperatorNames::of_graph)
        })
    }

    /// Converts a named kernel. `operator` returns the names of an operator by its index in the graph's list.
    fn resolve<'o>(
        plan: usize,
        index: usize,
        kernel: NamedKernel,
        operator: impl Fn(usize) -> Option<OperatorNames<'o>>,
    ) -> Self {
        let operator = |part: &NamedAttribution| operator(part.operator);
        let first = kernel.operators.first().and_then(operator);
        Self {
            plan,
            index,
            operator: first.map_or_else(|| kernel.name.clone(), |first| first.name.to_owned()),
            op_type: first.map_or_else(|| kernel.op.clone(), |first| first.op_type.to_owned()),
            origin: first.and_then(|first| first.origin.cloned()),
            added: kernel.operators.is_empty(),
            exact: kernel.operators.first().is_some_and(|part| part.exact),
            fused: kernel
                .operators
                .iter()
                .skip(1)
                .filter_map(|part| {
                    operator(part).map(|fused| FusedOperator {
                        name: fused.name.to_owned(),
                        display_name: display_name(fused.name, fused.origin).to_owned(),
                        op_type: fused.op_type.to_owned(),
                        exact: part.exact,
                    })
                })
                .collect(),
            inputs: kernel.inputs,
            outputs: kernel.outputs,
            cost: kernel.cost,
            name: kernel.name,
            op: kernel.op,
        }
    }

    /// Returns the display name of the operator that its time counts for.
    pub fn display_name(&self) -> &str {
        display_name(&self.operator, self.origin.as_ref())
    }

    /// Returns the substitute for a kernel whose names were lost.
    pub(crate) fn unknown(plan: u64, kernel: u32) -> Self {
        let name = format!("plan_{plan}_kernel_{kernel}");
        Self {
            plan: plan as usize,
            index: kernel as usize,
            operator: name.clone(),
            name,
            op: "unknown".to_owned(),
            op_type: "unknown".to_owned(),
            origin: None,
            added: false,
            exact: false,
            fused: Vec::new(),
            inputs: Vec::new(),
            outputs: Vec::new(),
            cost: None,
        }
    }
}

/// The names of an operator.
#[derive(Clone, Copy)]
struct OperatorNames<'o> {
    name: &'o str,
    op_type: &'o str,
    origin: Option<&'o CodeOrigin>,
}

impl<'o> OperatorNames<'o> {
    fn of_graph(operator: &'o Operator) -> Self {
        Self { name: &operator.name, op_type: &operator.op_type, origin: operator.origin.as_ref() }
    }

    fn of_recording(operator: &'o NamedOperator) -> Self {
        Self { name: &operator.name, op_type: &operator.op_type, origin: operator.origin.as_ref() }
    }
}

/// Returns the display name of an operator with this name.
pub(crate) fn display_name<'o>(name: &'o str, origin: Option<&'o CodeOrigin>) -> &'o str {
    origin.map_or(name, |origin| &origin.display_name)
}

impl KernelCost {
    fn of(cost: &GroupCost) -> Self {
        Self { flops: cost.flops, bytes_read: cost.bytes_read, bytes_written: cost.bytes_written, dtype: cost.dtype }
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::NameId;

    use super::*;

    #[test]
    fn a_file_without_line_ends_is_not_read_to_its_end() {
        let header = b"{\"line\":\"header\",\"schema\":\"opscope.names/1\"}\n\n";
        let marker = b"{\"line\":\"marker\",\"marker\":1,\"name\":\"one\"}\n";
        let mut endless = io::BufReader::new(header.chain(&marker[..]).chain(io::repeat(b'x')));
        let names = Names::read(&mut endless).expect("it can be read");
        assert_eq!((names.damaged_lines, names.markers.len()), (1, 1));
    }

    #[test]
    fn the_unit_of_a_counter_stands_in_brackets_at_the_end_of_its_text() {
        let parts = |text: &str| match NamesLine::counter(NameId(1), text) {
            NamesLine::Counter { name, unit, .. } => (name, unit),
            other => panic!("{other:?}"),
        };
        assert_eq!(parts("queue [requests]"), ("queue".to_owned(), "requests".to_owned()));
        assert_eq!(parts("queue [0] [%]"), ("queue [0]".to_owned(), "%".to_owned()));
        assert_eq!(parts("queue[0]"), ("queue[0]".to_owned(), String::new()));
        assert_eq!(parts("queue"), ("queue".to_owned(), String::new()));
    }
}
