//! Runs whose outputs have NaN or infinity.

use opscope_c_programs::{Language, Program};

use crate::support::{Installed, Way, model, onnxruntime, preloaded};

fn logarithm(library: &Installed, way: Way) -> Program {
    let (path, input) = (model("fixtures/nan.onnx"), model("fixtures/nan.input.x.npy"));
    library.program("sessions.c", way).arguments(["file", &path, "x", &input, "3", "y", "2", "2"])
}

#[test]
fn a_run_whose_output_is_not_finite_is_an_error_that_names_the_operator() {
    let Some(library) = onnxruntime() else { return };
    for way in Way::ALL {
        let plain = logarithm(library, way).run();
        assert!(!plain.stdout.contains("error"), "{}", plain.stdout);
        let program = preloaded(logarithm(library, way)).with("OPSCOPE_NONFINITE", "raise");
        let printed = program.run_as(Language::C11);
        let errors: Vec<&str> = printed.stdout.lines().filter(|line| line.starts_with("error ")).collect();
        assert_eq!(errors.len(), 2, "one of each thread: {}", printed.stdout);
        for error in errors {
            assert!(error.starts_with("error 1: an output is NaN or infinite: "), "{error}");
            assert!(error.contains("after #3 inverse (Div)"), "{error}");
        }
        // The output that the library had made is gone.
        assert!(!printed.stdout.contains("nevertheless"), "{}", printed.stdout);
        assert_eq!(printed.stderr, "");
    }
}
