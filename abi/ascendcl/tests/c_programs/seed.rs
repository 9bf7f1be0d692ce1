//! The page of `acldumpRegCallback`, line by line, through the library as it is installed.

use opscope_c_programs::{Printed, Program, models};

use super::program;

/// Runs a case of `seed.c` over models.
#[track_caller]
fn prints(case: &str, models: &[&str], expected: &str) {
    assert_eq!(seed(case, models).run(), Printed { stdout: expected.to_owned(), stderr: String::new() });
}

fn seed(case: &str, models: &[&str]) -> Program {
    let paths = models.iter().map(|model| self::models().join(model).display().to_string());
    let program = program("seed.c").argument(case).arguments(paths);
    program.with("OPSCOPE_ACL_INPUT_SHAPE", "image:1,1,8,8;input_ids:1,4").with("OPSCOPE_SOC_NAME", "Ascend910B3")
}

const DIGITS: &str = "digits_cnn.onnx";
const TOKENS: &str = "token_classifier.onnx";

#[test]
fn a_model_is_dumped_without_a_configuration() {
    prints("without", &[DIGITS], "digits_cnn: 16 files\nwithout: as the page says, with Ascend910B3\n");
}

#[test]
fn a_callback_outranks_the_directory_of_the_configuration() {
    prints("with", &[DIGITS], "digits_cnn: 16 files\nwith: as the page says, with Ascend910B3\n");
}

#[test]
fn one_registration_serves_two_models() {
    let printed = "digits_cnn: 16 files\ntoken_classifier: 14 files\ntwo: as the page says, with Ascend910B3\n";
    prints("two", &[DIGITS, TOKENS], printed);
}

#[test]
fn a_file_comes_in_pieces_and_the_last_one_says_so() {
    prints("pieces", &[DIGITS], "pieces: as the page says, with Ascend910B3\n");
}

#[test]
fn registering_answers_0_or_an_error() {
    prints("registering", &[DIGITS], "registering: as the page says, with Ascend910B3\n");
}
