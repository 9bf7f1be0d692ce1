//! Producers that announce runs of models in their own way.

use super::program;

#[test]
fn a_dispatch_without_its_beginning_is_recorded_but_not_told() {
    program("producer.c").argument("dispatches").run_silently();
}

#[test]
fn a_code_object_says_where_its_model_is_from() {
    program("producer.c").argument("objects").run_silently();
}
