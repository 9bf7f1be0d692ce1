//! The line of the first screen that says how much faster ONNX Runtime would be.

mod process;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use opscope::engine::Library;
use opscope_model::testing::skipped;
use process::{Ended, Workplace, end, model};
use serde_json::{Value, json};

/// Returns `opscope benchmark` of a small model. It runs on the embedded engine, because nothing chooses another one.
fn benchmark(place: &Workplace, library: &Path, options: &[&str]) -> Command {
    let digits = model("digits_cnn.onnx");
    let mut command = place.command(&[&["benchmark", &digits, "--loop", "3"], options].concat());
    command.env_remove("OPSCOPE_ENGINE").env("XDG_CACHE_HOME", place.path("caches")).env("ORT_DYLIB_PATH", library);
    command
}

fn run(place: &Workplace, library: &Path, options: &[&str]) -> Ended {
    let ended = end(&mut benchmark(place, library, options));
    assert_eq!(ended.code, Some(0), "{options:?}: {ended:?}");
    ended
}

/// Returns the stored result for the other engine: its path and its content.
fn kept(place: &Workplace) -> Option<(PathBuf, Value)> {
    let entries = fs::read_dir(place.path("caches/opscope")).ok()?;
    let path =
        entries.map(|entry| entry.unwrap().path()).find(|path| path.to_str().unwrap().ends_with("-faster.json"))?;
    let document = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    Some((path, document))
}

#[test]
fn the_first_screen_says_how_much_faster_onnx_runtime_was_measured_to_be() {
    let Ok(library) = Library::find(None) else { return skipped("no ONNX Runtime was found") };
    let (place, library) = (Workplace::new(), library.path().to_owned());
    // On a busy machine the engine may not answer in time, and then no line is printed.
    let measured = (0..20).find_map(|_| {
        run(&place, &library, &[]);
        let (path, document) = kept(&place).expect("the answer is kept");
        let is_known = document["median_ns"].as_f64().is_some_and(|nanos| nanos > 0.0);
        is_known.then_some((path.clone(), document)).or_else(|| fs::remove_file(path).ok().and(None))
    });
    let (path, document) = measured.expect("ONNX Runtime runs the model in time once");
    assert_eq!(document["schema"], "opscope.faster/1");
    let version = document["version"].as_str().unwrap().to_owned();

    let with_median = |nanos: f64| {
        let mut changed = document.clone();
        changed["median_ns"] = json!(nanos);
        fs::write(&path, changed.to_string()).unwrap();
    };
    with_median(10.0);
    let line = |ended: &Ended| ended.stdout.lines().find(|line| line.starts_with("faster ")).map(str::to_owned);
    let fast = line(&run(&place, &library, &[])).expect("a line");
    assert!(fast.starts_with(&format!("faster     ONNX Runtime {version}: 10 ns for a run, ")), "{fast}");
    assert!(fast.ends_with(" times as fast; --engine onnxruntime"), "{fast}");
    for options in [&["--json"][..], &["--quiet"], &["--details"], &["--engine", "tract"], &["--engine", "onnxruntime"]]
    {
        let ended = run(&place, &library, options);
        assert!(!ended.stdout.contains("times as fast"), "{options:?}: {ended:?}");
    }
    let chosen = end(benchmark(&place, &library, &[]).env("OPSCOPE_ENGINE", "tract"));
    assert_eq!(line(&chosen), None, "{chosen:?}");
    with_median(1e15);
    assert_eq!(line(&run(&place, &library, &[])), None, "it is not faster");
    // The stored result of one library is not used for another one.
    with_median(10.0);
    let other = place.path("other.so");
    fs::copy(&library, &other).unwrap();
    let before = fs::read(&path).unwrap();
    run(&place, &other, &[]);
    assert_ne!(fs::read(&path).unwrap(), before, "it is measured anew");
}

#[test]
fn a_library_that_hangs_is_asked_once_for_a_model() {
    let place = Workplace::new();
    place.write(
        "hangs.c",
        "#include <unistd.h>\n__attribute__((constructor)) static void begin(void) { for (;;) pause(); }",
    );
    let library = place.path("hangs.so");
    let source = place.path("hangs.c");
    let compiled = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).status().unwrap();
    assert!(compiled.success());
    let first = run(&place, &library, &[]);
    assert!(!first.stdout.contains("times as fast"), "{first:?}");
    let (path, document) = kept(&place).expect("that there is no answer is kept");
    assert_eq!((&document["version"], &document["median_ns"]), (&Value::Null, &Value::Null));
    let written = fs::metadata(&path).unwrap().modified().unwrap();
    run(&place, &library, &[]);
    assert_eq!(fs::metadata(&path).unwrap().modified().unwrap(), written, "it is not asked again");
}
