//! `opscope inspect`: what a model, a dump or a recording contains.

mod engine;
mod recording;

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use opscope::dump::Inspection;
use opscope::onnx::{Dim, Graph, Value, ValueId};
use opscope::text::shown_text;
use serde_json::json;

use self::engine::Verdict;
use self::recording::RecordingArguments;
use crate::exit::{Exit, Failure};
use crate::isolate::Invocation;
use crate::options::EngineArguments;
use crate::terminal::{print, print_json, shown_path};

/// The arguments of `opscope inspect`.
#[derive(Debug, Args)]
pub struct InspectArguments {
    /// An ONNX file, a dump or a file of one, a recording
    path: PathBuf,
    /// Rows of the tables of a recording
    #[arg(long, value_name = "N", default_value_t = 20)]
    rows: usize,
    #[command(flatten)]
    recording: RecordingArguments,
    #[command(flatten)]
    engine: EngineArguments,
    /// Let the engine load the model in a process of its own: a crash of its library is then an error of this command
    #[arg(long)]
    isolate: bool,
    /// One JSON document
    #[arg(long)]
    json: bool,
    /// Only say whether a dump is whole: counts, sizes, and the hash of every tensor
    #[arg(long, conflicts_with = "json")]
    check: bool,
}

/// Runs the command.
pub fn run(arguments: &InspectArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let path = &arguments.path;
    let is_model = path.extension().is_some_and(|extension| extension == "onnx" || extension == "om");
    let is_recording = path.join("records.bin").is_file();
    if arguments.check && (is_model || is_recording) {
        return Err(Failure::wrong_use(format!("--check is for dumps, and {} is not a dump", path.display())));
    }
    if !is_recording && arguments.recording != RecordingArguments::default() {
        let options = "--group-depth, --distribution, --memory and --no-roofline";
        return Err(Failure::wrong_use(format!(
            "{options} are for recordings, and {} is not a recording",
            path.display()
        )));
    }
    if is_model {
        invocation.isolate(arguments.isolate, path)?.note("inspecting", false);
        return model(path, arguments);
    }
    if arguments.isolate {
        return Err(Failure::wrong_use(format!("--isolate is for models, and {} is not a model", path.display())));
    }
    if arguments.engine != EngineArguments::default() {
        return Err(Failure::wrong_use(format!("--engine is for models, and {} is not a model", path.display())));
    }
    if is_recording {
        return recording::show(path, arguments.rows, &arguments.recording, arguments.json);
    }
    let inspection = Inspection::of(path).map_err(Failure::wrong_use)?;
    match arguments {
        InspectArguments { json: true, .. } => print_json(inspection.json())?,
        InspectArguments { check: true, .. } => print(inspection.verdict().trim_end())?,
        _ => print(inspection.text().trim_end())?,
    }
    Ok(if inspection.dump.is_complete() { Exit::Done } else { Exit::Incomplete })
}

fn model(path: &Path, arguments: &InspectArguments) -> Result<Exit, Failure> {
    let graph = Arc::new(Graph::load(path).map_err(Failure::wrong_use)?);
    let verdict = if arguments.engine == EngineArguments::default() {
        None
    } else {
        let engine = arguments.engine.spec(&std::env::vars_os().collect()).map_err(Failure::wrong_use)?;
        Some(Verdict::of(&graph, &engine)?)
    };
    if arguments.json {
        let mut document = model_json(&graph);
        if let Some(verdict) = &verdict {
            document["engine"] = verdict.json();
        }
        print_json(document)?;
    } else {
        print(model_text(&graph))?;
        verdict.as_ref().map_or(Ok(()), |verdict| print(verdict.text()))?;
    }
    Ok(if verdict.is_none_or(|verdict| verdict.is_loaded()) { Exit::Done } else { Exit::Failed })
}

fn shape(value: &Value) -> String {
    let dims = value.shape.as_ref().map(|shape| shape.iter().map(Dim::to_string).collect::<Vec<_>>().join(", "));
    let dtype = value.dtype.map_or("?".to_owned(), |dtype| dtype.to_string());
    format!("{dtype} [{}]", shown_text(&dims.unwrap_or_else(|| "...".to_owned())))
}

fn model_text(graph: &Graph) -> String {
    let mut text = String::new();
    let source = &graph.source;
    let (path, name) = (shown_path(&source.path), shown_text(&graph.name));
    let _ = writeln!(text, "{path}: graph '{name}', xxh3 {:016x}", source.xxh3);
    let opsets: Vec<_> = graph
        .opsets
        .iter()
        .map(|(domain, version)| {
            format!("{} {version}", shown_text(if domain.is_empty() { "ai.onnx" } else { domain }))
        })
        .collect();
    let _ = writeln!(text, "made by '{}', operator sets {}", shown_text(&source.producer), opsets.join(", "));
    for (what, ids) in [("input ", &graph.inputs), ("output", &graph.outputs)] {
        for &id in ids {
            let value = graph.value(id);
            let _ = writeln!(text, "{what} {} {}", shown_text(&value.name), shape(value));
        }
    }
    let _ = writeln!(text, "{} operators:", graph.all_operators().count());
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
        for (name, attribute) in &operator.attributes {
            let _ = writeln!(text, "        {} = {}", shown_text(name), shown_text(&attribute.to_string()));
        }
    }
    text.trim_end().to_owned()
}

fn model_json(graph: &Graph) -> serde_json::Value {
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
        json!({
            "index": operator.id.index(), "name": operator.name, "op_type": operator.op_type, "domain": operator.domain,
            "inputs": names(&operator.inputs), "outputs": names(&operator.outputs), "attributes": attributes,
        })
    });
    json!({
        "schema": "opscope.model/1",
        "path": graph.source.path, "xxh3": format!("{:016x}", graph.source.xxh3), "graph": graph.name,
        "producer": graph.source.producer, "opsets": graph.opsets,
        "inputs": graph.inputs.iter().map(value).collect::<Vec<_>>(),
        "outputs": graph.outputs.iter().map(value).collect::<Vec<_>>(),
        "operators": operators.collect::<Vec<_>>(),
    })
}
