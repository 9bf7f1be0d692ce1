//! What a dump section selects: models, operators, and their slots.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use opscope_dump::{BlacklistEntry, Io, IoSelection, Pattern, Position, Selection};
use opscope_onnx::Graph;

use super::list::{DumpedModel, Excluded};
use super::model_names::{ModelNames, NamedOperator};
use super::section::DumpSection;
use crate::problem::{Location, Note, Problem, ProblemKind};

/// The reason why an `acl.json` does not fit a model.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct AclError(pub Vec<Problem>);

impl DumpSection {
    /// Returns the directory for the dump of a run with this name.
    pub fn directory(&self, run_name: &Path) -> PathBuf {
        self.path.join(run_name).components().collect()
    }

    /// Checks the section against a model. Returns what it captures, and notes for the user.
    ///
    /// # Errors
    /// Returns the problems that [`check`](Self::check) finds, or a problem if the file leaves out every tensor of the
    /// model.
    pub fn selection(&self, graph: &Graph) -> Result<(Selection, Vec<Note>), AclError> {
        let dump = with_operators_of_modules(self, graph);
        let operators = operators(graph);
        let names = names(graph, &operators);
        let notes = dump.check(&names).map_err(AclError)?;
        Ok((selection(&dump, &names)?, notes))
    }

    /// Returns what the section captures of a model if it is read as by the vendor's library: names that the model does
    /// not have select nothing and leave out nothing. The selection is `None` if nothing is captured. Also returns the
    /// problems that [`selection`](Self::selection) would return as errors.
    pub fn selection_as_vendor(&self, graph: &Graph) -> (Option<Selection>, Vec<Problem>) {
        let dump = &with_operators_of_modules(self, graph);
        let operators = operators(graph);
        let names = names(graph, &operators);
        let mut problems = dump.check(&names).err().unwrap_or_default();
        let selection = selection(dump, &names);
        // If there are wrong names, they are the reason why nothing is captured.
        let selection = selection.map_err(|AclError(nothing)| {
            if problems.is_empty() {
                problems = nothing;
            }
        });
        (selection.ok(), problems)
    }
}

/// Returns the section with the names of operators as the model has them. Wherever the file names operators, the path
/// of a module is replaced by the operators of the module, and a display name by the name of its operator. In a range,
/// a module's path becomes its first operator at the beginning, and its last operator at the end.
fn with_operators_of_modules(dump: &DumpSection, graph: &Graph) -> DumpSection {
    let mut dump = dump.clone();
    let in_file: HashSet<&str> = graph.operators.iter().map(|operator| operator.name.as_str()).collect();
    let meant = |name: &str| -> Vec<String> {
        if in_file.contains(name) {
            return Vec::new();
        }
        let meant = graph.operators.iter().filter(|operator| operator.names().any(|known| known == name));
        meant.map(|operator| operator.name.clone()).collect()
    };
    for entry in &mut dump.models {
        let mut more = Vec::new();
        for layer in &mut entry.layers {
            let mut meant = meant(layer).into_iter();
            // The first operator takes the layer's place, and the others are appended. So the other layers keep their
            // indices, which messages mention.
            if let Some(first) = meant.next() {
                *layer = first;
                more.extend(meant);
            }
        }
        entry.layers.extend(more);
        let mut more = Vec::new();
        for excluded in &mut entry.opname_blacklist {
            let mut meant = meant(&excluded.name).into_iter();
            if let Some(first) = meant.next() {
                excluded.name = first;
                more.extend(meant.map(|name| Excluded { name, slots: excluded.slots.clone() }));
            }
        }
        entry.opname_blacklist.extend(more);
        for range in &mut entry.ranges {
            if let Some(first) = meant(&range.begin).into_iter().next() {
                range.begin = first;
            }
            if let Some(last) = meant(&range.end).pop() {
                range.end = last;
            }
        }
    }
    dump
}

fn operators(graph: &Graph) -> Vec<NamedOperator<'_>> {
    graph.operators.iter().map(|operator| NamedOperator { name: &operator.name, op_type: &operator.op_type }).collect()
}

fn names<'a>(graph: &'a Graph, operators: &'a [NamedOperator<'a>]) -> ModelNames<'a> {
    ModelNames { file_stem: ModelNames::file_stem(&graph.source.path), graph: &graph.name, operators }
}

/// Returns one selection for all entries of the list. It names every operator that is captured, and for each the slots
/// that are not.
fn selection(dump: &DumpSection, model: &ModelNames<'_>) -> Result<Selection, AclError> {
    // More slots than any ONNX operator has. Slots that an operator does not have are harmless.
    const MOST_SLOTS: usize = 64;
    let selected = dump.selected_slots(model);
    let mut selection = Selection {
        io: dump.mode,
        runs: dump.runs.clone().unwrap_or_default(),
        only_non_finite: dump.overflow,
        ..Selection::default()
    };
    let sides = [Io::Input, Io::Output].into_iter().filter(|io| dump.mode.contains(*io));
    let slots: Vec<Position> = sides.flat_map(|io| (0..MOST_SLOTS).map(move |slot| Position { io, slot })).collect();
    let mut operators = Vec::new();
    let mut blacklist = Vec::new();
    for (index, NamedOperator { name, .. }) in model.operators.iter().enumerate() {
        let (inside, positions): (Vec<_>, Vec<_>) = slots.iter().partition(|slot| selected.contains(index, **slot));
        if inside.is_empty() {
            continue;
        }
        operators.push(Pattern::Exact((*name).to_owned()));
        if !positions.is_empty() {
            blacklist.push(BlacklistEntry { name: (*name).to_owned(), positions });
        }
    }
    if operators.is_empty() {
        let (what, right) = ("it leaves out every tensor of this model", "leave less out, or name other operators");
        let location = Location::Pointer("/dump/dump_list".to_owned());
        return Err(AclError(vec![Problem::new(ProblemKind::Model, location, what.to_owned(), right.to_owned())]));
    }
    // An empty list means all operators.
    if operators.len() < model.operators.len() {
        selection.operators = operators;
    }
    selection.name_blacklist = blacklist;
    Ok(selection)
}

/// The inputs and outputs of a model that a [`DumpSection`] selects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectedSlots {
    sides: IoSelection,
    /// One per operator, in execution order.
    operators: Vec<OfOperator>,
}

/// What is selected of an operator.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum OfOperator {
    #[default]
    Nothing,
    AllBut(HashSet<Position>),
}

impl OfOperator {
    /// Adds what an entry selects, which leaves out what these of its blacklists name.
    pub(crate) fn add<'e>(&mut self, excluded: impl Iterator<Item = &'e Excluded>) {
        let Some(slots) = excluded_slots(excluded) else { return };
        *self = match std::mem::take(self) {
            OfOperator::Nothing => OfOperator::AllBut(slots),
            OfOperator::AllBut(before) => OfOperator::AllBut(before.intersection(&slots).copied().collect()),
        };
    }

    pub(crate) fn contains(&self, slot: Position) -> bool {
        matches!(self, OfOperator::AllBut(excluded) if !excluded.contains(&slot))
    }
}

impl SelectedSlots {
    /// Returns whether this input or output of the operator with this index is selected.
    pub fn contains(&self, operator: usize, slot: Position) -> bool {
        self.sides.contains(slot.io) && self.operators.get(operator).is_some_and(|selected| selected.contains(slot))
    }
}

impl DumpSection {
    /// Returns the inputs and outputs of a model that the section selects. An entry that matches the model selects
    /// those of the operators in its `layer` and `opname_range`, or of all operators if it has neither, except for
    /// those in its blacklists. The result is the union of all entries: the blacklist of one does not affect what
    /// another selects.
    pub fn selected_slots(&self, model: &ModelNames<'_>) -> SelectedSlots {
        let mut operators = vec![OfOperator::default(); model.operators.len()];
        let index = model.indices();
        for entry in self.models.iter().filter(|entry| entry.matches(model)) {
            let chosen = entry.chosen(model, &index);
            let by_type: HashMap<&str, Vec<&Excluded>> = by_name(&entry.optype_blacklist);
            let by_operator = by_name(&entry.opname_blacklist);
            for (selected, (operator, chosen)) in operators.iter_mut().zip(model.operators.iter().zip(chosen)) {
                if !chosen {
                    continue;
                }
                let excluded =
                    by_operator.get(operator.name).into_iter().chain(by_type.get(operator.op_type)).flatten();
                selected.add(excluded.copied());
            }
        }
        SelectedSlots { sides: self.mode, operators }
    }
}

impl DumpedModel {
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

/// Returns the slots that these blacklist entries leave out; `None` if one of them leaves out the whole operator.
fn excluded_slots<'e>(entries: impl Iterator<Item = &'e Excluded>) -> Option<HashSet<Position>> {
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
