//! Programs that are linked with librocprofiler64.so.2, contain a tool, and run models with libopscope. A consumer
//! receives reports of the same runs.

use opscope_c_programs::consumers::{Call, SDK, calls, consumer, of};
use opscope_c_programs::v2_trace::is_all_of;
use opscope_c_programs::{Language, Library};

use super::{CONSUMER_LOG, TOOL_LOG, with_tool};

/// Compiles `v2_tools.c` with the tool, runs it, and returns what the tool wrote, and what the consumer received.
fn run(language: Language, what: &str) -> (Vec<Call>, Vec<Call>) {
    let place = tempfile::tempdir().expect("a directory");
    consumer(&place.path().join("lib").join(SDK), &[]);
    let program = with_tool("v2_tools.c", Library::RocprofilerV2, what, place.path());
    let printed = program.options(&["-D_GNU_SOURCE", "-lrocprofiler64v2"]).run_as(language);
    assert_eq!(printed.stderr, "");
    let [tool, consumer] = [TOOL_LOG, CONSUMER_LOG].map(|name| calls(&place.path().join(name)));
    (tool, consumer)
}

#[test]
fn a_program_with_a_tool_of_rocprofiler_v2_gets_all_of_its_own_runs() {
    for language in Language::ALL {
        let (written, told) = run(language, "first");
        assert_eq!(of(&told, "run_end").len(), 3);
        is_all_of(&written, &told);
    }
}

#[test]
fn a_session_that_starts_after_the_model_gets_the_runs_after_it_with_their_names() {
    for language in Language::ALL {
        let (written, told) = run(language, "late");
        let runs: Vec<u64> = of(&told, "run_end").iter().map(|run| run.number("run")).collect();
        assert_eq!(runs.len(), 6);
        let is_late = |call: &&Call| {
            !["dispatch_end", "copy"].contains(&call.function.as_str()) || runs[3..].contains(&call.number("run"))
        };
        is_all_of(&written, &told.iter().filter(is_late).cloned().collect::<Vec<_>>());
    }
}
