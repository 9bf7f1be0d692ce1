//! Records of programs that run models.

use super::program;

#[test]
fn dispatches_of_producers_arrive_with_their_names_and_nothing_is_set_without_a_session() {
    program("producer.c").run_silently();
}
