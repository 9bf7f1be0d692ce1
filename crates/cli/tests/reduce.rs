//! `opscope reduce`: the smallest model that still fails.

mod process;

use std::fs;
use std::io::Read;
use std::process::{Child, Command, Stdio};

use opscope::onnx::Graph;
use opscope::tensor::npz::Npz;
use opscope::tensor::{Tensor, npy};
use opscope_c_programs::consumers::{V2, library};
use opscope_model::testing::skipped;
use process::disk::{SmallDisk, with_disks};
use process::onnx::{Node, node, weighted};
use process::{Ended, Workplace, end, fixture, model};
use rustix::process::{Pid, Signal, kill_process};

fn reduce(place: &Workplace, arguments: &[&str]) -> Ended {
    end(&mut place.command(&[&["reduce"], arguments].concat()))
}

/// Writes inputs of four numbers.
fn input(place: &Workplace, name: &str, numbers: [f32; 4]) {
    let mut file = Vec::new();
    npy::write(&Tensor::from_f32(vec![4], &numbers).unwrap().view(), &mut file).unwrap();
    place.write(name, file);
}

/// The names of a model that nobody outside may see.
const SECRETS: [&str; 3] = ["secret_graph_input", "secret_weights_of_a_layer", "secret_layer"];

/// Writes a chain of many operators. The one in the middle, of this type, takes numbers of which some are negative.
fn with_operator(place: &Workplace, op_type: &str) {
    let values: Vec<String> = (0..41).map(|at| format!("secret_layer/value_{at}")).collect();
    let mut nodes = vec![node("secret_layer/first", "Add", &[SECRETS[0], SECRETS[1]], &[&values[0]])];
    for at in 0..40 {
        let kind = if at == 20 { op_type } else { ["Tanh", "Neg"][at % 2] };
        nodes.push(node("", kind, &[&values[at]], &[&values[at + 1]]));
    }
    let ends = ([(SECRETS[0], &["4"][..])], [(&*values[40], &["4"][..])]);
    let weights: [(&str, &[f32]); 1] = [(SECRETS[1], &[0.125, -0.25, 0.375, 0.0625])];
    place.write("model.onnx", weighted(&ends.0, &nodes, &weights, &ends.1));
    input(place, "x.npy", [0.75, -0.5, -1.5, 0.3125]);
}

/// Returns the types of the operators of a written model.
fn operators(place: &Workplace, name: &str) -> Vec<String> {
    Graph::load(&place.path(name)).unwrap().operators.iter().map(|operator| operator.op_type.clone()).collect()
}

#[test]
fn of_many_operators_the_one_that_makes_the_nan_is_left_with_one_number() {
    let place = Workplace::new();
    with_operator(&place, "Sqrt");
    let line = ["model.onnx", "--input", "x.npy", "--fails", "first nonfinite", "--output", "small.onnx"];
    let ended = reduce(&place, &line);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    let lines: Vec<&str> = ended.stdout.lines().collect();
    assert_eq!(lines[0], "41 operators -> 1; fails in the same way in a new process");
    assert!(lines[1].starts_with("small.onnx and small.inputs.npz, "), "{ended:?}");
    assert_eq!(operators(&place, "small.onnx"), ["Sqrt"]);
    let inputs = Npz::open(&place.path("small.inputs.npz")).unwrap();
    let names: Vec<&str> = inputs.names().collect();
    assert_eq!(names, ["secret_layer/value_20"], "names stay unless they are to be replaced");
    assert_eq!(inputs.read(names[0]).unwrap().shape(), [1]);
    let command = lines[2].strip_prefix("see it fail: opscope ").unwrap();
    assert!(command.starts_with("debug small.onnx --input=small.inputs.npz -ex 'catch nan'"), "{command}");
    let shell = format!("{} {command}", env!("CARGO_BIN_EXE_opscope"));
    let seen = in_shell(&place, &shell);
    assert!(seen.stdout.contains("Sqrt"), "{seen:?}");
    assert_eq!(
        reduce(&place, &["small.onnx", "--input", "small.inputs.npz", "--fails", "first nonfinite", "--check"]).code,
        Some(0)
    );
}

/// Runs a line of a shell in the directory of a test.
fn in_shell(place: &Workplace, line: &str) -> Ended {
    end(Command::new("/bin/sh").arg("-c").arg(line).current_dir(place.path("")).stdin(Stdio::null()))
}

#[test]
fn an_anonymous_model_has_no_name_and_no_number_of_the_original() {
    let place = Workplace::new();
    with_operator(&place, "Log");
    let line =
        ["model.onnx", "--input", "x.npy", "--fails", "first nonfinite", "-o", "small.onnx", "--anonymise", "--json"];
    let ended = reduce(&place, &line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let document = ended.json();
    assert_eq!(document["schema"], "opscope.reduce/1");
    assert_eq!((&document["operators"]["before"], &document["operators"]["after"]), (&41.into(), &1.into()));
    assert_eq!(document["operators"]["types"], serde_json::json!(["Log"]));
    assert_eq!(
        (&document["anonymised"], &document["minimal"], &document["kept"]),
        (&true.into(), &true.into(), &serde_json::json!([]))
    );
    assert_eq!(
        document["failure"]["symptom"],
        serde_json::json!({ "kind": "nonfinite", "op_type": "Log", "nan": true, "from_finite": true })
    );
    let bytes =
        [fs::read(place.path("small.onnx")).unwrap(), fs::read(place.path("small.inputs.npz")).unwrap()].concat();
    let holds = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    for secret in SECRETS {
        assert!(!secret.as_bytes().windows(8).any(holds), "{secret}");
    }
    assert!(!holds(b"a test") && !holds(b"weighted"));
    // The values that the whole model computes before the logarithm.
    for number in [0.75f32 + 0.125, -0.5 - 0.25, -1.5 + 0.375, 0.3125 + 0.0625] {
        let (mut value, mut seen) = (number, vec![number]);
        for at in 0..20 {
            value = if at % 2 == 0 { value.tanh() } else { -value };
            seen.push(value);
        }
        assert!(!seen.iter().any(|value| holds(&value.to_le_bytes())), "{number}");
    }
}

#[test]
fn an_infinity_is_found_whose_inputs_are_all_finite_and_not_one_that_is_handed_on() {
    let place = Workplace::new();
    let nodes = [
        node("mask", "Add", &["x", "masked"], &["a"]),
        node("handed_on", "Neg", &["a"], &["b"]),
        node("square", "Mul", &["x", "large"], &["c"]),
        node("overflow", "Mul", &["c", "large"], &["d"]),
        node("last", "Max", &["b", "d"], &["y"]),
    ];
    let masked = [0.0, f32::NEG_INFINITY, 0.0, 0.0];
    let weights: [(&str, &[f32]); 2] = [("masked", &masked), ("large", &[1e25; 4])];
    place.write("model.onnx", weighted(&[("x", &["4"])], &nodes, &weights, &[("y", &["4"])]));
    input(&place, "x.npy", [1.0, 2.0, 3.0, 4.0]);
    let line = ["model.onnx", "--input", "x.npy", "--fails", "first-nonfinite", "-o", "small.onnx", "--json"];
    let document = reduce(&place, &line).json();
    assert_eq!(document["failure"]["operator"], "overflow");
    assert_eq!(document["failure"]["symptom"]["nan"], false);
    assert_eq!(operators(&place, "small.onnx"), ["Mul"]);
}

#[test]
fn the_first_of_several_failures_is_the_one_that_is_left() {
    let place = Workplace::new();
    let (nan, given) = (fixture("nan.onnx"), fixture("nan.input.x.npy"));
    let line = [nan.as_str(), "--input", &given, "--fails", "first nonfinite", "-o", "small.onnx"];
    assert_eq!(reduce(&place, &line).code, Some(0));
    assert_eq!(operators(&place, "small.onnx"), ["Log"]);
}

#[test]
fn a_plan_that_drops_a_nan_is_one_operator() {
    let place = Workplace::new();
    with_operator(&place, "Sqrt");
    let line = ["model.onnx", "--input", "x.npy", "--fails", "plan differs", "-o", "small.onnx", "--anonymise"];
    let ended = reduce(&place, &line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(operators(&place, "small.onnx"), ["Tanh"], "tract's own kernel drops a NaN");
    let check = ["small.onnx", "--input", "small.inputs.npz", "--fails", "plan differs", "--check"];
    let ended = reduce(&place, &check);
    assert!(
        ended.code == Some(0) && ended.stdout.starts_with("it fails: the optimised plan gives other outputs"),
        "{ended:?}"
    );
    let ended = place.benchmark_well(&["model.onnx", "--input", "x.npy", "--verify", "on"]);
    ended.says(&[
        "note: smallest model: opscope reduce model.onnx --input=x.npy --fails 'plan differs' --output small.onnx",
    ]);
    let ended = place.compare(&["model.onnx", "model.onnx", "--input", "x.npy", "--fidelity", "optimised"]);
    ended.says(&[
        "note: smallest model: opscope reduce model.onnx --input=x.npy --fails 'plan differs' --output small.onnx",
    ]);
}

#[test]
fn engines_that_differ_are_one_operator() {
    if let Err(error) = opscope::engine::Library::find(None) {
        return skipped(error.to_string().lines().next().unwrap_or_default());
    }
    let place = Workplace::new();
    // ONNX leaves open what a number beyond the integers becomes.
    let cast =
        |name, input, output, to| Node { attributes: vec![("to", to)], ..node(name, "Cast", &[input], &[output]) };
    let nodes = [
        node("first", "Tanh", &["x"], &["a"]),
        node("scale", "Mul", &["a", "large"], &["b"]),
        cast("to_integers", "b", "c", 6),
        cast("to_floats", "c", "d", 1),
        node("last", "Neg", &["d"], &["y"]),
    ];
    let weights: [(&str, &[f32]); 1] = [("large", &[1e20; 4])];
    place.write("model.onnx", weighted(&[("x", &["4"])], &nodes, &weights, &[("y", &["4"])]));
    input(&place, "x.npy", [1.0, 2.0, 3.0, 4.0]);
    let ended =
        reduce(&place, &["model.onnx", "--input", "x.npy", "--fails", "engines differ", "-o", "small.onnx", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(operators(&place, "small.onnx"), ["Cast"]);
    let command = ended.json()["command"].as_str().unwrap().to_owned();
    assert!(command.starts_with("opscope compare small.onnx small.onnx --input=small.inputs.npz"), "{command}");
    let ended = end(&mut place.command(&command.split(' ').skip(1).collect::<Vec<_>>()));
    assert_eq!(ended.code, Some(4), "{ended:?}");
    ended.says(&["note: smallest model: opscope reduce small.onnx --input=small.inputs.npz --fails 'engines differ'"]);
}

#[test]
fn an_error_is_that_of_one_operator_even_if_the_file_is_not_valid() {
    let place = Workplace::new();
    with_operator(&place, "Frobnicate");
    let ended =
        reduce(&place, &["model.onnx", "--input", "x.npy", "--fails", "error 'has no operator'", "-o", "small.onnx"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(operators(&place, "small.onnx"), ["Frobnicate"]);
    let cycle = fixture("cycle.onnx");
    let ended = reduce(&place, &[&cycle, "--fails", "error 'in a cycle'", "-o", "cycle.onnx"]);
    assert!(ended.code == Some(0) && ended.stdout.starts_with("4 operators -> 3;"), "{ended:?}");
    assert!(Graph::load(&place.path("cycle.onnx")).unwrap_err().to_string().contains("in a cycle"));
    let dangling = fixture("dangling_input.onnx");
    assert_eq!(reduce(&place, &[&dangling, "--fails", "error 'nobody'", "-o", "dangling.onnx"]).code, Some(0));
}

/// A library that crashes when an operator of a type runs, as a bug of an engine's library would.
const CRASH: &str = r#"
#include "opscope_producer.h"
#include <signal.h>
#include <string.h>
static int state;
static void dispatch_begin(void *consumer, const opscope_producer_dispatch_t *dispatch)
{
    (void)consumer;
    if (strcmp(dispatch->kernel->type, "Softmax") == 0) {
        raise(SIGSEGV);
    }
}
int opscope_attach_producer(opscope_producer_t *table)
{
    table->consumer = &state;
    table->dispatch_begin = dispatch_begin;
    return OPSCOPE_ATTACHED;
}
"#;

#[test]
fn a_crash_ends_other_processes_and_not_the_search() {
    let place = Workplace::new();
    with_operator(&place, "Softmax");
    library(&place.path("lib").join(V2), CRASH, &[]);
    let run = |arguments: &[&str]| end(place.command(arguments).env("OPSCOPE_LIB_DIR", place.path("lib")));
    let line = ["reduce", "model.onnx", "--input", "x.npy", "--fails", "crash", "-o", "small.onnx", "--json"];
    let ended = run(&line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(operators(&place, "small.onnx"), ["Softmax"]);
    assert_eq!(ended.json()["failure"]["symptom"], serde_json::json!({ "kind": "crash", "signal": 11 }));
    let check = ["reduce", "small.onnx", "--input", "small.inputs.npz", "--fails", "crash", "--check"];
    assert_eq!(run(&check).code, Some(0));
    let ended = end(&mut place.command(&check));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(4), "it does not fail ('crash'): it runs to its end\n"));
}

#[test]
fn a_command_decides_with_the_files_in_its_place() {
    let place = Workplace::new();
    with_operator(&place, "Softsign");
    let fails = "command 'grep -q Softsign {model} && test -s {inputs}'";
    let ended = reduce(&place, &["model.onnx", "--input", "x.npy", "--fails", fails, "-o", "small one.onnx"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(operators(&place, "small one.onnx"), ["Softsign"]);
    let command = ended.stdout.lines().last().unwrap().strip_prefix("see it fail: ").unwrap().to_owned();
    assert_eq!(command, "grep -q Softsign 'small one.onnx' && test -s 'small one.inputs.npz'");
    assert_eq!(in_shell(&place, &command).code, Some(0));
}

#[test]
fn what_does_not_fail_or_is_wrong_is_refused_and_nothing_is_written() {
    let place = Workplace::new();
    with_operator(&place, "Abs");
    let to = ["--output", "small.onnx"];
    let refused = |arguments: &[&str], says: &[&str]| reduce(&place, &[arguments, &to].concat()).refused(2, says);
    let given = ["model.onnx", "--input", "x.npy", "--fails"];
    let with = |fails: &'static str| [&given[..], &[fails]].concat();
    refused(
        &with("first nonfinite"),
        &["model.onnx does not fail in this way ('first nonfinite'): no operator makes a NaN"],
    );
    refused(&with("plan differs"), &["the optimised plan has the outputs of the exact plan"]);
    refused(&with("error 'x'"), &["it loads and runs without an error"]);
    refused(&with("crash"), &["it runs to its end"]);
    refused(&with("command 'false {model}'"), &["the command ends with exit status: 1, and not with code 0"]);
    refused(&with("nan"), &["--fails: there is no failure 'nan'; write 'first nonfinite'"]);
    refused(&with("command 'true'"), &["does not name the model; write {model}"]);
    refused(&["nowhere.onnx", "--fails", "crash"], &["nowhere.onnx"]);
    refused(&["model.onnx", "--input", "nowhere.npy", "--fails", "crash"], &["nowhere.npy"]);
    refused(&["model.onnx", "--fails", "crash", "--dym-shape-range", "secret_graph_input:1~2"], &["write --dym-shape"]);
    refused(&["model.onnx", "--fails", "crash", "--budget", "10"], &["'10' is not a time; write 90s, 10m or 1h"]);
    place.write("small.inputs.npz", "mine");
    refused(&with("first nonfinite"), &["small.inputs.npz", "exists; give another --output, or --overwrite"]);
    let over_itself = ["model.onnx", "--fails", "crash", "--output", "./model.onnx", "--overwrite"];
    reduce(&place, &over_itself).refused(2, &["is the model itself; give another --output"]);
    assert_eq!(place.tree(""), ["model.onnx", "small.inputs.npz", "x.npy"]);
    assert_eq!(place.text("small.inputs.npz"), "mine");
}

#[test]
fn files_that_exist_are_replaced_on_request_alone() {
    let place = Workplace::new();
    with_operator(&place, "Sqrt");
    place.write("small.onnx", "mine");
    let line = ["model.onnx", "--input", "x.npy", "--fails", "first nonfinite", "--output", "small.onnx"];
    reduce(&place, &line).refused(2, &["small.onnx", "exists"]);
    assert_eq!(reduce(&place, &[&line[..], &["--overwrite"]].concat()).code, Some(0));
    assert_eq!(operators(&place, "small.onnx"), ["Sqrt"]);
    assert_eq!(place.tree(""), ["model.onnx", "small.inputs.npz", "small.onnx", "x.npy"]);
}

/// A command that takes a while, notes each call in a file, and holds for every model with this operator.
const SLOW: &str = "command 'echo x >> calls; sleep 0.2; grep -q Sqrt {model}'";

fn slow(place: &Workplace, arguments: &[&str]) -> Child {
    let fixed = ["reduce", "model.onnx", "--input", "x.npy", "--fails", SLOW, "--output", "small.onnx"];
    let mut command = place.command(&[&fixed[..], arguments].concat());
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait(mut child: Child) -> Ended {
    let (mut stdout, mut stderr) = (String::new(), String::new());
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    Ended { code: child.wait().unwrap().code(), stdout, stderr }
}

fn wait_for_calls(place: &Workplace, child: &mut Child, calls: u64) {
    while place.path("calls").metadata().map_or(0, |file| file.len()) < 2 * calls {
        assert!(child.try_wait().unwrap().is_none(), "it ended before");
        std::thread::yield_now();
    }
}

#[test]
fn ctrl_c_and_the_end_of_the_time_leave_the_smallest_model_so_far() {
    for (arguments, is_interrupted) in [(&[][..], true), (&["--budget", "2.5s"], false)] {
        let place = Workplace::new();
        with_operator(&place, "Sqrt");
        let mut child = slow(&place, arguments);
        if is_interrupted {
            wait_for_calls(&place, &mut child, 6);
            kill_process(Pid::from_child(&child), Signal::INT).unwrap();
        }
        let ended = wait(child);
        assert_eq!(ended.code, Some(3), "{ended:?}");
        ended.says(if is_interrupted {
            &["warning: interrupted: this is the smallest"]
        } else {
            &["the time was over"]
        });
        assert!(ended.stdout.contains("fails in the same way in a new process"), "{ended:?}");
        let left = operators(&place, "small.onnx");
        assert!(left.len() < 41 && left.contains(&"Sqrt".to_owned()), "{left:?}");
        assert!(!place.tree("").iter().any(|path| path.contains("opscope-reduce")), "{:?}", place.tree(""));
    }
}

#[test]
fn a_killed_search_leaves_no_model() {
    let place = Workplace::new();
    with_operator(&place, "Sqrt");
    let mut child = slow(&place, &[]);
    wait_for_calls(&place, &mut child, 2);
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(!place.path("small.onnx").exists() && !place.path("small.inputs.npz").exists());
}

#[test]
fn a_full_disk_is_an_error_and_leaves_nothing() {
    with_disks("a_full_disk_is_an_error_and_leaves_nothing", || {
        let place = Workplace::new();
        with_operator(&place, "Sqrt");
        let at = place.path("disk");
        let _disk = SmallDisk::mount(&at, 4);
        let line = ["model.onnx", "--input", "x.npy", "--fails", "first nonfinite", "--output", "disk/small.onnx"];
        reduce(&place, &line).refused(1, &["cannot be written: No space left on device"]);
        assert!(place.tree("disk").is_empty());
    });
}

#[test]
fn data_beside_the_model_is_taken_into_the_smaller_one() {
    let place = Workplace::new();
    let external = fixture("external.onnx");
    let given = fixture("external.input.x.npy");
    let line = [external.as_str(), "--input", &given, "--fails", "command 'test -s {model}'", "-o", "small.onnx"];
    let ended = reduce(&place, &line);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    place.benchmark_well(&["small.onnx"]);
    let digits = model("digits_cnn.onnx");
    let ended = reduce(&place, &[&digits, "--fails", "command 'grep -q Softmax {model}'", "-o", "digits.onnx"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(operators(&place, "digits.onnx"), ["Softmax"]);
}
