use std::collections::{HashMap, HashSet};
use std::path::Path;

use opscope_text::did_you_mean;

use super::list::DumpedModel;
use super::section::DumpSection;
use crate::field::{Report, shortened};
use crate::problem::{Note, Problem, ProblemKind};

/// The names of a model and its operators. The names in the file are compared with them.
#[derive(Debug, Clone, Copy)]
pub struct ModelNames<'a> {
    /// The model file's name up to its first `.`; see [`file_stem`](Self::file_stem).
    pub file_stem: &'a str,
    /// The graph's name.
    pub graph: &'a str,
    /// Every operator, in execution order.
    pub operators: &'a [NamedOperator<'a>],
}

/// An operator of a model.
#[derive(Debug, Clone, Copy)]
pub struct NamedOperator<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its type.
    pub op_type: &'a str,
}

const ONNX_FILE: &str = "ONNX file";

impl ModelNames<'_> {
    /// Returns a file's name up to its first `.`, which is what `model_name` refers to. Empty if the name is not UTF-8.
    pub fn file_stem(path: &Path) -> &str {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.split('.').next().unwrap_or_default()
    }

    /// Returns the index of every operator by its name.
    pub(crate) fn indices(&self) -> HashMap<&str, usize> {
        self.operators.iter().enumerate().map(|(at, operator)| (operator.name, at)).collect()
    }
}

impl DumpedModel {
    /// Returns whether the entry is for this model.
    pub fn matches(&self, model: &ModelNames<'_>) -> bool {
        self.model_name.as_deref().is_none_or(|name| name == model.file_stem || name == model.graph)
    }
}

impl DumpSection {
    /// Compares every name in the section with the model's. Returns warnings about entries for other models.
    ///
    /// # Errors
    /// Returns a problem for every name of an operator or type that the model does not have, and for every range whose
    /// first operator runs after its last. If no entry is for this model, returns a problem for every entry.
    pub fn check(&self, model: &ModelNames<'_>) -> Result<Vec<Note>, Vec<Problem>> {
        let mut report = Report::default();
        let index = model.indices();
        let types: HashSet<&str> = model.operators.iter().map(|operator| operator.op_type).collect();
        let any_matches = self.models.iter().any(|entry| entry.matches(model));
        for entry in &self.models {
            if entry.matches(model) {
                check_entry(entry, model, &index, &types, &mut report);
            } else {
                other_model(entry, model, any_matches, &mut report);
            }
        }
        if report.problems.is_empty() { Ok(report.notes) } else { Err(report.problems) }
    }
}

/// Reports an entry for another model. That is only a warning if there is one for this model.
pub(crate) fn other_model(entry: &DumpedModel, model: &ModelNames<'_>, any_matches: bool, report: &mut Report) {
    let pointer = format!("{}/model_name", entry.pointer);
    let name = shortened(entry.model_name.as_deref().unwrap_or_default());
    let names = match model.graph {
        graph if graph.is_empty() || graph == model.file_stem => format!("\"{}\"", model.file_stem),
        graph => format!("\"{}\" (its file) or \"{graph}\" (its graph)", model.file_stem),
    };
    if any_matches {
        report.warning(&pointer, format!("\"{name}\" is not this model, which is called {names}"));
    } else {
        let what = format!("\"{name}\" is not this model, so nothing would be dumped");
        report.problem(ProblemKind::Model, &pointer, what, format!("write {names}"));
    }
}

fn check_entry(
    entry: &DumpedModel,
    model: &ModelNames<'_>,
    index: &HashMap<&str, usize>,
    types: &HashSet<&str>,
    report: &mut Report,
) {
    let names = || model.operators.iter().map(|operator| operator.name);
    let operator = |name: &str, pointer: String, report: &mut Report| {
        let at = index.get(name).copied();
        if at.is_none() {
            unknown(("operator", name), &pointer, did_you_mean(name, names()), ONNX_FILE, report);
        }
        at
    };
    for (number, layer) in entry.layers.iter().enumerate() {
        operator(layer, format!("{}/layer/{number}", entry.pointer), report);
    }
    for (number, range) in entry.ranges.iter().enumerate() {
        let pointer = format!("{}/opname_range/{number}", entry.pointer);
        let begin = operator(&range.begin, format!("{pointer}/begin"), report);
        let end = operator(&range.end, format!("{pointer}/end"), report);
        if begin.zip(end).is_some_and(|(begin, end)| begin > end) {
            let what = format!("\"{}\" runs after \"{}\"", shortened(&range.begin), shortened(&range.end));
            report.problem(ProblemKind::Model, &pointer, what, "let \"begin\" be the one that runs first");
        }
    }
    for (number, excluded) in entry.opname_blacklist.iter().enumerate() {
        operator(&excluded.name, format!("{}/opname_blacklist/{number}/name", entry.pointer), report);
    }
    for (number, excluded) in entry.optype_blacklist.iter().enumerate() {
        if !types.contains(excluded.name.as_str()) {
            let pointer = format!("{}/optype_blacklist/{number}/name", entry.pointer);
            let near = did_you_mean(&excluded.name, model.operators.iter().map(|operator| operator.op_type));
            unknown(("type of operator", &excluded.name), &pointer, near, ONNX_FILE, report);
        }
    }
}

/// Reports a name that a model does not have. `had_by` is what the names of the model are in.
pub(crate) fn unknown(
    (what, name): (&str, &str),
    pointer: &str,
    near: Option<&str>,
    had_by: &str,
    report: &mut Report,
) {
    let said = format!("the model has no {what} \"{}\"", shortened(name));
    let right = match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => format!("write names as the {had_by} has them; `opscope inspect` lists them"),
    };
    report.problem(ProblemKind::Model, pointer, said, right);
}
