//! Dumps in several threads.

use std::fs;

use opscope_c_programs::{Language, Printed, models};
use tempfile::TempDir;

use crate::models::SHAPES;
use crate::program;

#[test]
fn threads_do_with_dumps_what_they_like_and_nothing_hangs() {
    for seed in ["1", "2"] {
        let directory = TempDir::new().expect("a directory");
        fs::create_dir(directory.path().join("dump")).expect("a directory");
        let section = r#"{"dump": {"dump_path": "dump", "dump_list": [{}]}}"#;
        fs::write(directory.path().join("acl.json"), section).expect("a file");
        let model = models().join("digits_cnn.onnx").display().to_string();
        let program = program("dump_threads.c").inside(directory.path().to_owned()).with(SHAPES, "image:1,1,8,8");
        let program = program.argument(model).argument("20").argument(seed);
        for language in Language::ALL {
            let Printed { stdout, stderr } = program.run_as(language);
            assert_eq!(stdout, "");
            // A callback that is removed in the middle of a file does not receive its end.
            let is_said = |line: &str| line.contains("the callback was removed before the end of ");
            assert!(stderr.lines().all(is_said), "{stderr}");
        }
    }
}

#[test]
fn a_child_begins_anew_whatever_the_parents_threads_do() {
    let model = models().join("digits_cnn.onnx").display().to_string();
    let printed = program("dump_forks.c").with(SHAPES, "image:1,1,8,8").argument(model).argument("20").run();
    assert_eq!(printed, Printed { stdout: "passed\n".to_owned(), stderr: String::new() });
}
