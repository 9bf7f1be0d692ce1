//! Names, versions, the clock, and agents.

use super::support::program;

#[test]
fn kinds_operations_statuses_tables_and_agents_are_named_and_iterated() {
    program("names.c").run_silently();
}
