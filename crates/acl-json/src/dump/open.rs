//! What the section selects of a program, whose operators are found while it runs.

use std::collections::HashMap;

use opscope_dump::{Chooser, Selection};
use opscope_onnx::{Graph, Operator, OperatorId, Pattern};
use opscope_sys::Mutex;
use opscope_text::did_you_mean;

use super::list::DumpedModel;
use super::model_names::{ModelNames, other_model, unknown};
use super::section::DumpSection;
use super::selection::{AclError, OfOperator};
use crate::AclConfig;
use crate::field::{Report, shortened};
use crate::problem::{Location, Note, Problem, ProblemKind};

impl AclConfig {
    /// Returns what the file dumps of a program.
    ///
    /// # Errors
    /// Returns a problem if it dumps nothing.
    pub fn dump_of_program(&self) -> Result<&DumpSection, AclError> {
        let problem = |kind, pointer: &str, what: &str, right: &str| {
            let location = Location::Pointer(pointer.to_owned());
            AclError(vec![Problem::new(kind, location, what.to_owned(), right.to_owned())])
        };
        match (&self.dump, &self.profiler) {
            (Some(dump), _) => Ok(dump),
            (None, Some(_)) => {
                let what = "the file profiles, and only its dump is for PyTorch programs";
                Err(problem(
                    ProblemKind::Conflict,
                    "/profiler/switch",
                    what,
                    "use `opscope torch profile` without a file",
                ))
            }
            (None, None) => {
                let right = r#"write "dump": {"dump_path": "DIRECTORY", "dump_list": [{}]} for all"#;
                Err(problem(ProblemKind::Content, "/dump", "the file dumps nothing", right))
            }
        }
    }
}

impl DumpSection {
    /// Returns what the section captures of a program, and notes for the user. `header` is the empty beginning of the
    /// program's graph. Names of operators and types may be patterns, such as `layers.*.attn`, because not all of a
    /// program's are known to its user.
    ///
    /// # Errors
    /// Returns a problem for every entry if none is for this program.
    pub fn open_selection(&self, header: &Graph) -> Result<(Selection, Vec<Note>), AclError> {
        let model = names(header);
        let mut report = Report::default();
        let entries: Vec<DumpedModel> = self.models.iter().filter(|entry| entry.matches(&model)).cloned().collect();
        for entry in self.models.iter().filter(|entry| !entry.matches(&model)) {
            other_model(entry, &model, !entries.is_empty(), &mut report);
        }
        if !report.problems.is_empty() {
            return Err(AclError(report.problems));
        }
        let found = Mutex::new(Found::new(entries));
        let chooser = Chooser::new(move |operator, slot| found.lock().selected(operator).contains(slot));
        let selection = Selection {
            io: self.mode,
            runs: self.runs.clone().unwrap_or_default(),
            chooser: Some(chooser),
            ..Selection::default()
        };
        Ok((selection, report.notes))
    }

    /// Compares the names in the section with the operators of a program that has run, in the order in which they were
    /// found. Returns a problem for every name that none of them has, and for every range whose first operator was
    /// found after its last.
    pub fn check_found<'o>(&self, header: &Graph, operators: impl Iterator<Item = &'o Operator>) -> Vec<Problem> {
        let operators: Vec<&Operator> = operators.collect();
        let model = names(header);
        let mut report = Report::default();
        for entry in self.models.iter().filter(|entry| entry.matches(&model)) {
            check_entry(entry, &operators, &mut report);
        }
        report.problems
    }
}

fn names(header: &Graph) -> ModelNames<'_> {
    ModelNames { file_stem: ModelNames::file_stem(&header.source.path), graph: &header.name, operators: &[] }
}

/// What the names of operators are in.
const DUMP: &str = "dump";

/// What is selected of the operators that were found so far.
struct Found {
    entries: Vec<(DumpedModel, Vec<RangeState>)>,
    selected: HashMap<OperatorId, OfOperator>,
}

/// Where a range is while operators are found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RangeState {
    /// Before its first operator.
    Before,
    /// In it, before its last operator.
    Inside,
    /// At its last operator, or in the module that it ends with.
    AtEnd,
    /// Behind it.
    Behind,
}

impl Found {
    fn new(entries: Vec<DumpedModel>) -> Self {
        let with_states = |entry: DumpedModel| {
            let states = vec![RangeState::Before; entry.ranges.len()];
            (entry, states)
        };
        Self { entries: entries.into_iter().map(with_states).collect(), selected: HashMap::new() }
    }

    /// Returns what is selected of an operator, which is decided when it is seen for the first time.
    fn selected(&mut self, operator: &Operator) -> &OfOperator {
        let entries = &mut self.entries;
        self.selected.entry(operator.id).or_insert_with(|| {
            let mut selected = OfOperator::default();
            for (entry, states) in entries {
                let mut is_chosen = entry.layers.is_empty() && entry.ranges.is_empty();
                is_chosen |= entry.layers.iter().any(|layer| is_named(layer, operator));
                for (range, state) in entry.ranges.iter().zip(states) {
                    *state = state.next(is_named(&range.begin, operator), is_named(&range.end, operator));
                    is_chosen |= matches!(state, RangeState::Inside | RangeState::AtEnd);
                }
                if is_chosen {
                    let by_name = entry.opname_blacklist.iter().filter(|excluded| is_named(&excluded.name, operator));
                    let by_type = entry.optype_blacklist.iter().filter(|excluded| is_of_type(&excluded.name, operator));
                    selected.add(by_name.chain(by_type));
                }
            }
            selected
        })
    }
}

impl RangeState {
    /// Returns the state after an operator that was found. A module that the range ends with ends where an operator
    /// outside of it is found.
    fn next(self, is_first: bool, is_last: bool) -> Self {
        match self {
            Self::Before if !is_first => Self::Before,
            Self::Before | Self::Inside if is_last => Self::AtEnd,
            Self::Before | Self::Inside => Self::Inside,
            Self::AtEnd if is_last => Self::AtEnd,
            Self::AtEnd | Self::Behind => Self::Behind,
        }
    }
}

/// Returns whether a name in the file is that of an operator, or of a module that it lies in, or a pattern for one.
fn is_named(text: &str, operator: &Operator) -> bool {
    operator.names().any(|name| name == text)
        || Pattern::parse(text).is_ok_and(|pattern| pattern.matches_operator(operator))
}

fn is_of_type(text: &str, operator: &Operator) -> bool {
    operator.op_type == text || Pattern::parse(text).is_ok_and(|pattern| pattern.matches(&operator.op_type))
}

fn check_entry(entry: &DumpedModel, operators: &[&Operator], report: &mut Report) {
    let place = |name: &str, pointer: String, report: &mut Report| {
        let place = operators.iter().position(|operator| is_named(name, operator));
        if place.is_none() {
            let near = did_you_mean(name, operators.iter().map(|operator| operator.name.as_str()));
            unknown(("operator", name), &pointer, near, DUMP, report);
        }
        place
    };
    for (number, layer) in entry.layers.iter().enumerate() {
        place(layer, format!("{}/layer/{number}", entry.pointer), report);
    }
    for (number, range) in entry.ranges.iter().enumerate() {
        let pointer = format!("{}/opname_range/{number}", entry.pointer);
        let begin = place(&range.begin, format!("{pointer}/begin"), report);
        let end = place(&range.end, format!("{pointer}/end"), report);
        if begin.zip(end).is_some_and(|(begin, end)| begin > end) {
            let what = format!("\"{}\" runs after \"{}\"", shortened(&range.begin), shortened(&range.end));
            report.problem(ProblemKind::Model, &pointer, what, "let \"begin\" be the one that runs first");
        }
    }
    for (number, excluded) in entry.opname_blacklist.iter().enumerate() {
        place(&excluded.name, format!("{}/opname_blacklist/{number}/name", entry.pointer), report);
    }
    for (number, excluded) in entry.optype_blacklist.iter().enumerate() {
        if !operators.iter().any(|operator| is_of_type(&excluded.name, operator)) {
            let pointer = format!("{}/optype_blacklist/{number}/name", entry.pointer);
            let near = did_you_mean(&excluded.name, operators.iter().map(|operator| operator.op_type.as_str()));
            unknown(("type of operator", &excluded.name), &pointer, near, DUMP, report);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RangeState::{AtEnd, Before, Behind, Inside};

    #[test]
    fn a_range_has_both_ends_and_a_module_at_its_end_to_its_last_operator() {
        let states = |operators: &str| {
            let mut state = Before;
            let mut next = |operator: char| {
                state = state.next("b*".contains(operator), "e*".contains(operator));
                state
            };
            operators.chars().map(&mut next).collect::<Vec<_>>()
        };
        assert_eq!(states("-b-e-"), [Before, Inside, Inside, AtEnd, Behind]);
        assert_eq!(states("e-be"), [Before, Before, Inside, AtEnd]);
        assert_eq!(states("*--*"), [AtEnd, Behind, Behind, Behind]);
        assert_eq!(states("b-ee-e"), [Inside, Inside, AtEnd, AtEnd, Behind, Behind]);
    }
}
