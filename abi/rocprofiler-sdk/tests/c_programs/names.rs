//! Names, versions, the clock, and agents.

use opscope_c_programs::Language;

use super::program;

#[test]
fn kinds_operations_statuses_tables_and_agents_are_named_and_iterated() {
    program("names.c").run_silently();
}

#[test]
fn the_helpers_for_cxx_know_every_name() {
    assert_eq!(program("names.cpp").run_as(Language::Cxx17).stderr, "");
}
