//! Where a run stops: breakpoints, conditions, steps.

use opscope::onnx::{Graph, OnnxError};
use opscope::tensor::{Tensor, npy};

use super::process::onnx::{self, node};
use super::process::tensors::{near, numbers, read};
use super::process::{Workplace, engine, model};
use super::{batch, digits, in_json, in_order};

#[test]
fn a_run_stops_at_a_breakpoint_shows_a_tensor_and_continues() {
    let place = Workplace::new();
    let text = digits(&place, &["break /conv2/Conv", "run", "print input[0][0, 0, :2, :3]", "continue"]);
    in_order(
        &text,
        &[
            "Breakpoint 1 before /conv2/Conv: #3 /conv2/Conv, kernel",
            "Breakpoint 1, before #3 /conv2/Conv (Conv), run 0",
            "input[0]   /relu1/Relu_output_0",
            "float32 [8, 8, 8, 8]",
            "input[0][0, 0, :2, :3]  float32 [2, 3]\n[[",
            "Run 0 ended: probabilities float32 [8, 10]",
        ],
    );
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
    // ONNX Runtime executes the operator as one kernel.
    let (first, last) = match engine::is_onnxruntime() {
        true => ("", ""),
        false => (
            "(the engine's kernel here is 'Mul', the first of 2 for this operator)",
            "the last of 2 for this operator)",
        ),
    };
    in_order(
        &text,
        &[
            "input[0]   /conv1/Conv_output_0              float32 [8, 8, 8, 8]\n",
            "input[1]   bn1.weight                        float32 [8]           weight\n",
            "input[4]   bn1.running_var",
            "output[0]  /bn1/BatchNormalization_output_0  float32 [8, 8, 8, 8]  not computed yet\n",
            first,
            "shape(input[1]) = [8]",
            "weight[0]  bn1.weight",
            "input[0] is replaced",
            "after #1 /bn1/BatchNormalization",
            "output[0]  /bn1/BatchNormalization_output_0  float32 [8, 8, 8, 8]\n",
            last,
        ],
    );
    if !engine::is_onnxruntime() {
        let commands = ["b /bn1/BatchNormalization", "run", "set input[1] = 0"];
        let ended = batch(&place, &[&model("digits_cnn.onnx")], &commands);
        ended.says(&["input[1] cannot be replaced: the engine executes the operator in several kernels", "'Mul'"]);
    }
    // With zeros as its input, its output is the same everywhere in a channel. Its weights are those of the file.
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
            "Breakpoint 2 deleted",
            "Breakpoint 1, after #7 /conv3/Conv (Conv), run 0",
            "Run 0 ended",
        ],
    );
}

#[test]
fn a_condition_that_cannot_be_evaluated_is_reported_once() {
    let place = Workplace::new();
    let commands = ["break Conv if absmax(input[99]) > 1", "run 2", "run"];
    let text = digits(&place, &commands);
    let note = "note: the condition of breakpoint 1 cannot be evaluated: there is no input[99] here";
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
fn an_optimised_model_says_what_became_of_its_operators() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let commands =
        ["info operators BatchNormalization", "break type:BatchNormalization", "info breakpoints", "run", "where"];
    let ended = batch(&place, &[&digits, "--fidelity", "optimised"], &commands);
    if engine::is_onnxruntime() {
        return ended.refused(2, &["see the values between operators, and onnxruntime", "cannot in optimised runs"]);
    }
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let fused = "#1 /bn1/BatchNormalization, fused into /conv1/Conv (kernel ";
    in_order(
        &ended.stdout,
        &[
            "BatchNormalization  /bn1/BatchNormalization  fused into /conv1/Conv (kernel ",
            "Breakpoint 1 before type:BatchNormalization: 3 operators, 3 fused into others",
            fused,
            fused,
            "Breakpoint 1, before #0 /conv1/Conv (Conv), run 0",
            "  output[0]  /bn1/BatchNormalization_output_0  float32 [1, 8, 8, 8]",
            "also stands for /bn1/BatchNormalization",
            "before #0 /conv1/Conv (Conv), run 0, thread",
        ],
    );
    let ended = batch(&place, &[&digits, "--fidelity", "optimised"], &["break /relu4/Relu", "run"]);
    in_order(
        &ended.stdout,
        &["before #12 /fc1/Gemm (Gemm), run 0", "\n      holds /relu4/Relu_output_0 in another form\n"],
    );
    // tract computes a Relu as a maximum with a zero of its own.
    let ended = batch(&place, &[&digits, "--fidelity", "optimised"], &["break /relu1/Relu", "run", "-print input[1]"]);
    in_order(&ended.stdout, &["before #2 /relu1/Relu (Relu), run 0", "\n  input[0] ", "\n  output[0] "]);
    assert!(!ended.stdout.contains("input[1]"), "{ended:?}");
    ended.says(&["input[1]", "it is an operand of the engine's own, which the operator does not take"]);
    let commands = ["break /encoder/layer.0/attention/self/MatMul after", "run"];
    let ended = batch(&place, &[&model("tiny_transformer.onnx"), "--fidelity", "optimised"], &commands);
    let fused = ended.stdout.split("also stands for").nth(1).unwrap_or_else(|| panic!("{ended:?}"));
    assert!(fused.matches(',').count() > 3, "{ended:?}");
    for line in fused.lines() {
        assert!(line.chars().count() <= 80, "{line}");
    }
}

#[test]
fn a_breakpoint_where_nothing_is_executed_says_so_and_is_not_waited_for() {
    let place = Workplace::new();
    let commands = ["break type:Gather", "tbreak MatMul", "run", "-until type:Gather", "where", "continue"];
    let ended = batch(&place, &[&model("tiny_transformer.onnx")], &commands);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    if engine::is_onnxruntime() {
        // ONNX Runtime executes every operator.
        let stops = ["Breakpoint 1 before type:Gather: 17 operators\n", "Breakpoint 1, before #4", "(Gather), run 0"];
        return in_order(&ended.stdout, &stops);
    }
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
