//! Unrolls loops whose end is known: the iterations replace the `Loop`, one after another.
//!
//! tract has no `Loop`. If the inputs decide how often a loop runs, its body is repeated that many times. If the body
//! computes the condition, that must be known after each iteration, so such a loop is unrolled one iteration at a time.

use std::collections::HashMap;

use tract_onnx::model::ParseResult;
use tract_onnx::pb::attribute_proto::AttributeType;
use tract_onnx::pb::tensor_proto::DataType;
use tract_onnx::pb::{AttributeProto, GraphProto, ModelProto, NodeProto, TensorProto};
use tract_onnx::tract_hir::infer::Factoid;

use super::branches::{rename, rename_inputs};

/// How many iterations are unrolled at most.
const MOST_ITERATIONS: i64 = 1024;

/// How many nodes the iterations of a loop may have in total, including those of inner graphs.
const MOST_NODES: usize = 20_000;

/// How many nodes the main graph may have afterwards.
const MOST_NODES_IN_ALL: usize = 50_000;

/// How many bytes of constants the iterations of a loop may have in total. The body's initializers exist only once.
const MOST_BYTES: usize = 1 << 26;

/// How many iterations are unrolled one at a time. Each costs an analysis of the whole model.
const MOST_SINGLE_ITERATIONS: i64 = 64;

/// A loop that can be unrolled.
pub(crate) struct Counted {
    /// The position of the node.
    position: usize,
    iterations: i64,
    /// `Some` if the loop continues after that while its condition holds, with at most this many iterations.
    rest: Option<i64>,
}

/// Returns the loops of the main graph that can be unrolled: it is known how often they run, or that they run at least
/// once more.
pub(crate) fn counted(proto: &ModelProto, parsed: &ParseResult) -> Vec<Counted> {
    let Some(main) = &proto.graph else { return Vec::new() };
    let mut nodes = main.node.len();
    let mut counted = Vec::new();
    for (position, node) in main.node.iter().enumerate().filter(|(_, node)| is_loop(node)) {
        let Some((loops, more)) = count(node, parsed) else { continue };
        nodes += more;
        if nodes <= MOST_NODES_IN_ALL {
            counted.push(Counted { position, ..loops });
        }
    }
    counted
}

pub(crate) fn is_loop(node: &NodeProto) -> bool {
    node.op_type == "Loop" && matches!(node.domain.as_str(), "" | "ai.onnx")
}

/// Returns how often a loop runs, and how many nodes that makes.
fn count(node: &NodeProto, parsed: &ParseResult) -> Option<(Counted, usize)> {
    let known = |slot: usize| {
        let name = node.input.get(slot).filter(|name| !name.is_empty());
        name.map(|name| {
            let outlet = parsed.outlets_by_name.get(name)?;
            let value = parsed.model.outlet_fact(*outlet).ok()?.value.concretize()?;
            if value.len() == 1 { value.cast_to_scalar::<i64>().ok() } else { None }
        })
    };
    // Without a limit, the condition ends the loop.
    let limit = known(0).unwrap_or(Some(i64::MAX))?.max(0);
    let holds = known(1).unwrap_or(Some(1))? != 0;
    let body = body(node)?;
    let counted = |iterations, rest| Counted { position: 0, iterations, rest };
    let outcome = match condition(body) {
        _ if !holds || limit == 0 => counted(0, None),
        Condition::Stays => counted(limit, None),
        Condition::Ends => counted(1, None),
        Condition::Computed if written_before(node) >= MOST_SINGLE_ITERATIONS => return None,
        Condition::Computed => counted(1, Some(limit - 1)),
    };
    let carried = body.input.len().checked_sub(2)?;
    let is_whole = node.input.len() >= 2 + carried && body.output.len() > carried;
    // An output that no iteration contributes to has a shape that only the body knows.
    let is_collected = node.output.len() > carried;
    let is_possible = outcome.iterations > 0 || !is_collected || written_before(node) > 0;
    let times = usize::try_from(outcome.iterations).ok().filter(|_| outcome.iterations <= MOST_ITERATIONS)?;
    let nodes = times.checked_mul(nodes_of(body) + body.output.len())?;
    let bytes = times.checked_mul(body.node.iter().map(bytes_of).sum())?;
    (is_whole && is_possible && nodes <= MOST_NODES && bytes <= MOST_BYTES).then_some((outcome, nodes))
}

/// Returns the number of nodes of a graph and of the graphs inside it.
fn nodes_of(graph: &GraphProto) -> usize {
    let inner = graph.node.iter().flat_map(graphs_of).map(nodes_of);
    graph.node.len() + inner.sum::<usize>()
}

fn graphs_of(node: &NodeProto) -> impl Iterator<Item = &GraphProto> {
    node.attribute.iter().flat_map(|attribute| attribute.g.iter().chain(&attribute.graphs))
}

/// Returns about how many bytes the constants in a node have.
fn bytes_of(node: &NodeProto) -> usize {
    let bytes = |tensor: &TensorProto| {
        tensor.raw_data.len()
            + 4 * (tensor.float_data.len() + tensor.int32_data.len())
            + 8 * (tensor.int64_data.len() + tensor.double_data.len() + tensor.uint64_data.len())
            + tensor.string_data.iter().map(Vec::len).sum::<usize>()
    };
    let own = node.attribute.iter().flat_map(|attribute| attribute.t.iter().chain(&attribute.tensors)).map(bytes);
    let inner = graphs_of(node).map(|graph| {
        graph.initializer.iter().map(bytes).sum::<usize>() + graph.node.iter().map(bytes_of).sum::<usize>()
    });
    own.sum::<usize>() + inner.sum::<usize>()
}

/// How the body determines the condition.
enum Condition {
    Stays,
    Ends,
    Computed,
}

fn condition(body: &GraphProto) -> Condition {
    let (Some(before), Some(after)) = (body.input.get(1), body.output.first()) else { return Condition::Computed };
    let mut name = &after.name;
    for _ in 0..=body.node.len() {
        if *name == before.name {
            return Condition::Stays;
        }
        if let Some(tensor) = body.initializer.iter().find(|tensor| tensor.name == *name) {
            return constant(tensor);
        }
        let Some(node) = body.node.iter().find(|node| node.output.contains(name)) else { return Condition::Computed };
        match (node.op_type.as_str(), node.input.first()) {
            ("Identity", Some(input)) => name = input,
            ("Constant", _) => {
                let value = node.attribute.iter().find(|attribute| attribute.name == "value");
                return value.and_then(|value| value.t.as_ref()).map_or(Condition::Computed, constant);
            }
            _ => return Condition::Computed,
        }
    }
    Condition::Computed
}

fn constant(tensor: &TensorProto) -> Condition {
    match tensor.raw_data.first().map(|&byte| i32::from(byte)).or(tensor.int32_data.first().copied()) {
        Some(0) => Condition::Ends,
        Some(_) => Condition::Stays,
        None => Condition::Computed,
    }
}

fn body(node: &NodeProto) -> Option<&GraphProto> {
    node.attribute.iter().find(|attribute| attribute.name == "body")?.g.as_ref()
}

/// The attribute by which the rest of a loop records how many iterations were before it, and what they have collected.
const BEFORE: &str = "opscope.before";
const COLLECTED: &str = "opscope.collected";

fn written_before(node: &NodeProto) -> i64 {
    node.attribute.iter().find(|attribute| attribute.name == BEFORE).map_or(0, |attribute| attribute.i)
}

/// Unrolls the loops. Returns whether there were any.
pub(crate) fn unroll(proto: &mut ModelProto, counted: &[Counted]) -> bool {
    let own = |domain: &str| matches!(domain, "" | "ai.onnx");
    let opset = proto.opset_import.iter().find(|opset| own(&opset.domain)).map_or(0, |opset| opset.version);
    let Some(main) = &mut proto.graph else { return false };
    let mut is_any = false;
    let mut nodes = Vec::with_capacity(main.node.len());
    for (position, node) in std::mem::take(&mut main.node).into_iter().enumerate() {
        let counted = counted.iter().find(|counted| counted.position == position);
        match counted.and_then(|counted| Unrolled::of(&node, counted, opset)) {
            Some(unrolled) => {
                is_any = true;
                nodes.extend(unrolled.nodes);
                main.initializer.extend(unrolled.initializers);
            }
            None => nodes.push(node),
        }
    }
    main.node = nodes;
    is_any
}

/// The nodes that replace a loop.
struct Unrolled {
    nodes: Vec<NodeProto>,
    initializers: Vec<TensorProto>,
    opset: i64,
}

impl Unrolled {
    fn of(node: &NodeProto, counted: &Counted, opset: i64) -> Option<Self> {
        let body = body(node)?;
        let carried = body.input.len().checked_sub(2)?;
        let mut states: Vec<String> = node.input.iter().skip(2).take(carried).cloned().collect();
        if states.len() != carried || body.output.len() < 1 + carried {
            return None;
        }
        let before = written_before(node);
        let mut collected: Vec<Vec<String>> = collected(node, body.output.len() - 1 - carried);
        let mut unrolled = Self { nodes: Vec::new(), initializers: Vec::new(), opset };
        // Each initializer exists once for all iterations.
        let shared: HashMap<String, String> = body
            .initializer
            .iter()
            .map(|tensor| (tensor.name.clone(), format!("{}/{}", node.name, tensor.name)))
            .collect();
        if before == 0 {
            let renamed = |tensor: &TensorProto| TensorProto { name: shared[&tensor.name].clone(), ..tensor.clone() };
            unrolled.initializers.extend(body.initializer.iter().map(renamed));
        }
        let mut condition = String::new();
        for iteration in before..before + counted.iterations {
            let outputs = unrolled.iterate(node, body, iteration, &shared, &states);
            condition.clone_from(&outputs[0]);
            states = outputs[1..=carried].to_vec();
            for (all, one) in collected.iter_mut().zip(&outputs[1 + carried..]) {
                let what = format!("{}/{iteration}.collected{}", node.name, unrolled.nodes.len());
                all.push(unrolled.with_axis(&what, one));
            }
        }
        match counted.rest {
            Some(rest) => {
                unrolled.continue_with(node, rest, before + counted.iterations, condition, states, &collected)
            }
            None => unrolled.finish(node, &states, &collected),
        }
        Some(unrolled)
    }

    /// Adds one iteration, and returns the names of the body's outputs.
    fn iterate(
        &mut self,
        node: &NodeProto,
        body: &GraphProto,
        iteration: i64,
        shared: &HashMap<String, String>,
        states: &[String],
    ) -> Vec<String> {
        let inside = |name: &str| format!("{}/{iteration}/{name}", node.name);
        let mut renamed = shared.clone();
        let made = body.node.iter().flat_map(|inner| &inner.output).filter(|name| !name.is_empty());
        renamed.extend(made.map(|name| (name.clone(), inside(name))));
        for (input, state) in body.input[2..].iter().zip(states) {
            renamed.insert(input.name.clone(), state.clone());
        }
        for (input, (dtype, value)) in body.input.iter().zip([(DataType::Int64, iteration), (DataType::Bool, 1)]) {
            let name = format!("{}.{}", inside(&input.name), "known");
            self.nodes.push(number(&name, dtype, value));
            renamed.insert(input.name.clone(), name);
        }
        for (position, inner) in body.node.iter().enumerate() {
            let mut inner = inner.clone();
            inner.name = match inner.name.as_str() {
                "" => inside(&format!("{}_{position}", inner.op_type)),
                name => inside(name),
            };
            inner.output.iter_mut().for_each(|output| rename(output, &renamed));
            rename_inputs(&mut inner, &renamed);
            self.nodes.push(inner);
        }
        let outputs = body.output.iter().map(|output| {
            let mut name = output.name.clone();
            rename(&mut name, &renamed);
            name
        });
        outputs.collect()
    }

    /// Adds an axis before the others, along which the iterations are joined.
    fn with_axis(&mut self, what: &str, value: &str) -> String {
        let mut node = named(what, "Unsqueeze", vec![value.to_owned()]);
        if self.opset < 13 {
            node.attribute.push(whole_numbers("axes", vec![0]));
        } else {
            let axes = format!("{what}.axes");
            let tensor = TensorProto {
                dims: vec![1],
                data_type: DataType::Int64 as i32,
                int64_data: vec![0],
                ..TensorProto::default()
            };
            self.nodes.push(of_tensor(&axes, tensor));
            node.input.push(axes);
        }
        self.nodes.push(node);
        what.to_owned()
    }

    /// Adds the rest of the loop.
    fn continue_with(
        &mut self,
        node: &NodeProto,
        limit: i64,
        before: i64,
        condition: String,
        states: Vec<String>,
        collected: &[Vec<String>],
    ) {
        let name = format!("{}/{before}.limit", node.name);
        self.nodes.push(number(&name, DataType::Int64, limit));
        let mut rest = node.clone();
        rest.input = [name, condition].into_iter().chain(states).collect();
        rest.attribute.retain(|attribute| ![BEFORE, COLLECTED].contains(&attribute.name.as_str()));
        rest.attribute.push(AttributeProto {
            name: BEFORE.to_owned(),
            r#type: AttributeType::Int as i32,
            i: before,
            ..AttributeProto::default()
        });
        rest.attribute.push(AttributeProto {
            name: COLLECTED.to_owned(),
            r#type: AttributeType::Strings as i32,
            strings: collected.iter().flatten().map(|name| name.clone().into_bytes()).collect(),
            ..AttributeProto::default()
        });
        self.nodes.push(rest);
    }

    /// Adds the loop's outputs.
    fn finish(&mut self, node: &NodeProto, states: &[String], collected: &[Vec<String>]) {
        for (slot, output) in node.output.iter().enumerate().filter(|(_, output)| !output.is_empty()) {
            let name = format!("{}.output{slot}", node.name);
            let mut last = match slot.checked_sub(states.len()) {
                None => named(&name, "Identity", vec![states[slot].clone()]),
                Some(place) => {
                    let mut joined = named(&name, "Concat", collected.get(place).cloned().unwrap_or_default());
                    joined.attribute.push(AttributeProto {
                        name: "axis".to_owned(),
                        r#type: AttributeType::Int as i32,
                        ..AttributeProto::default()
                    });
                    joined
                }
            };
            last.output = vec![output.clone()];
            self.nodes.push(last);
        }
    }
}

/// Returns what earlier iterations have collected, for each output that collects.
fn collected(node: &NodeProto, outputs: usize) -> Vec<Vec<String>> {
    let noted = node.attribute.iter().find(|attribute| attribute.name == COLLECTED);
    let names: Vec<String> = noted
        .iter()
        .flat_map(|attribute| &attribute.strings)
        .map(|name| String::from_utf8_lossy(name).into_owned())
        .collect();
    let each = names.len() / outputs.max(1);
    (0..outputs).map(|output| names[output * each..][..each].to_vec()).collect()
}

/// Returns a node whose output has the same name as the node.
fn named(name: &str, op_type: &str, input: Vec<String>) -> NodeProto {
    NodeProto {
        name: name.to_owned(),
        op_type: op_type.to_owned(),
        input,
        output: vec![name.to_owned()],
        ..NodeProto::default()
    }
}

/// Returns a scalar constant.
fn number(name: &str, dtype: DataType, value: i64) -> NodeProto {
    let mut tensor = TensorProto { data_type: dtype as i32, ..TensorProto::default() };
    match dtype {
        DataType::Bool => tensor.int32_data.push(i32::from(value != 0)),
        _ => tensor.int64_data.push(value),
    }
    of_tensor(name, tensor)
}

fn of_tensor(name: &str, tensor: TensorProto) -> NodeProto {
    let mut node = named(name, "Constant", vec![]);
    node.attribute.push(AttributeProto {
        name: "value".to_owned(),
        r#type: AttributeType::Tensor as i32,
        t: Some(tensor),
        ..AttributeProto::default()
    });
    node
}

fn whole_numbers(name: &str, ints: Vec<i64>) -> AttributeProto {
    AttributeProto { name: name.to_owned(), r#type: AttributeType::Ints as i32, ints, ..AttributeProto::default() }
}
