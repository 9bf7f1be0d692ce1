//! Recordings and dumps of the program's models.

use std::fs;
use std::path::Path;

use opscope_c_programs::Language;
use opscope_dump::{StoredDump, StoredTensor};
use opscope_onnx::Graph;
use opscope_profile::Recording;
use opscope_tensor::npy;

use crate::support::{CALLS, Way, image, model, onnxruntime, preloaded, same_with_and_without};

#[test]
fn the_recording_has_a_hundred_runs_and_every_operator_and_the_dump_every_output() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let [profile, dump] = ["profile", "dump"].map(|name| place.path().join(name));
    let asked: [(&str, &Path); 2] = [("OPSCOPE_PROFILE", &profile), ("OPSCOPE_DUMP", &dump)];
    same_with_and_without(&library.digits(Way::Linked, "file", 1, 2), &asked);
    let graph = Graph::load(model("digits_cnn.onnx").as_ref()).expect("the model");

    let recording = Recording::open(profile.join("digits_cnn")).expect("a recording");
    let account = recording.account().expect("an account");
    assert!(account.complete, "{:?}", recording.problems());
    assert_eq!((account.runs.measured, account.runs.warm_up), (100, 1));
    assert!(account.run.median_ns > 0.0 && !account.operators.is_empty());
    let engine = &recording.manifest().engine;
    assert_eq!((engine.name.as_str(), engine.threads), ("onnxruntime", 2));
    assert_eq!(engine.settings["session_options"], "those of the program");
    for file in ["op_summary.csv", "op_statistic.csv", "api_statistic.csv"] {
        assert!(profile.join("digits_cnn").join(file).is_file(), "{file}");
    }

    let stored = StoredDump::open(&dump.join("digits_cnn")).expect("a dump");
    for operator in &graph.operators {
        assert!(named(&stored, &operator.name).is_some(), "{}", operator.name);
    }
}

fn named<'d>(stored: &'d StoredDump, operator: &str) -> Option<&'d StoredTensor> {
    stored.tensors.iter().find(|tensor| tensor.place.operator.as_deref() == Some(operator))
}

#[test]
fn the_dump_has_the_values_of_the_programs_inputs_in_whichever_way_it_runs() {
    let Some(library) = onnxruntime() else { return };
    let expected = npy::read_file(model("digits_cnn.output.probabilities.npy").as_ref()).expect("an array");
    for call in CALLS {
        let place = tempfile::tempdir().expect("a directory");
        let program = library.digits(Way::Opened, "file", 1, 2).option(call);
        same_with_and_without(&program, &[("OPSCOPE_DUMP", place.path())]);
        let stored = StoredDump::open(&place.path().join("digits_cnn")).expect("a dump");
        // The values are those of another run of ONNX Runtime.
        let softmax = named(&stored, "/Softmax").expect("the last operator").read().expect("its tensor");
        assert_eq!(softmax.shape(), expected.shape());
        let number =
            |bytes: &[u8], index: usize| f32::from_le_bytes(bytes[4 * index..][..4].try_into().expect("four bytes"));
        for index in 0..80 {
            let (found, expected) = (number(softmax.bytes(), index), number(expected.bytes(), index));
            assert!((found - expected).abs() < 1e-4, "{call}: {found} for {expected}");
        }
    }
}

#[test]
fn external_data_is_found_beside_the_file() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let (external, input) = (model("fixtures/external.onnx"), model("fixtures/external.input.x.npy"));
    let shape =
        npy::read_file(input.as_ref()).expect("an array").shape().iter().map(usize::to_string).collect::<Vec<_>>();
    let program = library.program("sessions.c", Way::Opened);
    let program = program.arguments(["file", &external, "x", &input, &shape.join(","), "y", "1", "1"]);
    let printed = same_with_and_without(&program, &[("OPSCOPE_DUMP", place.path())]);
    let stored =
        StoredDump::open(&place.path().join("external")).unwrap_or_else(|error| panic!("{error} {}", printed.stderr));
    assert!(!stored.tensors.is_empty());
}

#[test]
fn an_operator_of_the_programs_own_is_dumped_as_any_other() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let path = place.path().join("custom.onnx");
    fs::write(&path, doubled()).expect("a file");
    let program = library.program("custom.c", Way::Linked).argument(path.to_str().expect("UTF-8"));
    let asked: [(&str, &Path); 2] =
        [("OPSCOPE_DUMP", &place.path().join("dump")), ("OPSCOPE_PROFILE", &place.path().join("profile"))];
    let printed = same_with_and_without(&program, &asked);
    assert_eq!(printed.stdout, "2 0 6\n");
    let stored = StoredDump::open(&place.path().join("dump/custom"))
        .unwrap_or_else(|error| panic!("{error} {}", printed.stderr));
    let double = stored.tensors.iter().find(|tensor| tensor.place.op_type.as_deref() == Some("Double"));
    let double = double.expect("the operator").read().expect("its tensor");
    let expected: Vec<u8> = [2f32, -4.0, 6.0].iter().flat_map(|number| number.to_le_bytes()).collect();
    assert_eq!(double.bytes(), expected);
    assert!(Recording::open(place.path().join("profile/custom")).is_ok(), "{}", printed.stderr);
}

/// A model that computes `y = Relu(Double(x))`, of three numbers, where `Double` is of the operator set `test`.
fn doubled() -> Vec<u8> {
    let field = |number: u8, bytes: &[u8]| [&[number << 3 | 2, bytes.len() as u8], bytes].concat();
    let number = |field: u8, value: u8| [field << 3, value];
    let port = |name: &str| {
        let shape = field(1, &number(1, 3));
        let tensor = field(1, &[&number(1, 1)[..], &field(2, &shape)].concat());
        [field(1, name.as_bytes()), field(2, &tensor)].concat()
    };
    let node = |from: &str, to: &str, op: &str, domain: &str| {
        [field(1, from.as_bytes()), field(2, to.as_bytes()), field(4, op.as_bytes()), field(7, domain.as_bytes())]
            .concat()
    };
    let graph = [
        field(1, &node("x", "d", "Double", "test")),
        field(1, &node("d", "y", "Relu", "")),
        field(2, b"doubled"),
        field(11, &port("x")),
        field(12, &port("y")),
    ]
    .concat();
    let sets = [field(8, &number(2, 17)), field(8, &[&field(1, b"test")[..], &number(2, 1)].concat())].concat();
    [number(1, 8).to_vec(), field(7, &graph), sets].concat()
}

#[test]
fn a_directory_that_cannot_be_made_is_a_line_and_the_program_continues() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let file = place.path().join("file");
    fs::write(&file, "").expect("a file");
    let below = file.join("below");
    let asked: [(&str, &Path); 2] = [("OPSCOPE_PROFILE", &below), ("OPSCOPE_DUMP", &below)];
    let printed = same_with_and_without(&library.digits(Way::Opened, "file", 1, 3), &asked);
    for what in ["profile", "dump"] {
        let line = format!("it has no {what}: {} cannot be made: Not a directory", below.display());
        assert_eq!(printed.stderr.matches(&line).count(), 1, "{}", printed.stderr);
    }
    assert_eq!(printed.stderr.lines().count(), 2);
}

#[test]
fn a_model_that_opscope_cannot_read_is_left_alone_and_a_line_says_so() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    // A file with this name is refused as one of a converter, whatever it contains.
    let path = place.path().join("digits.om");
    fs::copy(model("digits_cnn.onnx"), &path).expect("a copy");
    let program = library.program("sessions.c", Way::Opened);
    let program = program.arguments(["file", path.to_str().expect("UTF-8"), "image", &image(), "8,1,8,8"]);
    let printed = same_with_and_without(
        &program.arguments(["probabilities", "1", "2"]),
        &[("OPSCOPE_DUMP", &place.path().join("dump"))],
    );
    let start = format!("libopscope_ort (opscope): the session of '{}' is not observed: ", path.display());
    assert!(printed.stderr.starts_with(&start) && printed.stderr.lines().count() == 1, "{}", printed.stderr);
    assert!(!place.path().join("dump").exists());
}

#[test]
fn a_name_that_is_taken_gets_a_number_and_nothing_is_overwritten() {
    let Some(library) = onnxruntime() else { return };
    let place = tempfile::tempdir().expect("a directory");
    let program = preloaded(library.digits(Way::Opened, "file", 1, 1));
    let program = program.with("OPSCOPE_DUMP", place.path().to_str().expect("UTF-8"));
    for expected in ["digits_cnn", "digits_cnn-2"] {
        let printed = program.run_as(Language::C11);
        assert!(printed.stderr.ends_with(&format!("/{expected}\n")), "{}", printed.stderr);
        assert!(StoredDump::open(&place.path().join(expected)).is_ok());
    }
}
