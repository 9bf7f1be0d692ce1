//! `opscope debug`: breakpoints, steps, looking and changing, by scripts in batch mode.

mod process;

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

use opscope::onnx::{Graph, OnnxError};
use opscope::tensor::{Tensor, npy};
use process::onnx::{self, node};
use process::tensors::{close, near, numbers, read};
use process::{Ended, Workplace, end, fixture, model};
use serde_json::Value;

/// Runs commands in batch on a model.
fn batch(place: &Workplace, arguments: &[&str], commands: &[&str]) -> Ended {
    let commands: Vec<&str> = commands.iter().flat_map(|command| ["-ex", *command]).collect();
    end(&mut place.command(&[&["debug"], arguments, &["--batch"], &commands].concat()))
}

/// Runs commands on the digits, whose script must end well.
fn digits(place: &Workplace, commands: &[&str]) -> String {
    let (digits, image) = (model("digits_cnn.onnx"), model("digits_cnn.input.image.npy"));
    let ended = batch(place, &[&digits, "--input", &image], commands);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    ended.stdout
}

/// Runs commands on the digits, whose script must end well, and gives the lines of the JSON.
fn in_json(place: &Workplace, commands: &[&str]) -> Vec<Value> {
    let ended = batch(place, &[&model("digits_cnn.onnx"), "--json"], commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The texts stand in this order.
fn in_order(text: &str, parts: &[&str]) {
    let mut rest = text;
    for part in parts {
        let at = rest.find(part).unwrap_or_else(|| panic!("{part:?} is not, or not here, in:\n{text}"));
        rest = &rest[at + part.len()..];
    }
}

#[test]
fn a_run_stops_at_a_breakpoint_shows_a_tensor_and_goes_on() {
    let place = Workplace::new();
    let text = digits(&place, &["break /conv2/Conv", "run", "print input[0][0, 0, :2, :3]", "continue"]);
    in_order(
        &text,
        &[
            "Breakpoint 1 before /conv2/Conv: #3 /conv2/Conv, step",
            "Breakpoint 1, before #3 /conv2/Conv (Conv), run 0",
            "input[0]   /relu1/Relu_output_0",
            "float32 [8, 8, 8, 8]",
            "input[0][0, 0, :2, :3]  float32 [2, 3]\n[[",
            "Run 0 ended: probabilities float32 [8, 10]",
        ],
    );
}

#[test]
fn what_is_saved_at_a_stop_is_what_the_model_is_known_to_compute() {
    let place = Workplace::new();
    let commands =
        ["break /conv2/Conv after", "run", "save output[0] conv2.npy", "save input[0][3, :, ::2, -1] part.npy"];
    digits(&place, &commands);
    let expected = |value: &str| {
        let index = process::model("expected/digits_cnn/index.json");
        let index: serde_json::Value = serde_json::from_str(&fs::read_to_string(index).unwrap()).unwrap();
        let file =
            index["values"][value]["file"].as_str().unwrap_or_else(|| panic!("{value} is not in {index}")).to_owned();
        read(model(&format!("expected/digits_cnn/{file}")))
    };
    let found = read(place.path("conv2.npy"));
    assert!(close(&found, &expected("/conv2/Conv_output_0")));
    let whole = expected("/relu1/Relu_output_0");
    let (part, all) = (read(place.path("part.npy")), numbers(&whole));
    assert_eq!(part.shape(), [8, 4]);
    let chosen = (0..8).flat_map(|channel| (0..4).map(move |row| ((3 * 8 + channel) * 8 + 2 * row) * 8 + 7));
    assert!(near(&numbers(&part), &chosen.map(|index| all[index]).collect::<Vec<_>>()));
}

#[test]
fn steps_finish_and_until_go_exactly_so_far() {
    let place = Workplace::new();
    let text =
        digits(&place, &["tbreak #0", "run", "step", "step 2", "finish", "next", "until Softmax", "finish", "c"]);
    in_order(
        &text,
        &[
            "Breakpoint 1, before #0 /conv1/Conv (Conv), run 0",
            "before #1 /bn1/BatchNormalization (BatchNormalization), run 0",
            "before #2 /relu1/Relu (Relu), run 0",
            "before #3 /conv2/Conv (Conv), run 0",
            "after #3 /conv2/Conv (Conv), run 0",
            "before #4 /bn2/BatchNormalization (BatchNormalization), run 0",
            "before #15",
            "after #15",
            "Run 0 ended",
        ],
    );
}

#[test]
fn an_operator_that_the_engine_splits_is_shown_as_the_file_has_it() {
    let place = Workplace::new();
    let text = digits(
        &place,
        &[
            "break /bn1/BatchNormalization",
            "run",
            "print shape(input[1])",
            "save input[1] scale.npy",
            "save input[0] x.npy",
            "info weights",
            "set input[0] = 0",
            "finish",
            "save output[0] y.npy",
        ],
    );
    in_order(
        &text,
        &[
            "input[0]   /conv1/Conv_output_0              float32 [8, 8, 8, 8]\n",
            "input[1]   bn1.weight                        float32 [8]           weight\n",
            "input[4]   bn1.running_var",
            "output[0]  /bn1/BatchNormalization_output_0  float32 [8, 8, 8, 8]  not computed yet\n",
            "(the engine's step here is 'Mul', the first of 2 for this operator)",
            "shape(input[1]) = [8]",
            "weight[0]  bn1.weight",
            "input[0] is replaced",
            "after #1 /bn1/BatchNormalization",
            "output[0]  /bn1/BatchNormalization_output_0  float32 [8, 8, 8, 8]\n",
            "the last of 2 for this operator)",
        ],
    );
    let ended = batch(&place, &[&model("digits_cnn.onnx")], &["b /bn1/BatchNormalization", "run", "set input[1] = 0"]);
    ended.says(&["input[1] cannot be replaced: the engine executes the operator in several steps", "'Mul'"]);
    // What it gives of zeros is the same everywhere in a channel, and what it takes is what the file has.
    let shifted = numbers(&read(place.path("y.npy")));
    assert!(shifted.chunks(64).all(|channel| near(channel, &[channel[0]; 64])), "{shifted:?}");
    let graph = Graph::load(model("digits_cnn.onnx").as_ref()).unwrap();
    let weight = graph.value_named("bn1.weight").unwrap().id;
    let mut scale = None;
    let read_all = graph.initializers(
        |value| value == weight,
        |_, tensor| {
            scale = Some(tensor.clone());
            Ok::<(), OnnxError>(())
        },
    );
    read_all.unwrap();
    assert_eq!(read(place.path("scale.npy")).bytes(), scale.unwrap().bytes());
}

#[test]
fn an_operator_of_several_outputs_is_shown_and_skipped_as_a_whole() {
    let place = Workplace::new();
    let nodes = [node("cut", "Split", &["x"], &["a", "b"]), node("sum", "Add", &["a", "b"], &["y"])];
    place.write("split.onnx", onnx::file("split", "a test", &[("x", &["4"])], &nodes, &[("y", &["2"])]));
    let x = Tensor::from_f32(vec![4], &[1.0, 2.0, 3.0, 4.0]).unwrap();
    let mut bytes = Vec::new();
    npy::write(&x.view(), &mut bytes).unwrap();
    place.write("x.npy", bytes);
    let commands = ["break cut after", "run", "print output[0]", "print output[1]", "continue"];
    let ended = batch(&place, &["split.onnx", "--input", "x.npy"], &commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let seen = [
        "input[0]   x  float32 [4]",
        "output[0]  a  float32 [2]\n",
        "output[1]  b  float32 [2]\n",
        "[1. 2.]",
        "[3. 4.]",
    ];
    in_order(&ended.stdout, &seen);
    for (with, sum) in [("zeros", "[0. 0.]"), ("a.npy b.npy", "[11. 22.]")] {
        for (name, numbers) in [("a.npy", [1.0, 2.0]), ("b.npy", [10.0, 20.0])] {
            let mut bytes = Vec::new();
            npy::write(&Tensor::from_f32(vec![2], &numbers).unwrap().view(), &mut bytes).unwrap();
            place.write(name, bytes);
        }
        let skip = format!("skip {with}");
        let commands = ["break cut", "break sum after", "run", &skip, "print output[0]", "-skip zeros", "continue"];
        let ended = batch(&place, &["split.onnx", "--input", "x.npy"], &commands);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        in_order(&ended.stdout, &["before #0 cut", "after #1 sum", sum, "Run 0 ended"]);
    }
    let ended = batch(&place, &["split.onnx"], &["break cut", "run", "skip a.npy"]);
    ended.says(&["the operator has 2 outputs, and 1 tensors were given"]);
}

#[test]
fn stepping_over_the_last_operator_ends_with_the_run() {
    let place = Workplace::new();
    let text = digits(&place, &["break Softmax", "run", "step 5"]);
    assert!(text.trim_end().ends_with("Run 0 ended: probabilities float32 [8, 10]"), "{text}");
}

#[test]
fn conditions_ignore_counts_and_switches_decide_what_stops() {
    let place = Workplace::new();
    let text = digits(
        &place,
        &[
            "break Conv if shape == [8, 32, 4, 4]",
            "break Relu after if min >= 0 and zeros > 0",
            "ignore 2 1",
            "disable 1",
            "run",
            "info breakpoints",
            "condition 2",
            "enable 1",
            "delete 2",
            "continue",
            "continue",
        ],
    );
    in_order(
        &text,
        &[
            "Breakpoint 1 after Conv if shape == [8, 32, 4, 4]: 3 operators",
            "Breakpoint 1 (off)",
            "Breakpoint 2, after #5 /relu2/Relu (Relu), run 0",
            "2 hits",
            "Breakpoint 2 is gone",
            "Breakpoint 1, after #7 /conv3/Conv (Conv), run 0",
            "Run 0 ended",
        ],
    );
}

#[test]
fn a_condition_that_cannot_be_evaluated_is_told_once() {
    let place = Workplace::new();
    let commands = ["break Conv if absmax(input[99]) > 1", "run 2", "run"];
    let text = digits(&place, &commands);
    let note = "note: breakpoint 1 cannot be evaluated: there is no input[99] here";
    assert_eq!(text.matches(note).count(), 1, "{text}");
    in_order(&text, &["Run 1 ended", note, "Run 2 ended"]);
    let lines = in_json(&place, &commands);
    let troubles: Vec<_> = lines.iter().filter(|line| line["type"] == "trouble").collect();
    assert_eq!(troubles.len(), 1, "{lines:?}");
    assert_eq!(troubles[0]["breakpoint"], 1);
    assert!(troubles[0]["reason"].as_str().unwrap().contains("input[99]"), "{lines:?}");
}

#[test]
fn continue_with_a_number_lets_hits_pass() {
    let place = Workplace::new();
    let text = digits(&place, &["break Relu", "run", "continue 2", "continue"]);
    in_order(&text, &["before #2 /relu1/Relu", "before #9 /relu3/Relu", "before #13 /relu4/Relu"]);
    assert!(!text.contains("#5 /relu2/Relu"), "{text}");
}

#[test]
fn a_tensor_that_is_set_changes_what_the_model_computes() {
    let place = Workplace::new();
    let text = digits(
        &place,
        &[
            "break Softmax",
            "run",
            "set input[0] = 0",
            "info inputs",
            "finish",
            "save output[0] even.npy",
            "set output[0][0, 3] = 0.5",
            "print output[0][0, 3]",
            "continue",
        ],
    );
    in_order(&text, &["input[0] is replaced", "replaced", "output[0] is replaced", "\n0.5\n", "Run 0 ended"]);
    // Softmax of zeros.
    assert!(near(&numbers(&read(place.path("even.npy"))), &[0.1; 80]));
}

#[test]
fn a_tensor_from_a_file_takes_the_place_of_another() {
    let place = Workplace::new();
    let logits = Tensor::from_f32(vec![8, 10], &[0.0f32; 80].map(|_| 3.0)).unwrap();
    let mut bytes = Vec::new();
    npy::write(&logits.view(), &mut bytes).unwrap();
    place.write("logits of mine.npy", bytes);
    let commands = ["b Softmax", "r", "set input[0] = \"logits of mine.npy\"", "finish", "save output[0] even.npy"];
    digits(&place, &commands);
    assert!(near(&numbers(&read(place.path("even.npy"))), &[0.1; 80]));
}

#[test]
fn a_skipped_operator_is_not_executed_and_its_outputs_are_the_given_ones() {
    let place = Workplace::new();
    let output = read(model("digits_cnn.output.probabilities.npy"));
    let mut bytes = Vec::new();
    npy::write(&output.view(), &mut bytes).unwrap();
    place.write("given.npy", bytes);
    let commands = ["b Relu", "b Softmax after", "r", "delete 1", "skip zeros", "topk output[0] 1"];
    let text = digits(&place, &commands);
    in_order(&text, &["before #2 /relu1/Relu", "after #15", "  0."]);
    let commands = ["b Softmax", "r", "skip given.npy"];
    assert!(digits(&place, &commands).contains("Run 0 ended"));
    let refused = ["b Softmax", "r", "skip zeros given.npy"];
    let ended = batch(&place, &[&model("digits_cnn.onnx")], &refused);
    assert_eq!(ended.code, Some(1), "{ended:?}");
}

#[test]
fn nan_and_infinity_are_caught_where_they_begin() {
    let place = Workplace::new();
    let (nan, x) = (fixture("nan.onnx"), fixture("nan.input.x.npy"));
    let ended =
        batch(&place, &[&nan, "--input", &x], &["catch nonfinite", "run", "print output[0]", "where", "c", "c"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    in_order(
        &ended.stdout,
        &[
            "after #1 log (Log), run 0: output[0] b has 1 NaN and 1 infinite",
            "output[0]  float32 [3]\n[      nan      -inf 0.6931472]",
            "after #3 inverse (Div), run 0: output[0] z has 1 infinite",
            "Run 0 ended",
        ],
    );
    let ended = batch(&place, &[&nan, "--input", &x], &["catch nan", "run", "c"]);
    assert!(!ended.stdout.contains("inverse"), "{ended:?}");
}

/// Writes a model in which the first element of an initializer is NaN.
fn spoiled(place: &Workplace, file: &str, initializer: &str) -> String {
    let mut bytes = fs::read(model(file)).unwrap();
    let graph = Graph::load(model(file).as_ref()).unwrap();
    let wanted = graph.value_named(initializer).unwrap().id;
    let read = graph.initializers(
        |value| value == wanted,
        |_, tensor| {
            let at = bytes.windows(tensor.bytes().len()).position(|part| part == tensor.bytes()).unwrap();
            bytes[at..at + 4].copy_from_slice(&f32::NAN.to_le_bytes());
            Ok::<(), OnnxError>(())
        },
    );
    read.unwrap();
    place.write("spoiled.onnx", bytes).to_str().unwrap().to_owned()
}

#[test]
fn nan_that_comes_from_outside_is_caught_where_the_run_meets_it_with_the_name_of_what_has_it() {
    let place = Workplace::new();
    let stop = |arguments: &[&str], what: &str, says: &str| {
        let ended = batch(&place, arguments, &[&format!("catch {what}"), "run", "-continue", "-continue"]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        in_order(&ended.stdout, &["Breakpoint 1, after", says, "Run 0 ended"]);
        assert_eq!(ended.stdout.matches(says).count(), 1, "it is told once: {ended:?}");
    };
    let both = ["exact", "optimised"];

    let x = Tensor::from_f32(vec![3], &[1.0, f32::NAN, f32::INFINITY]).unwrap();
    let mut bytes = Vec::new();
    npy::write(&x.view(), &mut bytes).unwrap();
    place.write("x.npy", bytes);
    let nan = fixture("nan.onnx");
    for (fidelity, what) in [(both[0], "nan"), (both[1], "nan"), (both[0], "inf"), (both[1], "nonfinite")] {
        let says = "#1 log (Log), run 0: the model's input x has 1 NaN and 1 infinite";
        stop(&[&nan, "--input", "x.npy", "--fidelity", fidelity], what, says);
    }

    // A weight; one of an operator that the engine folds into another's; one of an operator that is not executed at all.
    for (file, initializer, operator) in [
        ("digits_cnn.onnx", "conv2.weight", "/conv2/Conv"),
        ("digits_cnn.onnx", "bn2.weight", "/bn2/BatchNormalization"),
        ("tiny_transformer.onnx", "embeddings.position_embeddings.weight", "/embeddings/Add"),
    ] {
        let spoiled = spoiled(&place, file, initializer);
        for fidelity in both {
            let says = format!("run 0: the initializer {initializer} has 1 NaN");
            stop(&[&spoiled, "--fidelity", fidelity], "nonfinite", &says);
        }
        let ended = batch(&place, &[&spoiled], &["catch nan", "run"]);
        assert!(ended.stdout.contains(&format!(" {operator} (")), "{ended:?}");
    }
    // A constant that is computed of finite weights when the model is loaded.
    let nodes = [node("fold", "Log", &["w"], &["l"]), node("sum", "Add", &["x", "l"], &["y"])];
    let folded = onnx::weighted(&[("x", &["2"])], &nodes, &[("w", &[1.0, -1.0])], &[("y", &["2"])]);
    let folded = place.write("folded.onnx", folded).to_str().unwrap().to_owned();
    for fidelity in both {
        stop(&[&folded, "--fidelity", fidelity], "nan", "#1 sum (Add), run 0: a constant");
    }
    // What the model gives and no operator of the run takes: computed of finite weights, computed of NaN, and the file's own.
    let nodes = [node("fold", "Log", &["w"], &["l"]), node("turn", "Neg", &["x"], &["y"])];
    let given = onnx::weighted(&[("x", &["2"])], &nodes, &[("w", &[1.0, -1.0])], &[("l", &["2"]), ("y", &["2"])]);
    let computed = place.write("computed.onnx", given).to_str().unwrap().to_owned();
    let given = onnx::weighted(&[("x", &["2"])], &nodes, &[("w", &[f32::NAN, 1.0])], &[("l", &["2"]), ("y", &["2"])]);
    let spoiled = place.write("given.onnx", given).to_str().unwrap().to_owned();
    for fidelity in both {
        stop(&[&computed, "--fidelity", fidelity], "nan", "#1 turn (Neg), run 0: a constant l has 1 NaN");
        stop(&[&spoiled, "--fidelity", fidelity], "nan", "#1 turn (Neg), run 0: the initializer w has 1 NaN");
    }
    // What a script looks for.
    let ended = batch(&place, &[&nan, "--input", "x.npy", "--json"], &["catch nonfinite", "run"]);
    let stops: Vec<Value> = ended.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let exception = &stops.iter().find(|line| line["type"] == "stopped").unwrap()["event"]["exception"];
    let input = serde_json::json!([{ "origin": "input", "value": "x", "nan": 1, "infinite": 1 }]);
    assert_eq!(exception["inputs"], input, "{exception}");
}

#[test]
fn an_aborted_run_ends_without_outputs_and_is_no_failure() {
    let place = Workplace::new();
    let text = digits(&place, &["b /conv2/Conv", "run 2", "abort no more of this", "c"]);
    in_order(
        &text,
        &[
            "run 0",
            "`run` has 1 more run to start; `abort --all` ends them, too.",
            "Run 0 was ended",
            "Breakpoint 1, before #3 /conv2/Conv (Conv), run 1",
            "Run 1 ended: prob",
        ],
    );
}

#[test]
fn of_parallel_runs_one_can_be_looked_at_while_others_wait_or_go_on() {
    let place = Workplace::new();
    let commands = [
        "break /conv2/Conv run 1",
        "run --parallel 3",
        "info runs",
        "print input[0][0, 0, 0]",
        "continue --all",
        "run 2",
    ];
    let text = digits(&place, &commands);
    in_order(&text, &["Breakpoint 1, before #3 /conv2/Conv (Conv), run 1", "* ", "run 1", "input[0][0, 0, 0]"]);
    for run in 0..5 {
        assert!(text.contains(&format!("Run {run} ended")), "{run}: {text}");
    }
}

#[test]
fn a_run_that_was_let_go_with_all_is_not_told_as_stopped_and_its_end_is_waited_for() {
    let place = Workplace::new();
    let ends = |lines: &[Value]| lines.iter().filter(|line| line["type"] == "run_ended").count();
    // A thread that was at its breakpoint when that was deleted stops all the same.
    let all_and_wait = ["-continue --all", "-wait"].repeat(12);
    let commands = ["break Softmax", "run 2 --parallel 8", "-continue --all", "delete"];
    let lines = in_json(&place, &[&commands[..], &all_and_wait[..], &["info runs"]].concat());
    assert_eq!(ends(&lines), 16, "{lines:?}");
    for stop in lines.iter().filter(|line| line["type"] == "stopped") {
        assert!(stop["location"].is_object(), "{stop}");
    }
    let runs = lines.iter().find(|line| line["type"] == "runs").unwrap();
    assert_eq!(runs["runs"].as_array().unwrap().len(), 0, "{runs}");
}

#[test]
fn each_stopped_run_can_be_chosen() {
    let place = Workplace::new();
    let choose = |run: &str| [format!("thread {run}"), "where".into(), "info runs".into()];
    let begin = ["break Softmax", "run --parallel 2", "wait"].map(str::to_owned);
    let end = ["continue", "thread", "continue", "info runs"].map(str::to_owned);
    let commands: Vec<String> = [&begin[..], &choose("0"), &choose("1"), &end].concat();
    let lines = in_json(&place, &commands.iter().map(String::as_str).collect::<Vec<_>>());
    let of = |kind: &str| lines.iter().filter(|line| line["type"] == kind).collect::<Vec<_>>();
    let (chosen, wheres, listed) = (of("thread"), of("location"), of("runs"));
    for run in [0, 1] {
        assert_eq!(chosen[run]["event"]["place"]["run"], run, "{chosen:?}");
        assert_eq!(wheres[run]["location"]["place"]["run"], run, "commands mean the run that was chosen: {wheres:?}");
        assert_eq!(listed[run]["runs"].as_array().unwrap().len(), 2, "{listed:?}");
        assert_eq!(listed[run]["current"], chosen[run]["event"]["sequence"], "{listed:?}");
    }
    let ended: Vec<_> = of("run_ended").iter().map(|end| end["run"].clone()).collect();
    assert_eq!(ended, [1, 0], "the chosen one goes on, and then the one that is left");
    assert_eq!(chosen[2]["event"]["place"]["run"], 0);
    assert_eq!(listed[2]["runs"].as_array().unwrap().len(), 0, "{listed:?}");
}

#[test]
fn runs_without_end_are_ended_by_abort_all_and_others_can_be_started_after_them() {
    let place = Workplace::new();
    let commands = ["break Softmax", "run 1000000 --parallel 2", "abort --all", "info runs", "delete", "run"];
    let text = digits(&place, &commands);
    in_order(&text, &["Breakpoint 1, before #15", "was ended", "No run is going on.", "is gone", " ended: "]);
}

#[test]
fn of_a_run_that_was_ended_nothing_says_that_it_can_be_gone_back_to() {
    let place = Workplace::new();
    let text = digits(&place, &["break Softmax", "run 2", "abort", "continue"]);
    in_order(&text, &["Run 0 was ended", "Breakpoint 1, before #15 /Softmax (Softmax), run 1", "Run 1 ended"]);
    assert!(!text.contains("goes back"), "{text}");
}

#[test]
fn a_pause_where_all_is_stopped_says_so() {
    let place = Workplace::new();
    let ended = batch(&place, &[&model("digits_cnn.onnx")], &["-pause", "break Softmax", "run", "-pause", "continue"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    in_order(&ended.stderr, &["no run is going on; `run` starts one", "what runs is stopped already; `continue` lets"]);
}

#[test]
fn a_backtrace_that_is_cut_says_how_many_there_are() {
    let place = Workplace::new();
    let text = digits(&place, &["break /conv2/Conv", "run", "bt 2", "echo all", "backtrace 4"]);
    in_order(
        &text,
        &["#2  /relu1/Relu", "\n... and 2 earlier ones; `backtrace 4` shows all\n", "all\n", "#0  /conv1/Conv"],
    );
    assert_eq!(text.matches("... and").count(), 1, "{text}");
}

#[test]
fn functions_of_a_tensor_are_printed_as_conditions_have_them() {
    let place = Workplace::new();
    let x = fixture("nan.input.x.npy");
    let commands = [
        "print max(one)",
        "break #1 after",
        "run",
        "print nan(output[0])",
        "p inf(b)",
        "p absmax(input[0][:2])",
        "p shape(output)",
        "p rank(output)",
        "p dtype(output)",
        "p min(output[0][:2])",
        "-p max(nothing)",
    ];
    let ended = batch(&place, &[&fixture("nan.onnx"), "--input", &x], &commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    in_order(
        &ended.stdout,
        &[
            "max(value(\"one\")) = 1\n",
            "nan(output[0]) = 1\n",
            "inf(value(\"b\")) = 1\n",
            "absmax(input[0][:2]) = 1\n",
            "shape(output[0]) = [3]\n",
            "rank(output[0]) = 1\n",
            "dtype(output[0]) = float32\n",
            "min(output[0][:2]) = none: there is no finite element\n",
        ],
    );
    ended.says(&["no value of this name"]);
}

#[test]
fn a_batch_without_commands_runs_the_lines_of_stdin_up_to_the_first_that_fails() {
    let place = Workplace::new();
    place.write("lines", "# stops\nbreak Softmax\n\n-nonsense\nrun\nprint nothing\necho not reached\n");
    let mut command = place.command(&["debug", &model("digits_cnn.onnx"), "--batch"]);
    let ended = end(command.stdin(fs::File::open(place.path("lines")).unwrap()));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    in_order(&ended.stdout, &["Breakpoint 1 before Softmax", "Breakpoint 1, before #15"]);
    in_order(&ended.stderr, &["error: stdin:4: 'nonsense' is no command", "error: stdin:6: "]);
    assert!(!ended.stdout.contains("not reached"), "{ended:?}");
}

#[test]
fn what_is_there_can_be_asked_for() {
    let place = Workplace::new();
    let text = digits(
        &place,
        &[
            "info model",
            "info operators type:Conv",
            "info operator /conv1/Conv",
            "print conv1.bias[:2]",
            "break /conv2/Conv",
            "run",
            "where",
            "bt",
            "list",
            "info weights",
            "info attributes",
            "info outputs",
            "info events",
            "info status",
            "topk input[0] 2",
            "histogram weight[0]",
        ],
    );
    in_order(
        &text,
        &[
            "Model 1: digits_cnn",
            "input   image float32 [batch, 1, 8, 8]",
            "#7  Conv  /conv3/Conv",
            "kernel_shape = [3, 3]",
            "value(\"conv1.bias\")[:2]  float32 [2]",
            "Breakpoint 1, before #3",
            "before #3 /conv2/Conv (Conv), run 0, thread ",
            "#2  /relu1/Relu (Relu)",
            "made /relu1/Relu_output_0",
            "=> #3    /conv2/Conv: /conv2/Conv_output_0 = Conv(",
            "float32 [16, 8, 3, 3]",
            "pads",
            "output[0]  /conv2/Conv_output_0  float32 [8, 16, 8, 8]",
            "raised",
            "1 model, 1 run, 1 thread stopped",
        ],
    );
}

#[test]
fn an_optimised_model_says_what_became_of_its_operators() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let commands =
        ["info operators BatchNormalization", "break type:BatchNormalization", "info breakpoints", "run", "where"];
    let ended = batch(&place, &[&digits, "--fidelity", "optimised"], &commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let fused = "#1 /bn1/BatchNormalization, fused into /conv1/Conv (step ";
    in_order(
        &ended.stdout,
        &[
            "BatchNormalization  /bn1/BatchNormalization  fused into /conv1/Conv (step ",
            "Breakpoint 1 before type:BatchNormalization: 3 operators, 3 fused into others",
            fused,
            fused,
            "Breakpoint 1, before #0 /conv1/Conv (Conv), run 0",
            "      holds /bn1/BatchNormalization_output_0 in another form\n",
            "also stands for /bn1/BatchNormalization",
            "before #0 /conv1/Conv (Conv), run 0, thread",
        ],
    );
    let commands = ["break /encoder/layer.0/attention/self/MatMul after", "run"];
    let ended = batch(&place, &[&model("tiny_transformer.onnx"), "--fidelity", "optimised"], &commands);
    let fused = ended.stdout.split("also stands for").nth(1).unwrap_or_else(|| panic!("{ended:?}"));
    assert!(fused.matches(',').count() > 3, "{ended:?}");
    for line in fused.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_breakpoint_where_nothing_is_executed_says_so_and_nobody_waits_for_it() {
    let place = Workplace::new();
    let commands = ["break type:Gather", "tbreak MatMul", "run", "-until type:Gather", "where", "continue"];
    let ended = batch(&place, &[&model("tiny_transformer.onnx")], &commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    in_order(
        &ended.stdout,
        &[
            "Breakpoint 1 before type:Gather: 17 operators, 17 not executed: it stops nowhere",
            "#4 /embeddings/position_embeddings/Gather, nothing is executed for it",
            "and 9 more",
            "Breakpoint 2, before #20",
            "encoder.layer.0.attention.self.query.weight",
            "before #20",
            "Run 0 ended",
        ],
    );
    ended.says(&["error: nothing is executed for 'type:Gather'"]);
}

#[test]
fn a_wrong_command_ends_a_batch_with_its_error_and_what_would_be_right() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    for (command, says) in [
        ("brek Conv", "did you mean 'break'?"),
        ("break /conv2/Cnov", "there is '/conv2/Conv'"),
        ("break Conv if nna", "nan"),
        ("print output[0]", "no run is stopped"),
        ("continue", "no run is stopped"),
        ("thread 5", "run 5 is not stopped"),
        ("delete 7", "there is no breakpoint 7"),
        ("source nowhere", "nowhere cannot be read: No such file"),
        ("wait", "no run is going on"),
        ("info nothing", "the topics are attributes, breakpoints"),
        ("break #16", "the model has #0 to #15"),
        ("break Conv if absmax >", "column 9: the text ends"),
        ("info operators Cnov", "did you mean 'Conv'?"),
        ("p", "a tensor: input[0]"),
    ] {
        let ended = batch(&place, &[&digits], &[command, "echo not reached"]);
        assert_eq!(ended.code, Some(1), "{command}: {ended:?}");
        assert_eq!(ended.stderr.lines().count(), 1, "{command}: {ended:?}");
        assert!(ended.stderr.starts_with("error: "), "{ended:?}");
        ended.says(&[says]);
        assert!(!ended.stdout.contains("not reached"), "{ended:?}");
    }
}

#[test]
fn what_cannot_be_done_at_a_stop_is_refused_and_the_run_goes_on() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let commands = [
        "break /conv2/Conv",
        "run",
        "-print output[0]",
        "-print input[9]",
        "-print input[0][99]",
        "-set output[0] = 1",
        "-set input[0] = nowhere.npy",
        "-until Cnov",
        "-print value(\"nothing\")",
        "continue",
    ];
    let ended = batch(&place, &[&digits], &commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(ended.stderr.lines().count(), 7, "{ended:?}");
    ended.says(&[
        "error: there is no output[0] here",
        "input[9]",
        "outside of axis 0",
        "nowhere.npy",
        "Cnov",
        "nothing",
    ]);
    assert!(ended.stdout.contains("Run 0 ended"), "{ended:?}");
}

#[test]
fn wrong_use_is_told_before_anything_runs() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let refused = |arguments: &[&str], says: &[&str]| {
        end(&mut place.command(&[&["debug"], arguments].concat())).refused(2, says);
    };
    refused(&[], &["<MODEL>"]);
    refused(&["nowhere.onnx"], &["nowhere.onnx"]);
    refused(&[&digits, "--batch"], &["-ex COMMAND or -x FILE"]);
    refused(&[&digits, "--attach", "1"], &["--attach"]);
    refused(&["--attach", "1", "--dym-batch", "2"], &["--attach takes no inputs"]);
    refused(&[&digits, "--input", "nowhere.npy"], &["nowhere.npy"]);
    refused(&[&digits, "--dym-shape-range", "image:1~3,1,8,8"], &["--dym-shape"]);
    end(&mut place.command(&["debug", "--attach", "4194304"])).refused(1, &["4194304"]);
    let help = end(&mut place.command(&["debug", "--help"]));
    assert!(help.stdout.contains("--dym-shape ") && !help.stdout.contains("--dym-shape-range"), "{help:?}");
}

#[test]
fn a_script_runs_line_by_line_with_comments_and_files_within() {
    let place = Workplace::new();
    place.write("inner", "# stops\nbreak Softmax\n\n-print nothing at all\nrun\n");
    place.write("outer", "source inner\nprint input[0][0, 0]\ncontinue\n");
    let digits = model("digits_cnn.onnx");
    let ended = end(&mut place.command(&["debug", &digits, "--batch", "-x", "outer", "-ex", "echo the end"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    in_order(&ended.stdout, &["Breakpoint 1, before #15", "input[0][0, 0]", "Run 0 ended", "the end"]);
    ended.says(&["error: inner:4: "]);
    place.write("bad", "echo one\nnonsense\necho two\n");
    let ended = end(&mut place.command(&["debug", &digits, "--batch", "-x", "bad"]));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    ended.says(&["error: bad:2: 'nonsense' is no command"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(!ended.stdout.contains("two"), "{ended:?}");
}

#[test]
fn a_run_that_fails_is_told_or_held_where_it_failed_and_ends_a_batch_with_exit_code_1() {
    let place = Workplace::new();
    let beyond = Tensor::from_i64(vec![1, 3], &[1_000_000; 3]).unwrap();
    let mut bytes = Vec::new();
    npy::write(&beyond.view(), &mut bytes).unwrap();
    place.write("ids.npy", bytes);
    let classifier = model("token_classifier.onnx");
    let ended = batch(&place, &[&classifier, "--input", "ids.npy"], &["run", "echo the end"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(1), ""), "{ended:?}");
    in_order(&ended.stdout, &["Run 0 failed: ", "/embeddings/word_embeddings/Gather", "the end"]);

    let commands = ["catch error", "run", "info runs", "-print input[0]", "info operator", "continue", "info runs"];
    let ended = batch(&place, &[&classifier, "--input", "ids.npy"], &commands);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended.stderr,
        "error: the run has failed, and its tensors are gone; `break #0` stops the next one before that\n"
    );
    let held = "Run 0 failed at #0 /embeddings/word_embeddings/Gather (Gather): ";
    let listed = "failed at #0 /embeddings/word_embeddings/Gather (Gather)\n#0 /embeddings/word_embeddings/Gather (Gather), step";
    in_order(&ended.stdout, &[held, "*  run 0", listed, "Run 0 failed: ", "No run is going on."]);
}

#[test]
fn lines_from_a_pipe_are_commands_and_an_error_does_not_end_them() {
    let place = Workplace::new();
    place.write(
        "lines",
        b"break Softmax\nnonsense\nno text: \xff\nrun\n\np input[0][0, 0]\nstep\n\nquit\necho not reached\n",
    );
    let mut command = place.command(&["debug", &model("digits_cnn.onnx")]);
    let ended = end(command.stdin(fs::File::open(place.path("lines")).unwrap()));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    in_order(&ended.stdout, &["Breakpoint 1, before #15", "input[0][0, 0]", "Run 0 ended"]);
    assert!(!ended.stdout.contains("not reached") && !ended.stdout.contains("(opscope)"), "{ended:?}");
    in_order(&ended.stderr, &["nonsense", "error: the line is no text in UTF-8"]);
}

#[test]
fn whoever_closes_stdout_ends_the_debugger_and_a_full_disk_is_told() {
    let place = Workplace::new();
    let arguments = ["debug", &model("digits_cnn.onnx"), "--batch", "-ex", "run 100000000"];
    let mut child = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "it does not run to its end for nobody");

    let full = fs::File::options().write(true).open("/dev/full").unwrap();
    let child = place.command(&arguments).stdout(full).stderr(Stdio::piped()).spawn().unwrap();
    let ended = child.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&ended.stderr).contains("the result cannot be printed"), "{ended:?}");
}

#[test]
fn names_of_a_model_do_not_steer_the_terminal() {
    let place = Workplace::new();
    let ended = batch(&place, &[&model("fixtures/odd_names.onnx")], &["info operators", "break *"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("\\u{0}"), "{ended:?}");
    assert!(ended.stdout.lines().all(|line| !line.contains(char::is_control)), "{ended:?}");
}

#[test]
fn help_names_every_command() {
    let place = Workplace::new();
    let text = digits(&place, &["help", "help break", "help c"]);
    for command in ["run", "break", "until", "topk", "events", "quit"] {
        assert!(text.lines().any(|line| line.starts_with(command)), "{command}: {text}");
    }
    in_order(&text, &["first nonfinite", "continue [N | --all]"]);
}
