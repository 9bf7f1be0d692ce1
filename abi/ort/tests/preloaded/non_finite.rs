//! Runs whose outputs have NaN or infinity.

use opscope_c_programs::{Language, Program};

use crate::support::{CALLS, Installed, Way, model, onnxruntime, preloaded};

fn logarithm(library: &Installed, way: Way, threads: usize) -> Program {
    let (path, input) = (model("fixtures/nan.onnx"), model("fixtures/nan.input.x.npy"));
    let program = library.program("sessions.c", way).arguments(["file", &path, "x", &input, "3", "y"]);
    program.arguments([threads.to_string(), threads.to_string()])
}

#[test]
fn a_run_whose_output_is_not_finite_is_an_error_that_names_the_operator() {
    let Some(library) = onnxruntime() else { return };
    for (way, call) in Way::ALL.into_iter().flat_map(|way| CALLS.map(|call| (way, call))) {
        let plain = logarithm(library, way, 2).option(call).run();
        assert!(!plain.stdout.contains("error"), "{}", plain.stdout);
        let program = preloaded(logarithm(library, way, 2).option(call)).with("OPSCOPE_NONFINITE", "raise");
        let printed = program.run_as(Language::C11);
        let errors: Vec<&str> = printed.stdout.lines().filter(|line| line.starts_with("error ")).collect();
        assert_eq!(errors.len(), 2, "{call}: one of each thread: {}", printed.stdout);
        for error in errors {
            assert!(error.starts_with("error 1: an output is NaN or infinite: "), "{error}");
            assert!(error.contains("after #3 inverse (Div)"), "{error}");
        }
        // The output that the library had made is gone.
        assert!(!printed.stdout.contains("nevertheless"), "{}", printed.stdout);
        assert_eq!(printed.stderr, "");
    }
}

#[test]
fn the_operator_is_found_where_the_output_is_written_over_the_input() {
    let Some(library) = onnxruntime() else { return };
    for call in CALLS {
        let program = logarithm(library, Way::Opened, 1).options(&[call, "-DIN_PLACE"]);
        let printed = preloaded(program).with("OPSCOPE_NONFINITE", "raise").run_as(Language::C11);
        assert!(printed.stdout.contains("after #3 inverse (Div)"), "{call}: {}", printed.stdout);
    }
}
