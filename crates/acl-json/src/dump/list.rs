use opscope_dump::Position;

use crate::ProblemKind::{Choice, Conflict, Content, Value};
use crate::field::{Field, Object, Report, shortened};

/// One entry of `dump_list`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DumpedModel {
    /// The entry's JSON pointer.
    pub pointer: String,
    /// The model: its file's name up to the first `.`, or its graph's name. `None` means every model.
    pub model_name: Option<String>,
    /// The names of operators to dump. If there are neither layers nor ranges, all operators are dumped.
    pub layers: Vec<String>,
    /// Ranges of operators in execution order, in addition to `layers`.
    pub ranges: Vec<NameRange>,
    /// Inputs and outputs to leave out, by their operator's type.
    pub optype_blacklist: Vec<Excluded>,
    /// Inputs and outputs to leave out, by their operator's name.
    pub opname_blacklist: Vec<Excluded>,
}

/// A range of operators in execution order, from one to another, both included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NameRange {
    /// The first operator's name.
    pub begin: String,
    /// The last operator's name.
    pub end: String,
}

/// An entry of a blacklist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Excluded {
    /// The operator's type or name.
    pub name: String,
    /// The inputs and outputs to leave out; all of them if empty.
    pub slots: Vec<Position>,
}

/// The settings of the section that decide which keys an entry may have.
pub(crate) struct EntryRules {
    /// `dump_op_switch` is on.
    pub(crate) single_operators: bool,
    /// `dump_scene` is `watcher`.
    pub(crate) watcher: bool,
    /// `dump_level` is `op`.
    pub(crate) by_operator: bool,
}

/// Reads the list. Returns `None` if it has a problem, which is then in the report.
pub(crate) fn read(list: &Field<'_>, rules: &EntryRules, report: &mut Report) -> Option<Vec<DumpedModel>> {
    let before = report.problems.len();
    let items = list.items(report)?;
    let models = items.iter().filter_map(|item| entry(item, rules, report)).collect();
    (report.problems.len() == before).then_some(models)
}

fn entry(item: &Field<'_>, rules: &EntryRules, report: &mut Report) -> Option<DumpedModel> {
    const KEYS: &[&str] =
        &["model_name", "layer", "watcher_nodes", "optype_blacklist", "opname_blacklist", "opname_range"];
    let object = item.object(KEYS, report)?;
    let mut model = DumpedModel { pointer: item.pointer.clone(), ..DumpedModel::default() };
    if let Some(field) = object.get("model_name") {
        let name = if rules.single_operators { field.text(report) } else { field.filled_text(report) };
        model.model_name = name.filter(|name| !name.is_empty()).map(str::to_owned);
        if rules.watcher {
            field.problem(report, Conflict, "\"watcher\" takes no model", "leave the key out");
        }
    }
    if let Some(field) = object.get("layer") {
        model.layers = names(&field, report);
        let empty = field.items(&mut Report::default()).is_some_and(|items| items.is_empty());
        if empty && !rules.single_operators {
            field.problem(report, Content, "the list is empty", "name an operator, or leave the key out for all");
        }
    }
    watcher_nodes(&object, rules, report);
    for (key, entries) in
        [("optype_blacklist", &mut model.optype_blacklist), ("opname_blacklist", &mut model.opname_blacklist)]
    {
        if let Some(field) = object.get(key) {
            *entries = blacklist(&field, report);
            needs_operator_level(&field, rules, report);
        }
    }
    if let Some(field) = object.get("opname_range") {
        model.ranges = ranges(&field, report);
        needs_operator_level(&field, rules, report);
        if object.get("model_name").is_none() {
            let what = "the range does not say of which model";
            field.problem(report, Conflict, what, "write a \"model_name\" beside it");
        }
    }
    Some(model)
}

fn watcher_nodes(object: &Object<'_>, rules: &EntryRules, report: &mut Report) {
    let pointer = object.pointer_of("watcher_nodes");
    let Some(field) = object.get("watcher_nodes") else {
        if rules.watcher {
            report.problem(Content, &pointer, "the key is missing", "\"watcher\" needs the names of its nodes");
        }
        return;
    };
    let named = !names(&field, report).is_empty();
    if !rules.watcher {
        report.problem(Conflict, &pointer, "only the scene \"watcher\" has nodes", "use \"layer\" instead");
    } else if !named {
        report.problem(Content, &pointer, "no node is named", "name at least one");
    }
}

fn needs_operator_level(field: &Field<'_>, rules: &EntryRules, report: &mut Report) {
    if !rules.by_operator {
        let what = "this needs \"dump_level\": \"op\", and the level is another";
        field.problem(report, Conflict, what, "write \"dump_level\": \"op\" in the section, or leave this key out");
    }
}

fn names(field: &Field<'_>, report: &mut Report) -> Vec<String> {
    let items = field.items(report).unwrap_or_default();
    items.iter().filter_map(|item| item.filled_text(report)).map(str::to_owned).collect()
}

fn blacklist(field: &Field<'_>, report: &mut Report) -> Vec<Excluded> {
    /// The largest number of entries in a blacklist, which is the vendor's limit.
    const MOST: usize = 100;
    let items = field.items(report).unwrap_or_default();
    if items.len() > MOST {
        let what = format!("there are {} entries", items.len());
        field.problem(report, Value, what, format!("write at most {MOST}"));
    }
    let read = |item: &Field<'_>, report: &mut Report| {
        let object = item.object(&["name", "pos"], report)?;
        let name = required(&object, "name", report)?;
        let Some(pos) = object.get("pos") else { return Some(Excluded { name, slots: Vec::new() }) };
        let slots = slots(&pos, report);
        // An entry with an empty list leaves out all slots. An entry whose slots are all invalid leaves out nothing.
        let is_empty = pos.items(&mut Report::default()).is_some_and(|items| items.is_empty());
        (is_empty || !slots.is_empty()).then_some(Excluded { name, slots })
    };
    items.iter().filter_map(|item| read(item, report)).collect()
}

fn slots(field: &Field<'_>, report: &mut Report) -> Vec<Position> {
    let mut slots = Vec::new();
    for item in field.items(report).unwrap_or_default() {
        let Some(text) = item.text(report) else { continue };
        match text.parse() {
            Ok(slot) => slots.push(slot),
            Err(_) => {
                let what = format!("\"{}\" is not an input or output", shortened(text));
                // The vendor's library does not check this.
                if report.as_vendor {
                    report.warning(&item.pointer, format!("{what}, and has no effect"));
                } else {
                    item.problem(report, Choice, what, "write \"input0\", \"output1\" and so on");
                }
            }
        }
    }
    slots
}

fn ranges(field: &Field<'_>, report: &mut Report) -> Vec<NameRange> {
    let read = |item: &Field<'_>, report: &mut Report| {
        let object = item.object(&["begin", "end"], report)?;
        let (begin, end) = (required(&object, "begin", report), required(&object, "end", report));
        Some(NameRange { begin: begin?, end: end? })
    };
    let items = field.items(report).unwrap_or_default();
    items.iter().filter_map(|item| read(item, report)).collect()
}

fn required(object: &Object<'_>, key: &str, report: &mut Report) -> Option<String> {
    match object.get(key) {
        Some(field) => field.filled_text(report).map(str::to_owned),
        None => {
            report.problem(Content, &object.pointer_of(key), "the key is missing", "give a name");
            None
        }
    }
}
