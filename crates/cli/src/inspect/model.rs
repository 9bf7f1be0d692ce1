//! The summary of a model: its operators, parameters, costs, inputs and outputs.

use std::collections::BTreeMap;
use std::fmt::Write;

use opscope::onnx::{CostGraph, Dim, Graph, Producer, TensorInfo, Value, ValueId, ValueTypes};
use opscope::text::Column::{Numbers, Words};
use opscope::text::{TextTable, counted, shown_size, shown_text};
use opscope_job::inputs::{ShapeSpec, concrete_shapes};
use serde_json::json;

use crate::terminal::{shown_path, table_width};

/// Totals of a model.
struct Totals {
    /// The totals of each operator type, by its domain and name.
    types: BTreeMap<(String, String), TypeTotals>,
    /// How many tensors the file holds, without the constants that are operators.
    tensors: u64,
    parameters: u64,
    /// The bytes of these tensors in memory.
    parameter_bytes: u64,
    /// The shapes of the inputs for which the operations are counted; `None` if no shape can be chosen.
    shapes: Option<Vec<Vec<usize>>>,
}

/// Totals of the operators of one type.
#[derive(Default)]
struct TypeTotals {
    count: u64,
    /// The parameters of these operators. A parameter that several operators share counts for the first one.
    parameters: u64,
    /// The known operations.
    flops: u64,
    /// How many operators have an unknown number of operations.
    unknown: u64,
}

impl Totals {
    fn of(graph: &Graph) -> Self {
        let shapes = concrete_shapes(graph, &ShapeSpec::Smallest).ok();
        let info = |(input, shape): (&ValueId, &Vec<usize>)| {
            (*input, TensorInfo { dtype: graph.value(*input).dtype, shape: shape.clone() })
        };
        let known: Vec<_> = shapes.iter().flat_map(|shapes| graph.inputs.iter().zip(shapes).map(info)).collect();
        let types = ValueTypes::infer(graph, known);
        let costs = CostGraph::new(graph, &types);
        let elements = |value: ValueId| types.get(value).map_or(0, |info| info.shape.iter().product::<usize>());
        let mut totals = Self { types: BTreeMap::new(), tensors: 0, parameters: 0, parameter_bytes: 0, shapes };
        let mut sizes: BTreeMap<ValueId, u64> = BTreeMap::new();
        for value in graph.all_values().filter(|value| value.producer == Producer::Initializer) {
            let size = elements(value.id);
            totals.tensors += 1;
            totals.parameters += size as u64;
            let dtype = types.get(value.id).and_then(|info| info.dtype);
            totals.parameter_bytes += dtype.and_then(|dtype| dtype.bytes_of(size)).unwrap_or(0) as u64;
            sizes.insert(value.id, size as u64);
        }
        for operator in graph.all_operators() {
            let row = totals.types.entry((operator.domain.clone(), operator.op_type.clone())).or_default();
            row.count += 1;
            row.parameters += operator.inputs.iter().flatten().filter_map(|input| sizes.remove(input)).sum::<u64>();
            match costs.flops(operator.id) {
                Some(flops) => row.flops = row.flops.saturating_add(flops),
                None => row.unknown += 1,
            }
        }
        totals
    }

    fn flops(&self) -> u64 {
        self.types.values().fold(0, |sum, row| sum.saturating_add(row.flops))
    }

    fn unknown(&self) -> u64 {
        self.types.values().map(|row| row.unknown).sum()
    }

    /// Returns the types: those with most operations first, then those with most operators.
    fn by_work(&self) -> Vec<(&(String, String), &TypeTotals)> {
        let mut rows: Vec<_> = self.types.iter().collect();
        rows.sort_by_key(|(_, row)| std::cmp::Reverse((row.flops, row.count)));
        rows
    }
}

/// Returns a summary of a model that fits on one screen.
pub fn summary(graph: &Graph) -> String {
    let totals = Totals::of(graph);
    let mut text = head(graph);
    let (count, bytes) = (grouped(totals.parameters), shown_size(totals.parameter_bytes));
    let _ = writeln!(text, "parameters  {count} in {}, {bytes} in memory", counted(totals.tensors, "tensor"));
    if let Some(shapes) = &totals.shapes {
        let name =
            |(input, shape): (&ValueId, &Vec<usize>)| format!("{} {shape:?}", shown_text(&graph.value(*input).name));
        let inputs: Vec<String> = graph.inputs.iter().zip(shapes).map(name).collect();
        let rest = match totals.unknown() {
            0 => String::new(),
            unknown => format!("; that of {} is not known", counted(unknown, "operator")),
        };
        let with = if inputs.is_empty() { String::new() } else { format!(" with {}", inputs.join(", ")) };
        let _ = writeln!(text, "compute     {} a run{with}{rest}", giga(totals.flops()));
    }
    let (all, types) = (counted(graph.all_operators().count(), "operator"), counted(totals.types.len(), "type"));
    let _ = writeln!(text, "\n{all} of {types}; --operators lists them");
    let mut table = TextTable::new([
        Words("operator type"),
        Numbers("count"),
        Numbers("GFLOP"),
        Numbers("share"),
        Numbers("parameters"),
    ]);
    let whole = totals.flops().max(1) as f64;
    for ((domain, op_type), row) in totals.by_work() {
        let name = if domain.is_empty() { op_type.clone() } else { format!("{domain}.{op_type}") };
        let (flops, share) = match row.unknown == row.count {
            true => ("?".to_owned(), "?".to_owned()),
            false => (gigaflops(row.flops), format!("{:.2} %", row.flops as f64 * 100.0 / whole)),
        };
        table.row([shown_text(&name).into_owned(), row.count.to_string(), flops, share, grouped(row.parameters)]);
    }
    text.push_str(table.within(table_width()).text().trim_end());
    text
}

/// Returns a model with a list of its operators.
pub fn listed(graph: &Graph) -> String {
    let mut text = head(graph);
    let _ = writeln!(text, "{}:", counted(graph.all_operators().count(), "operator"));
    for operator in graph.all_operators() {
        let names = |values: &[Option<ValueId>]| {
            values
                .iter()
                .map(|value| value.map_or("-".into(), |value| shown_text(&graph.value(value).name)))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let (inputs, outputs) = (names(&operator.inputs), names(&operator.outputs));
        let (op_type, name) = (shown_text(&operator.op_type), shown_text(&operator.name));
        let _ = writeln!(text, "{:>5} {op_type} {name}: {inputs} -> {outputs}", operator.id.index());
        for line in operator.origin.iter().flat_map(|origin| origin.lines()) {
            let _ = writeln!(text, "        {}", shown_text(&line));
        }
        for (name, attribute) in &operator.attributes {
            let _ = writeln!(text, "        {} = {}", shown_text(name), shown_text(&attribute.to_string()));
        }
    }
    text.trim_end().to_owned()
}

/// Returns the file, its author, and its inputs and outputs.
fn head(graph: &Graph) -> String {
    let mut text = String::new();
    let source = &graph.source;
    let (path, name) = (shown_path(&source.path), shown_text(&graph.name));
    let bytes = shown_size(source.bytes.len() as u64);
    let _ = writeln!(text, "{path}: graph '{name}', {bytes}, xxh3 {}", source.xxh3);
    let opsets: Vec<_> = graph
        .opsets
        .iter()
        .map(|(domain, version)| {
            format!("{} {version}", shown_text(if domain.is_empty() { "ai.onnx" } else { domain }))
        })
        .collect();
    let producer = match &source.producer[..] {
        "" => "made by a program that does not say its name".to_owned(),
        producer => format!("made by '{}'", shown_text(producer)),
    };
    let _ = writeln!(text, "{producer}, operator sets {}", opsets.join(", "));
    for (what, ids) in [("input ", &graph.inputs), ("output", &graph.outputs)] {
        for &id in ids {
            let value = graph.value(id);
            let _ = writeln!(text, "{what} {} {}", shown_text(&value.name), shape(value));
        }
    }
    text
}

/// Formats a number with commas between its thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap_or_default()).collect();
    groups.join(",")
}

fn giga(flops: u64) -> String {
    format!("{} GFLOP", gigaflops(flops))
}

/// Formats a number of operations in thousands of millions, with three digits.
fn gigaflops(flops: u64) -> String {
    match flops as f64 / 1e9 {
        0.0 => "0".to_owned(),
        small if small < 0.001 => format!("{small:.1e}"),
        small if small < 1.0 => format!("{small:.4}"),
        large => format!("{large:.2}"),
    }
}

/// Formats an input on one line: `image float32 [batch, 1, 8, 8]`.
pub fn signature(graph: &Graph) -> String {
    let input = |id: &ValueId| format!("{} {}", shown_text(&graph.value(*id).name), shape(graph.value(*id)));
    graph.inputs.iter().map(input).collect::<Vec<_>>().join(", ")
}

fn shape(value: &Value) -> String {
    let dims = value.shape.as_ref().map(|shape| shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "));
    let dtype = value.dtype.map_or("?".to_owned(), |dtype| dtype.to_string());
    format!("{dtype} [{}]", shown_text(&dims.unwrap_or_else(|| "...".to_owned())))
}

/// Returns a model as one JSON document.
pub fn json(graph: &Graph) -> serde_json::Value {
    let value = |id: &ValueId| {
        let value = graph.value(*id);
        let dims = value.shape.as_ref().map(|shape| shape.iter().map(Dim::to_string).collect::<Vec<_>>());
        json!({ "name": value.name, "dtype": value.dtype.map(|dtype| dtype.name()), "shape": dims })
    };
    let names =
        |ids: &[Option<ValueId>]| ids.iter().map(|id| id.map(|id| graph.value(id).name.clone())).collect::<Vec<_>>();
    let operators = graph.all_operators().map(|operator| {
        let attributes: serde_json::Map<_, _> =
            operator.attributes.iter().map(|(name, attribute)| (name.clone(), attribute.to_string().into())).collect();
        let mut document = json!({
            "index": operator.id.index(), "name": operator.name, "op_type": operator.op_type, "domain": operator.domain,
            "inputs": names(&operator.inputs), "outputs": names(&operator.outputs), "attributes": attributes,
        });
        if let Some(origin) = &operator.origin {
            document["origin"] = json!(origin);
        }
        document
    });
    let totals = Totals::of(graph);
    let types = totals.by_work().into_iter().map(|((domain, op_type), row)| {
        json!({
            "op_type": op_type, "domain": domain, "count": row.count, "flops": row.flops, "unknown": row.unknown,
            "parameters": row.parameters,
        })
    });
    json!({
        "schema": "opscope.model/1",
        "path": graph.source.path.to_string_lossy(), "xxh3": graph.source.xxh3, "graph": graph.name,
        "producer": graph.source.producer, "opsets": graph.opsets,
        "inputs": graph.inputs.iter().map(value).collect::<Vec<_>>(),
        "outputs": graph.outputs.iter().map(value).collect::<Vec<_>>(),
        "bytes": graph.source.bytes.len(),
        "parameters": { "count": totals.parameters, "tensors": totals.tensors, "bytes": totals.parameter_bytes },
        "flops": { "total": totals.flops(), "unknown": totals.unknown(), "shapes": totals.shapes },
        "types": types.collect::<Vec<_>>(),
        "operators": operators.collect::<Vec<_>>(),
    })
}
