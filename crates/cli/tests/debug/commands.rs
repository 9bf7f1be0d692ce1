//! Commands: what they answer, where they come from, what is wrong with them.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

use super::process::{Workplace, end, model};
use super::{batch, digits, in_order};

#[test]
fn a_batch_without_commands_runs_the_lines_of_stdin_up_to_the_first_that_fails() {
    let place = Workplace::new();
    place.write("lines", "# stops\nbreak Softmax\n\n-nonsense\nrun\nprint nothing\necho not reached\n");
    let mut command = place.command(&["debug", &model("digits_cnn.onnx"), "--batch"]);
    let ended = end(command.stdin(fs::File::open(place.path("lines")).unwrap()));
    assert_eq!(ended.code, Some(1), "{ended:?}");
    in_order(&ended.stdout, &["Breakpoint 1 before Softmax", "Breakpoint 1, before #15"]);
    in_order(&ended.stderr, &["error: stdin:4: unknown command 'nonsense'", "error: stdin:6: "]);
    assert!(!ended.stdout.contains("not reached"), "{ended:?}");
}

#[test]
fn models_runs_and_operators_can_be_listed() {
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
        ("wait", "no run is active"),
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
fn a_wrong_request_at_a_stop_is_refused_and_the_run_continues() {
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
fn wrong_use_is_reported_before_anything_runs() {
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
    refused(&["--attach", "1", "--engine", "ort"], &["--attach takes no inputs, shapes, engine"]);
    end(&mut place.command(&["debug", "--attach", ","])).refused(1, &["--attach names no program"]);
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
    ended.says(&["error: bad:2: unknown command 'nonsense'"]);
    assert_eq!(ended.stderr.lines().count(), 1, "{ended:?}");
    assert!(!ended.stdout.contains("two"), "{ended:?}");
}

#[test]
fn a_script_may_come_through_a_pipe_that_the_shell_made() {
    let place = Workplace::new();
    place.write("commands", "break Softmax\nrun\necho the end\n");
    for name in ["/dev/stdin", "/dev/fd/0"] {
        let mut cat = Command::new("cat").arg(place.path("commands")).stdout(Stdio::piped()).spawn().unwrap();
        let mut command = place.command(&["debug", &model("digits_cnn.onnx"), "--batch", "-x", name]);
        let ended = end(command.stdin(cat.stdout.take().unwrap()));
        cat.wait().unwrap();
        assert_eq!(ended.code, Some(0), "{name}: {ended:?}");
        in_order(&ended.stdout, &["Breakpoint 1, before #15", "the end"]);
    }
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
    in_order(&ended.stderr, &["nonsense", "error: the line is not UTF-8 text"]);
}

#[test]
fn closing_stdout_ends_the_debugger_and_a_full_disk_is_reported() {
    let place = Workplace::new();
    let arguments = ["debug", &model("digits_cnn.onnx"), "--batch", "-ex", "run 100000000"];
    let mut child = place.command(&arguments).stdout(Stdio::piped()).spawn().unwrap();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new()).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0), "it ends with its reader");

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
