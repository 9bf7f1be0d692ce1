//! `opscope engines`, and the choice of an engine.

mod process;

use std::time::Instant;

use process::{Ended, Workplace, end, model, onnx};
use serde_json::json;

/// A place where no ONNX Runtime is found.
const NOWHERE: (&str, &str) = ("ORT_DYLIB_PATH", "/nowhere/libonnxruntime.so");

fn without_library(place: &Workplace, arguments: &[&str]) -> Ended {
    end(place.command(arguments).env(NOWHERE.0, NOWHERE.1))
}

#[test]
fn the_embedded_engine_is_listed_with_all_that_it_can_do() {
    let place = Workplace::new();
    let ended = without_library(&place, &["engines"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let (tract, onnxruntime) = ended.stdout.split_once("\n\n").unwrap();
    let expected = "\
tract 0.23.9, built in
it can                                 optimised  exact
───────────────────────────────────────────────────────
stop before an operator                yes        yes
see the values between operators       yes        yes
take the times of single operators     yes        yes
keep the file's operator names         yes        yes
report the memory of tensors           yes        yes
skip an operator without executing it  yes        yes";
    assert_eq!(tract, expected);
    assert!(onnxruntime.starts_with("onnxruntime is not available: "), "{onnxruntime}");
    assert!(onnxruntime.contains("/nowhere/libonnxruntime.so"), "{onnxruntime}");
}

#[test]
fn the_json_has_an_engine_with_its_capabilities_or_the_reason_why_it_is_not_there() {
    let place = Workplace::new();
    let document = without_library(&place, &["engines", "--json"]).json();
    assert_eq!(document["schema"], "opscope.engines/1");
    let [tract, onnxruntime] = &document["engines"].as_array().unwrap()[..] else { panic!("{document}") };
    let of = |fidelity: &str| {
        json!({
            "fidelity": fidelity, "stop": true, "intermediates": true, "times": true, "names": true, "memory": true,
            "skip": true,
        })
    };
    let expected = json!({
        "name": "tract", "version": "0.23.9", "library": null, "providers": [],
        "capabilities": [of("optimised"), of("exact")],
    });
    assert_eq!(*tract, expected);
    assert_eq!(onnxruntime["name"], "onnxruntime");
    assert!(onnxruntime["reason"].as_str().unwrap().contains("/nowhere"), "{onnxruntime}");
    assert_eq!(onnxruntime.as_object().unwrap().len(), 2, "{onnxruntime}");
}

#[test]
fn every_command_that_runs_a_model_refuses_an_engine_that_is_not_there() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for command in [
        &["benchmark", &digits, "--loop", "1"][..],
        &["compare", &digits, &digits],
        &["debug", &digits, "--batch", "--ex", "run"],
        &["inspect", &digits],
    ] {
        let by_option = without_library(&place, &[command, &["--engine", "ort"]].concat());
        by_option.refused(2, &["/nowhere/libonnxruntime.so"]);
        if command[0] != "inspect" {
            let by_variable = end(place.command(command).envs([NOWHERE, ("OPSCOPE_ENGINE", "onnxruntime")]));
            by_variable.refused(2, &["/nowhere/libonnxruntime.so"]);
            let unknown = end(place.command(command).env("OPSCOPE_ENGINE", "mxnet"));
            unknown.refused(2, &["OPSCOPE_ENGINE: there is no engine 'mxnet'"]);
        }
        let other = without_library(&place, &[command, &["--engine", "tract", "--provider", "cpu"]].concat());
        other.refused(2, &["--provider belongs to onnxruntime, and tract runs the model"]);
    }
}

#[test]
fn inspect_says_whether_the_engine_loads_a_model() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let ended = without_library(&place, &["inspect", &digits, "--engine", "tract"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert!(ended.stdout.contains("\ntract 0.23.9, exact: loads it; a run executes "), "{ended:?}");
    let document = without_library(&place, &["inspect", &digits, "--engine", "tract", "--json"]).json();
    assert_eq!(document["engine"]["plans"][0]["loads"], true);
    let without = without_library(&place, &["inspect", &digits, "--json"]).json();
    assert!(without.get("engine").is_none(), "no engine is asked unless one is named");
}

#[test]
fn compare_refuses_an_engine_for_a_side_that_is_not_run() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    place.benchmark_well(&[&digits, "--dump", "-o", ".", "-od", "run"]);
    let compare = |arguments: &[&str]| without_library(&place, &[&["compare"], arguments].concat());
    compare(&["dump/run", "dump/run", "--engine", "ort"])
        .refused(2, &["--engine is for a model, and dump/run is a dump"]);
    let reference = compare(&[&digits, "dump/run", "--reference-engine", "ort"]);
    reference.refused(2, &["--reference-engine is for a model, and dump/run is a dump"]);
}

#[test]
fn a_library_that_is_missing_or_for_another_processor_is_answered_in_three_lines() {
    let place = Workplace::new();
    let alone = |arguments: &[&str]| {
        let mut command = place.command(arguments);
        for name in ["ORT_DYLIB_PATH", "VIRTUAL_ENV", "LD_LIBRARY_PATH"] {
            command.env_remove(name);
        }
        end(command.env("PATH", "/nowhere"))
    };
    // The head of a library for RISC-V, in the place where `pip` puts ONNX Runtime in a virtual environment in the
    // working directory.
    let library = ".venv/lib/python3.12/site-packages/onnxruntime/capi/libonnxruntime.so.1.31.1";
    place.write(library, b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0\xf3\0");
    let document = alone(&["engines", "--json"]).json();
    let onnxruntime = &document["engines"][1];
    let skipped = onnxruntime["skipped"][0].as_str().unwrap_or_else(|| panic!("{document}"));
    assert!(skipped.contains(library) && skipped.ends_with("is for riscv"), "{skipped}");
    assert!(alone(&["engines"]).stdout.contains("is for riscv"));

    if onnxruntime.get("reason").is_none() {
        return opscope_model::testing::skipped("ONNX Runtime is in a directory of the system");
    }
    let ended = alone(&["benchmark", &model("digits_cnn.onnx"), "--engine", "onnxruntime"]);
    ended.refused(2, &["no ONNX Runtime was found", library]);
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let expected = [
        "not set: --engine-library, ORT_DYLIB_PATH, VIRTUAL_ENV",
        "to get it: python3 -m venv .venv && .venv/bin/pip install onnxruntime",
    ];
    assert_eq!(lines[1..], expected, "{ended:?}");
}

/// Compiles a library from this C source. Returns its path.
fn hostile(place: &Workplace, name: &str, source: &str) -> String {
    place.write(&format!("{name}.c"), format!("#include <stdlib.h>\n#include <unistd.h>\n{source}\n"));
    let library = place.path(name).display().to_string();
    let mut compiler = std::process::Command::new("cc");
    compiler.args(["-shared", "-fPIC", "-o", &library]).arg(format!("{library}.c"));
    assert!(compiler.status().unwrap().success());
    library
}

/// Compiles a library whose constructor does `what`.
fn constructing(place: &Workplace, name: &str, what: &str) -> String {
    hostile(place, name, &format!("__attribute__((constructor)) static void begin(void) {{ {what}; }}"))
}

/// Compiles a library with a table of the functions `api` and `version`.
fn with_table(place: &Workplace, name: &str, api: &str, version: &str) -> String {
    let source = format!(
        "static void *none(void) {{ return 0; }}\nstatic void *table[] = {{ {api}, {version} }};\n\
         void *OrtGetApiBase(void) {{ (void)none; return table; }}"
    );
    hostile(place, name, &source)
}

#[test]
fn a_library_that_nobody_has_tried_cannot_end_or_hang_the_command_that_looks_at_it() {
    let place = Workplace::new();
    // An operator that only ONNX Runtime has.
    let refused =
        onnx::file("odd", "a test", &[("x", &["3"])], &[onnx::node("n", "Unheard", &["x"], &["y"])], &[("y", &["3"])]);
    place.write("odd.onnx", refused);
    let cut = place.write("cut.so", &std::fs::read(env!("CARGO_BIN_EXE_opscope")).unwrap()[..4096]);
    let cases = [
        (cut.display().to_string(), "is not a usable ONNX Runtime"),
        (constructing(&place, "exits.so", "exit(0)"), "ended with exit status: 0"),
        (constructing(&place, "aborts.so", "abort()"), "ended with signal: 6"),
        (constructing(&place, "hangs.so", "for (;;) pause()"), "it did not answer within 20 s"),
        (with_table(&place, "bare.so", "none", "0"), "its table OrtApiBase has a null pointer"),
        (with_table(&place, "silent.so", "none", "none"), "it does not say its version"),
    ];
    for (library, reason) in &cases {
        let start = Instant::now();
        let listed = end(place.command(&["engines"]).env("ORT_DYLIB_PATH", library));
        // It waits as long as the message says. The upper bound is generous, because the machine may be busy.
        let waited = start.elapsed();
        let is_waited_for = reason.contains("20 s");
        assert!(!is_waited_for || (20..120).contains(&waited.as_secs()), "{waited:?}");
        assert_eq!(listed.code, Some(0), "{listed:?}");
        assert!(listed.stdout.starts_with("tract ") && listed.stdout.contains(library), "{listed:?}");
        assert!(listed.stdout.contains(reason), "{reason}: {listed:?}");
        let hinted = end(place.command(&["benchmark", "odd.onnx"]).env("ORT_DYLIB_PATH", library));
        hinted.refused(1, &["Unheard"]);
        assert!(!hinted.stderr.contains("--engine onnxruntime"), "{hinted:?}");
    }
}
