//! What the README says of the table, compared with the table and the header.

use std::collections::BTreeSet;

const README: &str = include_str!("../README.md");
const TABLE: &str = include_str!("../src/table.rs");
const HEADER: &str = include_str!("../include/cudadebugger.h");

/// Returns the slots of the table: a function's name, and whether it has a body.
fn slots() -> Vec<(&'static str, bool)> {
    let list = TABLE.split_once("\ntable! {\n").and_then(|(_, after)| after.split_once("\n}")).expect("the table").0;
    let slots = list.split(',').map(str::trim).filter(|slot| !slot.is_empty());
    slots.map(|slot| (slot.split_once(" = ").map_or(slot, |(name, _)| name), slot.contains('='))).collect()
}

/// Returns the names in backticks between two headings.
fn named(from: &str, to: &str) -> BTreeSet<&'static str> {
    let part = README.split_once(from).and_then(|(_, after)| after.split_once(to)).expect("the section").0;
    part.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_readme_lists_exactly_the_functions_that_are_not_supported() {
    let without: BTreeSet<_> = slots().into_iter().filter(|(_, has_body)| !has_body).map(|(name, _)| name).collect();
    let listed = named("and `getErrorStringEx` names them:", "`cudbgMain`");
    assert!(!without.is_empty() && listed == without, "{:?}", listed.symmetric_difference(&without));
}

#[test]
fn the_table_and_the_header_have_the_same_functions_in_the_same_order() {
    let table =
        HEADER.split_once("struct CUDBGAPI_st {").and_then(|(_, after)| after.split_once("};")).expect("the table").0;
    let declared = table.split("CUDBGResult (*").skip(1).map(|after| after.split_once(')').expect("a name").0);
    let names: Vec<_> = slots().into_iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), 164);
    assert!(declared.eq(names), "the header has another order");
}

#[test]
fn the_readme_names_events_that_there_are() {
    let section = named("| kind | queue | when |", "No other kind is sent");
    let shouted = |name: &&&str| name.chars().all(|sign| sign.is_ascii_uppercase() || sign == '_');
    for name in section.iter().filter(shouted) {
        let names = ["EVENT", "DEBUGGER_CAPABILITY"].map(|group| format!("CUDBG_{group}_{name} "));
        assert!(names.iter().any(|name| HEADER.contains(name)), "{name}");
    }
}
