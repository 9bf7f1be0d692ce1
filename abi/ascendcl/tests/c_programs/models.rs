//! Models: what programs ask about them, and how they run them.

use std::fs;
use std::path::PathBuf;

use opscope_c_programs::models;
use tempfile::TempDir;

use super::program;

/// Runs a program in the directory of the models, with these arguments and variables. Returns what it prints.
#[track_caller]
pub fn run(source: &str, arguments: &[&str], variables: &[(&str, &str)]) -> String {
    let program = program(source).inside(models()).arguments(arguments.iter().copied());
    let program = variables.iter().fold(program, |program, (name, value)| program.with(name, *value));
    let printed = program.run();
    assert_eq!(printed.stderr, "");
    printed.stdout
}

/// The environment variable for shapes that the user fixes.
pub const SHAPES: &str = "OPSCOPE_ACL_INPUT_SHAPE";

const IMAGES: &str = "digits_cnn.test.image.npy";
const LABELS: &str = "digits_cnn.test.labels.npy";
const RIGHT: &str = "355 of 360 digits are right\n";

#[test]
fn data_buffers_datasets_descriptions_of_tensors_and_numbers_are_as_documented() {
    run("tensors.c", &[], &[]);
}

#[test]
fn models_say_what_they_take_and_return() {
    let names = ["bool", "data_dependent", "external", "fp16", "int8", "long_names", "scalar", "strings", "wide_types"];
    let paths: Vec<String> = names.iter().map(|name| format!("fixtures/{name}.onnx")).collect();
    let mut arguments = vec!["digits_cnn.onnx", "token_classifier.onnx"];
    arguments.extend(paths.iter().map(String::as_str));
    let printed = run("describe.c", &arguments, &[]);
    let (printed, from_memory): (Vec<&str>, Vec<&str>) =
        printed.lines().partition(|line| !line.contains("from memory"));
    assert_eq!(printed, DESCRIBED.lines().collect::<Vec<_>>());
    // A model in memory has no directory with external data.
    assert_eq!(from_memory.len(), 1, "{from_memory:?}");
    assert!(from_memory[0].starts_with("  545001 from memory: EH0003:"), "{from_memory:?}");
}

const DESCRIBED: &str = "\
digits_cnn.onnx: work 1 weights 60072
  in image [-1, 1, 8, 8] type 0 format 0 size 0
  out probabilities [-1, 10] type 0 format 2 size 0
token_classifier.onnx: work 1 weights 31452
  in input_ids [-1, -1] type 9 format 2 size 0
  out logits [-1, 10] type 0 format 2 size 0
fixtures/bool.onnx: work 1 weights 1
  in a [-1] type 12 format 2 size 0
  in b [-1] type 12 format 2 size 0
  in x [-1] type 0 format 2 size 0
  out both [-1] type 12 format 2 size 0
  out y [-1] type 0 format 2 size 0
fixtures/data_dependent.onnx: work 1 weights 1
  in x [-1] type 0 format 2 size 0
  out y [1, -1] type 9 format 2 size 0
fixtures/external.onnx: work 1 weights 60
  in x [-1, 4] type 0 format 2 size 0
  out y [-1, 3] type 0 format 2 size 0
fixtures/fp16.onnx: work 1 weights 30
  in x [-1, 4] type 1 format 2 size 0
  out y [-1, 3] type 1 format 2 size 0
fixtures/int8.onnx: work 1 weights 1
  in a [-1] type 2 format 2 size 0
  in b [-1] type 4 format 2 size 0
  out total [-1] type 2 format 2 size 0
  out clipped [-1] type 4 format 2 size 0
fixtures/long_names.onnx: work 1 weights 1
  in x [-1] type 0 format 2 size 0
  out (400 bytes) [-1] type 0 format 2 size 0
fixtures/scalar.onnx: work 8 weights 1
  in s [] type 0 format 2 size 4
  in x [-1] type 0 format 2 size 0
  out sum [] type 0 format 2 size 4
  out y [-1] type 0 format 2 size 0
fixtures/strings.onnx: work 1 weights 1
  in x [-1] type 0 format 2 size 0
  out y [-1] type 0 format 2 size 0
  out label [2] type 13 format 2 size 0
fixtures/wide_types.onnx: work 1 weights 1
  in x [-1] type 11 format 2 size 0
  in k [-1] type 9 format 2 size 0
  out y [-1] type 11 format 2 size 0
  out l [-1] type 9 format 2 size 0
  out s [-1] type 6 format 2 size 0
  out t [-1] type 7 format 2 size 0
  out u [-1] type 8 format 2 size 0
  out v [-1] type 10 format 2 size 0
";

#[test]
fn shapes_that_the_user_fixes_count_as_those_of_the_file() {
    let shapes = "image: 2, 1, 8, 8; of_another_model:7";
    let printed = run("describe.c", &["digits_cnn.onnx"], &[(SHAPES, shapes)]);
    let fixed = "\
digits_cnn.onnx: work 592 weights 60072
  in image [2, 1, 8, 8] type 0 format 0 size 512
  out probabilities [2, 10] type 0 format 2 size 80
";
    assert_eq!(printed, fixed);
    let printed = run("describe.c", &["fixtures/scalar.onnx"], &[(SHAPES, "s:;x:3")]);
    let fixed = "\
fixtures/scalar.onnx: work 32 weights 1
  in s [] type 0 format 2 size 4
  in x [3] type 0 format 2 size 12
  out sum [] type 0 format 2 size 4
  out y [3] type 0 format 2 size 12
";
    assert_eq!(printed, fixed);
}

#[test]
fn sizes_that_the_file_has_are_not_taken_away_by_shapes_that_the_user_fixes() {
    run("wrong_shape.c", &["digits_cnn.onnx"], &[(SHAPES, "image:2,1,8,7")]);
}

/// A model of one picture, as a converter makes it.
pub struct OnePicture {
    _directory: TempDir,
    path: PathBuf,
}

impl OnePicture {
    pub fn new() -> Self {
        // Each free dimension is a text of seven bytes. It is replaced by the number 1 in six bytes.
        let (free, one) = (b"\x12\x05batch", b"\x08\x81\x80\x80\x80\x80\x00");
        let mut bytes = fs::read(models().join("digits_cnn.onnx")).expect("a model");
        let places: Vec<usize> = (0..bytes.len()).filter(|&at| bytes[at..].starts_with(free)).collect();
        assert_eq!(places.len(), 2);
        for at in places {
            bytes[at..at + one.len()].copy_from_slice(one);
        }
        let directory = TempDir::new().expect("a directory");
        let path = directory.path().join("one_picture.onnx");
        fs::write(&path, bytes).expect("a file");
        Self { _directory: directory, path }
    }

    pub fn path(&self) -> &str {
        self.path.to_str().expect("UTF-8")
    }
}

#[test]
fn the_sample_of_image_classification_is_as_right_as_the_model_is() {
    let model = OnePicture::new();
    assert_eq!(run("classify.c", &[model.path(), IMAGES, LABELS, "A"], &[]), RIGHT);
    assert_eq!(run("classify.c", &[model.path(), IMAGES, LABELS, "B"], &[]), RIGHT);
}

#[test]
fn an_onnx_file_may_have_the_name_of_the_converted_one_that_a_program_opens() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("digits.om");
    fs::copy(OnePicture::new().path(), &path).expect("a file");
    assert_eq!(run("classify.c", &[path.to_str().expect("UTF-8"), IMAGES, LABELS, "B"], &[]), RIGHT);

    // Such a file begins with these bytes.
    let content: Vec<u8> = b"IMOD".iter().copied().chain(0..=255).collect();
    fs::write(&path, content).expect("a file");
    let printed = run("refused.c", &[path.to_str().expect("UTF-8")], &[]);
    assert!(printed.starts_with("100013 EH0012: ") && printed.contains("is an offline model (.om)"), "{printed}");
}

#[test]
fn a_model_with_free_dimensions_runs_in_a_sample_where_the_user_fixes_them() {
    let arguments = ["digits_cnn.onnx", IMAGES, LABELS, "B"];
    assert_eq!(run("classify.c", &arguments, &[(SHAPES, "image:1,1,8,8")]), RIGHT);
}

#[test]
fn the_sample_with_streams_and_callbacks_is_as_right_as_the_model_is() {
    let model = OnePicture::new();
    assert_eq!(run("asynchronous.c", &[model.path(), IMAGES, LABELS], &[]), RIGHT);
}

#[test]
fn programs_set_the_shapes_of_free_dimensions_and_get_those_of_outputs() {
    run("shapes.c", &[], &[]);
}

#[test]
fn several_models_run_in_several_threads() {
    let model = OnePicture::new();
    run("several.c", &[model.path(), IMAGES, LABELS], &[]);
}

#[test]
fn every_misuse_of_models_has_its_code() {
    let model = OnePicture::new();
    run("model_misuse.c", &[model.path()], &[]);
}

#[test]
fn a_dump_changes_no_answer() {
    let model = OnePicture::new();
    let dump = [("DUMP", "on")];
    run("shapes.c", &[], &dump);
    run("model_misuse.c", &[model.path()], &dump);
    run("several.c", &[model.path(), IMAGES, LABELS], &dump);
}
