//! From the section to what a dumper selects of a model.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use opscope_dump::{BlacklistEntry, Io, Pattern, Position, Selection};
use opscope_onnx::Graph;

use super::list::Excluded;
use super::model_names::{ModelNames, NamedOperator};
use super::section::DumpSection;
use crate::problem::{Location, Note, Problem, ProblemKind};

/// Why an `acl.json` does not fit a model.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct AclError(pub Vec<Problem>);

impl DumpSection {
    /// Returns the directory that a run of this name is dumped to.
    pub fn directory(&self, run_name: &Path) -> PathBuf {
        self.path.join(run_name).components().collect()
    }

    /// Checks the section against a model. Returns what it captures, and notes for the user.
    ///
    /// # Errors
    /// Every name in the file that the model does not have, or that the file leaves out every tensor.
    pub fn selection(&self, graph: &Graph) -> Result<(Selection, Vec<Note>), AclError> {
        let dump = with_operators_of_modules(self, graph);
        let operators = operators(graph);
        let names = names(graph, &operators);
        let notes = dump.check(&names).map_err(AclError)?;
        Ok((selection(&dump, &names)?, notes))
    }

    /// Returns what the section captures of a model in a program that the vendor's library would have read the file for: names
    /// that the model does not have choose nothing, and leave out nothing. Returns what is not as the file may mean it, too.
    pub fn selection_as_vendor(&self, graph: &Graph) -> (Option<Selection>, Vec<Problem>) {
        let dump = &with_operators_of_modules(self, graph);
        let operators = operators(graph);
        let names = names(graph, &operators);
        let mut problems = dump.check(&names).err().unwrap_or_default();
        let selection = selection(dump, &names);
        // Wrong names are why nothing is left.
        let selection = selection.map_err(|AclError(nothing)| {
            if problems.is_empty() {
                problems = nothing;
            }
        });
        (selection.ok(), problems)
    }
}

/// Puts the operators of a module in place of its path wherever the file names operators, and the operator in place of its
/// display name. A range begins with a module's first operator and ends with its last.
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
            // The first takes the layer's place, so that messages about the others keep their numbers.
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

/// Names every operator that is captured, and the slots of it that are not: one selection for all entries of the list.
fn selection(dump: &DumpSection, model: &ModelNames<'_>) -> Result<Selection, AclError> {
    // More slots than any operator of ONNX has; those that an operator lacks have no effect.
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
    // An empty list means all, so where all are captured nothing is listed.
    if operators.len() < model.operators.len() {
        selection.operators = operators;
    }
    selection.name_blacklist = blacklist;
    Ok(selection)
}
