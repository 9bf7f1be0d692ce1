use super::support::{OLDER, SDK, program};

#[test]
fn every_function_works_without_a_profiler() {
    for library in [SDK, OLDER] {
        let printed = program("functions.c", library).run();
        assert_eq!(printed.stderr, "", "{library}");
    }
}
