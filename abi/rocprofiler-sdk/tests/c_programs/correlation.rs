//! External correlation ids.

use super::program;

#[test]
fn external_ids_are_pushed_inherited_and_requested() {
    program("correlation.c").run_silently();
}
