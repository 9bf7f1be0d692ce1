use std::collections::{HashMap, HashSet};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::dump_list::{DumpedModel, Excluded};
use super::dump_section::{DumpMode, DumpSection};
use super::field::{Report, shortened};
use super::{Note, Problem, ProblemKind};
use crate::spelling::did_you_mean;

/// One input or output of an operator, counted from 0. Written `input0`, `output1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Slot {
    Input(usize),
    Output(usize),
}

impl fmt::Display for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Slot::Input(index) => write!(f, "input{index}"),
            Slot::Output(index) => write!(f, "output{index}"),
        }
    }
}

impl FromStr for Slot {
    type Err = String;

    /// Reads `input0`. The error says what is wrong, without a place.
    fn from_str(text: &str) -> Result<Slot, String> {
        let index = |digits: &str| {
            digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse::<usize>().ok()).flatten()
        };
        let input = text.strip_prefix("input").and_then(index).map(Slot::Input);
        let slot = input.or_else(|| text.strip_prefix("output").and_then(index).map(Slot::Output));
        slot.ok_or_else(|| format!("\"{}\" is not an input or output", shortened(text)))
    }
}

/// The names of a model, which the file's names are compared with.
#[derive(Debug, Clone, Copy)]
pub struct ModelNames<'a> {
    /// The model file's name up to its first `.`; see [`file_stem`](Self::file_stem).
    pub file_stem: &'a str,
    /// The graph's name.
    pub graph: &'a str,
    /// Name and type of every operator, in execution order.
    pub operators: &'a [(&'a str, &'a str)],
}

impl ModelNames<'_> {
    /// A file's name up to its first `.`, which is what `model_name` means. Empty when it is not UTF-8.
    pub fn file_stem(path: &Path) -> &str {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.split('.').next().unwrap_or_default()
    }

    fn is_called(&self, name: &str) -> bool {
        name == self.file_stem || name == self.graph
    }
}

/// What of a model is captured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captures {
    mode: DumpMode,
    /// One per operator, in execution order.
    operators: Vec<Captured>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Captured {
    Nothing,
    AllBut(HashSet<Slot>),
}

impl Captures {
    /// Whether this input or output of the operator with this index is captured.
    pub fn contains(&self, operator: usize, slot: Slot) -> bool {
        let wanted = match slot {
            Slot::Input(_) => matches!(self.mode, DumpMode::Input | DumpMode::All),
            Slot::Output(_) => matches!(self.mode, DumpMode::Output | DumpMode::All),
        };
        match self.operators.get(operator) {
            Some(Captured::AllBut(excluded)) => wanted && !excluded.contains(&slot),
            _ => false,
        }
    }

    /// Whether nothing at all is captured, because no entry names this model or a blacklist names everything.
    pub fn is_empty(&self) -> bool {
        self.operators.iter().all(|captured| *captured == Captured::Nothing)
    }
}

impl DumpSection {
    /// What is captured of a model: for every entry that matches it the operators of its `layer` and `opname_range`
    /// (all when it has neither), without those of its blacklists. What one entry captures, another does not take away.
    pub fn captures(&self, model: &ModelNames<'_>) -> Captures {
        let mut operators = vec![Captured::Nothing; model.operators.len()];
        let index = index_by_name(model);
        for entry in self.models.iter().filter(|entry| entry.matches(model)) {
            let chosen = entry.chosen(model, &index);
            let by_type: HashMap<&str, Vec<&Excluded>> = by_name(&entry.optype_blacklist);
            let by_operator = by_name(&entry.opname_blacklist);
            for (captured, (operator, chosen)) in operators.iter_mut().zip(model.operators.iter().zip(chosen)) {
                if !chosen {
                    continue;
                }
                let excluded = by_operator.get(operator.0).into_iter().chain(by_type.get(operator.1)).flatten();
                let Some(slots) = excluded_slots(excluded) else { continue };
                *captured = match std::mem::replace(captured, Captured::Nothing) {
                    Captured::Nothing => Captured::AllBut(slots),
                    Captured::AllBut(before) => Captured::AllBut(before.intersection(&slots).copied().collect()),
                };
            }
        }
        Captures { mode: self.mode, operators }
    }
}

impl DumpedModel {
    /// Whether the entry is for this model.
    pub fn matches(&self, model: &ModelNames<'_>) -> bool {
        self.model_name.as_deref().is_none_or(|name| model.is_called(name))
    }

    fn chosen(&self, model: &ModelNames<'_>, index: &HashMap<&str, usize>) -> Vec<bool> {
        let all = self.layers.is_empty() && self.ranges.is_empty();
        let mut chosen = vec![all; model.operators.len()];
        for layer in &self.layers {
            if let Some(at) = index.get(layer.as_str()) {
                chosen[*at] = true;
            }
        }
        for range in &self.ranges {
            if let (Some(begin), Some(end)) = (index.get(range.begin.as_str()), index.get(range.end.as_str())) {
                chosen.iter_mut().take(end + 1).skip(*begin).for_each(|chosen| *chosen = true);
            }
        }
        chosen
    }
}

/// The slots that entries of a blacklist leave out; `None` when one leaves out the whole operator.
fn excluded_slots<'e>(entries: impl Iterator<Item = &'e &'e Excluded>) -> Option<HashSet<Slot>> {
    let mut slots = HashSet::new();
    for entry in entries {
        if entry.slots.is_empty() {
            return None;
        }
        slots.extend(entry.slots.iter().copied());
    }
    Some(slots)
}

fn by_name(entries: &[Excluded]) -> HashMap<&str, Vec<&Excluded>> {
    let mut by_name: HashMap<&str, Vec<&Excluded>> = HashMap::new();
    for entry in entries {
        by_name.entry(&entry.name).or_default().push(entry);
    }
    by_name
}

fn index_by_name<'a>(model: &ModelNames<'a>) -> HashMap<&'a str, usize> {
    model.operators.iter().enumerate().map(|(at, (name, _))| (*name, at)).collect()
}

/// Compares every name in the section with the model's.
pub(super) fn check(dump: &DumpSection, model: &ModelNames<'_>) -> Result<Vec<Note>, Vec<Problem>> {
    let mut report = Report::default();
    let index = index_by_name(model);
    let types: HashSet<&str> = model.operators.iter().map(|(_, op_type)| *op_type).collect();
    let any_matches = dump.models.iter().any(|entry| entry.matches(model));
    for entry in &dump.models {
        if entry.matches(model) {
            check_entry(entry, model, &index, &types, &mut report);
        } else {
            let pointer = format!("{}/model_name", entry.pointer);
            let name = shortened(entry.model_name.as_deref().unwrap_or_default());
            let names = match model.graph {
                "" => format!("\"{}\"", model.file_stem),
                graph => format!("\"{}\" (its file) or \"{graph}\" (its graph)", model.file_stem),
            };
            if any_matches {
                report.warning(&pointer, format!("\"{name}\" is not this model, which is called {names}"));
            } else {
                let what = format!("\"{name}\" is not this model, so nothing would be dumped");
                report.problem(ProblemKind::Model, &pointer, what, format!("write {names}"));
            }
        }
    }
    if report.problems.is_empty() { Ok(report.notes) } else { Err(report.problems) }
}

fn check_entry(
    entry: &DumpedModel,
    model: &ModelNames<'_>,
    index: &HashMap<&str, usize>,
    types: &HashSet<&str>,
    report: &mut Report,
) {
    let names = || model.operators.iter().map(|(name, _)| *name);
    let operator = |name: &str, pointer: String, report: &mut Report| {
        let at = index.get(name).copied();
        if at.is_none() {
            unknown("operator", name, &pointer, did_you_mean(name, names()), report);
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
            let near = did_you_mean(&excluded.name, model.operators.iter().map(|(_, op_type)| *op_type));
            unknown("type of operator", &excluded.name, &pointer, near, report);
        }
    }
}

fn unknown(what: &str, name: &str, pointer: &str, near: Option<&str>, report: &mut Report) {
    let said = format!("the model has no {what} \"{}\"", shortened(name));
    let right = match near {
        Some(near) => format!("did you mean \"{near}\"?"),
        None => "write names as they stand in the ONNX file; `opscope inspect` lists them".to_owned(),
    };
    report.problem(ProblemKind::Model, pointer, said, right);
}
