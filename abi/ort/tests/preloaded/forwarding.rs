//! What the program computes is what it computes without the library.

use std::fs;
use std::path::Path;

use opscope_c_programs::{Language, Program};

use crate::support::{CALLS, Way, image, model, onnxruntime, preloaded, same_with_and_without};

#[test]
fn a_program_of_which_nothing_is_asked_prints_the_same_and_no_more() {
    let Some(library) = onnxruntime() else { return };
    for way in Way::ALL {
        let printed = same_with_and_without(&library.digits(way, "file", 4, 10), &[]);
        assert_eq!(printed.stderr, "", "{way:?}");
        assert_eq!(printed.stdout.lines().count(), 4);
    }
}

#[test]
fn outputs_have_the_same_bits_whatever_is_asked_and_however_the_session_was_made() {
    let Some(library) = onnxruntime() else { return };
    for (way, call) in Way::ALL.into_iter().flat_map(|way| CALLS.map(|call| (way, call))) {
        for source in ["file", "memory", "weights"] {
            let place = tempfile::tempdir().expect("a directory");
            let [profile, dump] = ["a/b/profile", "dump"].map(|name| place.path().join(name));
            let asked: [(&str, &Path); 4] = [
                ("OPSCOPE_PROFILE", &profile),
                ("OPSCOPE_DUMP", &dump),
                ("OPSCOPE_NONFINITE", Path::new("raise")),
                ("OPSCOPE_DEBUG_SERVER", &place.path().join("socket")),
            ];
            let printed = same_with_and_without(&library.digits(way, source, 3, 5).option(call), &asked);
            let name = if source == "memory" { "model" } else { "digits_cnn" };
            for (asked, what) in [(&profile, "profile"), (&dump, "dump")] {
                let path = asked.join(name);
                assert!(path.join("manifest.json").is_file(), "{way:?} {call} {source}: {}", printed.stderr);
                let line = format!("its {what} is in {}", path.display());
                assert_eq!(printed.stderr.matches(&line).count(), 1, "{}", printed.stderr);
            }
            assert_eq!(printed.stderr.lines().count(), 3, "{}", printed.stderr);
        }
    }
}

#[test]
fn a_program_in_cxx_with_threads_and_exceptions_runs_as_without() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let dump = place.path().join("dump");
    for way in Way::ALL {
        let program = library.program("server.cpp", way).arguments([&model("digits_cnn.onnx"), &image()]).argument("4");
        let plain = program.run();
        assert_eq!(plain.stdout.lines().count(), 12);
        assert!(
            plain.stdout.lines().all(|line| Some(line) == plain.stdout.lines().next() && !line.starts_with("000000"))
        );
        let asked = preloaded(program).with("OPSCOPE_DUMP", dump.to_str().expect("UTF-8"));
        let printed = asked.with("OPSCOPE_NONFINITE", "raise").run();
        assert_eq!(printed.stdout, plain.stdout);
        assert_eq!(printed.stderr.matches("its dump is in ").count(), 12, "{}", printed.stderr);
        assert_eq!(printed.stderr.lines().count(), 12, "{}", printed.stderr);
    }
    // Each session has one of its own.
    assert_eq!(fs::read_dir(dump).expect("the dumps").count(), 12 * Way::ALL.len());
}

#[test]
fn what_the_library_refuses_is_refused_in_its_words() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let truncated = place.path().join("truncated.onnx");
    let bytes = fs::read(model("digits_cnn.onnx")).expect("a model");
    fs::write(&truncated, &bytes[..bytes.len() / 2]).expect("a file");
    let sessions = |model: &str, input: &str, shape: &str, output: &str| -> Program {
        let program = library.program("sessions.c", Way::Opened);
        program.arguments(["file", model, input, &image(), shape, output, "1", "1"])
    };
    let digits = model("digits_cnn.onnx");
    for program in [
        sessions(&digits, "image", "8,1,4,16", "probabilities"),
        sessions(&digits, "image", "512", "probabilities"),
        sessions(&digits, "no input", "8,1,8,8", "probabilities"),
        sessions(&digits, "image", "8,1,8,8", "no output"),
        sessions("/nowhere/model.onnx", "image", "8,1,8,8", "probabilities"),
        sessions(truncated.to_str().expect("UTF-8"), "image", "8,1,8,8", "probabilities"),
    ]
    .iter()
    .flat_map(|program| CALLS.map(|call| program.clone().option(call)))
    {
        let asked: [(&str, &Path); 3] = [
            ("OPSCOPE_PROFILE", &place.path().join("profile")),
            ("OPSCOPE_NONFINITE", Path::new("raise")),
            ("OPSCOPE_DEBUG_SERVER", Path::new("1")),
        ];
        let printed = same_with_and_without(&program, &asked);
        assert!(printed.stdout.starts_with("error "), "{}", printed.stdout);
        assert!(printed.stderr.lines().count() <= 1, "{}", printed.stderr);
    }
    assert!(!place.path().join("profile").exists());
}

#[test]
fn a_value_that_a_variable_cannot_have_is_an_error_of_every_session() {
    let Some(library) = onnxruntime() else { return };
    for (variable, value, sentence) in [
        ("OPSCOPE_NONFINITE", "yes", "OPSCOPE_NONFINITE is raise, or is not set, and not 'yes'"),
        ("OPSCOPE_DEBUG_SERVER", "on", "OPSCOPE_DEBUG_SERVER is 1 or a path such as ./socket, and not 'on'"),
    ] {
        let program = preloaded(library.digits(Way::Opened, "file", 1, 1)).with(variable, value);
        let printed = program.run_as(Language::C11);
        assert_eq!((printed.stdout, printed.stderr), (format!("error 2: {sentence}\n"), String::new()));
    }
}
