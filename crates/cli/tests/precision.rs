//! `opscope precision`: the operators that must stay in float32, the files, and searches that end early.

mod process;

use std::fs;
use std::num::NonZeroUsize;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};

use opscope::Session;
use opscope::model::{Fidelity, LoadOptions};
use opscope::onnx::{Graph, Producer};
use opscope::tensor::{DType, Tensor, npy};
use process::disk::{SmallDisk, with_disks};
use process::onnx::{node, weighted};
use process::{Ended, Workplace, end, engine, model};
use serde_json::Value;

/// The operators of `rms_norm.onnx` that overflow or take what has overflowed.
const PLANTED: [&str; 4] = ["/norm/Pow", "/norm/ReduceMean", "/norm/Add", "/norm/Sqrt"];

/// Searches in `rms_norm.onnx` for fp16, with the results in `out`.
fn search(place: &Workplace, arguments: &[&str]) -> Ended {
    let model = model("precision/rms_norm.onnx");
    let fixed = ["precision", &model, "--to", "fp16", "--output", "out"];
    end(&mut place.command(&[&fixed, arguments].concat()))
}

fn kept(report: &Value) -> Vec<&str> {
    report["kept"].as_array().unwrap().iter().map(|kept| kept["operator"].as_str().unwrap()).collect()
}

/// Returns the model and the list of a search.
fn results(place: &Workplace) -> (Vec<u8>, String) {
    (fs::read(place.path("out/rms_norm_fp16.onnx")).unwrap(), place.text("out/keep.txt"))
}

#[test]
fn exactly_the_planted_operators_are_kept_and_the_written_model_runs() {
    let place = Workplace::new();
    let ended = search(&place, &["--keep-within", "cosine >= 0.9999"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for text in ["/norm/Pow (overflow: ", "4 of 16 operators", "without any one of them the target is missed: 0."] {
        assert!(ended.stdout.contains(text), "{text:?} is not in {ended:?}");
    }
    assert_eq!(place.tree("out"), ["keep.txt", "precision.json", "rms_norm_fp16.onnx", "trials.jsonl"]);
    assert_eq!(place.text("out/keep.txt").lines().collect::<Vec<_>>(), PLANTED);
    let report = place.json("out/precision.json");
    assert_eq!(report["schema"], "opscope.precision/1");
    assert_eq!(kept(&report), PLANTED);
    for kept in report["kept"].as_array().unwrap() {
        assert!(kept["value_without"].as_f64().is_none_or(|value| value < 0.9999), "{kept}");
    }
    assert!(report["value"].as_f64().unwrap() >= 0.9999, "{report}");
    assert!(report["held_out"]["mean"].as_f64().unwrap() >= 0.9999, "{report}");
    assert_eq!(
        (&report["minimal"], &report["inputs"], &report["held_out"]["inputs"]),
        (&true.into(), &4.into(), &4.into())
    );

    // The kept operators give float32, those beside them do not, and the ends of the model are what they were.
    let written = Graph::load(&place.path("out/rms_norm_fp16.onnx")).unwrap();
    let weight = |name: &str| {
        let mut stored = written.values.iter().filter(|value| value.producer == Producer::Initializer);
        stored.find(|value| value.name.starts_with(name)).unwrap().dtype
    };
    assert_eq!((weight("/norm.epsilon"), weight("/up.weight")), (Some(DType::F32), Some(DType::F16)));
    let ends = written.inputs.iter().chain(&written.outputs).map(|id| written.value(*id).dtype);
    assert_eq!(ends.collect::<Vec<_>>(), [Some(DType::F32); 2]);
    let casts = written.operators.iter().filter(|operator| operator.op_type == "Cast").count();
    assert_eq!(casts, 4, "at the two ends of the model, and at the two ends of what is kept");
    place.benchmark_well(&["out/rms_norm_fp16.onnx", "--pure-data-type", "random"]);
}

#[test]
fn the_json_document_is_the_file() {
    let place = Workplace::new();
    let ended = search(&place, &["--json", "--quiet"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(ended.json(), place.json("out/precision.json"));
}

#[test]
fn the_report_shows_the_result() {
    let place = Workplace::new();
    assert_eq!(search(&place, &[]).code, Some(0));
    let ended = end(&mut place.command(&["report", "out"]));
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "report.html\n"), "{ended:?}");
    let page = place.text("report.html");
    for text in ["4 of 16 operators stay in float32", "The own error of every operator", "/norm/Sqrt", "overflow"] {
        assert!(page.contains(text), "{text:?} is not on the page");
    }
}

#[test]
fn a_model_that_loses_nothing_keeps_nothing() {
    let place = Workplace::new();
    let digits = model("digits_cnn.onnx");
    let ended = end(&mut place.command(&["precision", &digits, "--to", "fp16", "--output", "out"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("nothing: all "), "{ended:?}");
    assert_eq!(place.text("out/keep.txt"), "");
}

#[test]
fn a_constant_that_the_type_does_not_have_is_rounded_whatever_shape_the_engine_gives_it() {
    let place = Workplace::new();
    // Rounded to fp16, the divisor is zero, and so is what it divides. The engine makes it a tensor of as many dimensions
    // as x has.
    let nodes = [
        node("scaled", "Mul", &["x", "tiny"], &["s"]),
        node("divided", "Div", &["s", "small"], &["d"]),
        node("bounded", "Tanh", &["d"], &["b"]),
        node("end", "Add", &["b", "x"], &["y"]),
    ];
    let weights: [(&str, &[f32]); 2] = [("tiny", &[1e-9]), ("small", &[2e-8])];
    place.write("m.onnx", weighted(&[("x", &["2", "4"])], &nodes, &weights, &[("y", &["2", "4"])]));
    let ended = end(&mut place.command(&["precision", "m.onnx", "--to", "fp16", "--output", "out"]));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(kept(&place.json("out/precision.json")), ["divided"]);
}

#[test]
fn a_target_below_the_noise_is_told_from_one_that_is_missed() {
    let place = Workplace::new();
    let ended = search(&place, &["--keep-within", "sqnr >= 400"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let says = "the target sqnr >= 400 is finer than that: no choice can be told from noise";
    assert!(ended.stdout.contains(says), "{ended:?}");
    assert!(!place.path("out/rms_norm_fp16.onnx").exists());
}

#[test]
fn what_cannot_be_searched_is_refused_with_what_would_be_right() {
    let place = Workplace::new();
    for target in ["cosine", "cosine <= 0.9", "mse <= 1", "top0 >= 1", "sqnr >= many"] {
        let ended = search(&place, &["--keep-within", target]);
        ended.refused(2, &[target, "give a metric and a bound, such as 'cosine >= 0.9999'"]);
    }
    search(&place, &["--input", "missing.npy"]).refused(2, &["missing.npy"]);
    let image = model("digits_cnn.input.image.npy");
    search(&place, &["--input", &image]).refused(2, &["input 'x' takes [8, 16]"]);
    search(&place, &["--search", "9"]).refused(2, &["the search is to see 9 sets of inputs, and there are 8"]);
    search(&place, &["--budget", "soon"]).refused(2, &["'soon' is no time; write 90s, 30m or 2h"]);
    search(&place, &["--check", "false"]).refused(2, &["the check fails for the original model, too: false"]);
    let both = ["--check", "true", "--keep-within", "argmax >= 1"];
    search(&place, &both).refused(2, &["--check", "--keep-within"]);
    place.write("file", "");
    search(&place, &["--output", "file/out"]).refused(2, &["--output"]);
    let nothing = weighted(&[("x", &["4"])], &[node("shape", "Shape", &["x"], &["y"])], &[], &[("y", &["1"])]);
    place.write("nothing.onnx", nothing);
    let ended = end(&mut place.command(&["precision", "nothing.onnx", "--to", "fp16", "--output", "nothing"]));
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[test]
fn a_directory_of_another_search_is_refused_and_stays_as_it_is() {
    let place = Workplace::new();
    assert_eq!(search(&place, &[]).code, Some(0));
    let before = (results(&place), place.text("out/trials.jsonl"), place.text("out/precision.json"));
    for other in [&["--keep-within", "cosine >= 0.99"][..], &["--seed", "3"], &["--search", "2"], &["--check", "true"]]
    {
        search(&place, other).refused(2, &["\"out\" holds another search", "give another directory, or remove it"]);
    }
    assert!(before == (results(&place), place.text("out/trials.jsonl"), place.text("out/precision.json")));
    // The same search has nothing to do but to measure again.
    assert_eq!(search(&place, &[]).code, Some(0));
    assert!((before.0, before.1) == (results(&place), place.text("out/trials.jsonl")));
}

/// Starts a search, and kills it as soon as its file of trials has this many lines.
fn killed(place: &Workplace, lines: usize) -> Option<i32> {
    let model = model("precision/rms_norm.onnx");
    let mut command = place.command(&["precision", &model, "--to", "fp16", "--output", "out"]);
    let mut child: Child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let trials = place.path("out/trials.jsonl");
    loop {
        let written = fs::read(&trials).map_or(0, |text| text.iter().filter(|byte| **byte == b'\n').count());
        if written >= lines || child.try_wait().unwrap().is_some() {
            break;
        }
        std::thread::yield_now();
    }
    let _ = child.kill();
    child.wait().unwrap().code()
}

#[test]
fn a_search_that_is_killed_again_and_again_ends_with_the_same_files() {
    let whole = Workplace::new();
    assert_eq!(search(&whole, &[]).code, Some(0));
    let lines = whole.text("out/trials.jsonl").lines().count();
    let place = Workplace::new();
    let mut kills = 0;
    for line in 0..lines {
        kills += usize::from(killed(&place, line).is_none());
        if let Ok(bytes) = fs::read(place.path("out/rms_norm_fp16.onnx")) {
            Graph::from_bytes(Path::new("written"), bytes.into()).expect("a model that is there is whole");
        }
    }
    assert!(kills > 0, "it was never killed");
    let ended = search(&place, &[]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(results(&place) == results(&whole), "{ended:?}");
}

/// A check that passes models whose output is close to the original's, and does something in one of its calls.
fn check(place: &Workplace, call: usize, does: &str) -> String {
    let original = model("precision/rms_norm.onnx");
    let session = Session::open(Path::new(&original), &LoadOptions::new(Fidelity::Exact, NonZeroUsize::MIN)).unwrap();
    let elements: Vec<f32> = (0..128u8).map(|index| f32::from(index % 13) / 6.0 - 1.0).collect();
    let x = Tensor::from_f32(vec![8, 16], &elements).unwrap();
    let expected = session.run(std::slice::from_ref(&x), &[]).unwrap();
    write(place, "x.npy", &x);
    write(place, "golden/probabilities.npy", &expected[0]);
    place.write("calls", "");
    place.write("does", format!("[ $(wc -l <calls) -eq {call} ] && {{ {does}; }}\n"));
    let program = format!("OPSCOPE_ENGINE={} {}", engine::name(), env!("CARGO_BIN_EXE_opscope"));
    format!(
        "echo {{model}} >>calls; . ./does; {program} compare {{model}} golden --input x.npy --tolerance 0.01 --quiet"
    )
}

fn write(place: &Workplace, name: &str, tensor: &Tensor) {
    let mut file = Vec::new();
    npy::write(&tensor.view(), &mut file).unwrap();
    place.write(name, file);
}

#[test]
fn a_command_decides_and_is_asked_once_for_each_set() {
    let place = Workplace::new();
    let ended = search(&place, &["--check", &check(&place, 0, "true")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let report = place.json("out/precision.json");
    assert_eq!(kept(&report), PLANTED);
    assert_eq!((&report["noise"], &report["value"], &report["held_out"]), (&Value::Null, &Value::Null, &Value::Null));
    assert!(ended.stdout.contains("without any one of them the check fails"), "{ended:?}");
    let trials = place.json_lines("out/trials.jsonl").iter().filter(|line| line.get("trial").is_some()).count();
    assert_eq!(place.text("calls").lines().count(), trials + 1, "once for each, and for the original");
    assert!(place.tree("out").iter().all(|file| !file.starts_with("trial.")), "{:?}", place.tree("out"));
}

#[test]
fn a_search_that_is_killed_in_a_check_goes_on_with_it() {
    let whole = Workplace::new();
    search(&whole, &["--check", &check(&whole, 0, "true")]);
    let calls = whole.text("calls").lines().count();
    let place = Workplace::new();
    for call in 2..=calls {
        let killed = search(&place, &["--check", &check(&place, call, "kill -9 $PPID")]);
        assert!(killed.code.is_none() || call > 2, "{killed:?}");
    }
    assert_eq!(search(&place, &["--check", &check(&place, 0, "true")]).code, Some(0));
    assert!(results(&place) == results(&whole));
}

#[test]
fn ctrl_c_ends_with_the_best_so_far_and_the_same_command_goes_on() {
    let place = Workplace::new();
    // The first call is with the original, the second with nothing kept, the third with the front of the order.
    for (call, signal, code) in [(1, "INT", 130), (2, "INT", 130), (2, "TERM", 143)] {
        let ended = search(&place, &["--check", &check(&place, call, &format!("kill -{signal} $PPID"))]);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(code), ""), "{ended:?}");
        assert!(ended.stderr.contains("interrupted before a set of operators was found"), "{ended:?}");
        assert!(!place.path("out/rms_norm_fp16.onnx").exists());
    }
    let ended = search(&place, &["--check", &check(&place, 4, "kill -INT $PPID")]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("the search was cut short; the same command goes on with it"), "{ended:?}");
    let report = place.json("out/precision.json");
    assert_eq!((&report["minimal"], kept(&report).len()), (&false.into(), place.text("out/keep.txt").lines().count()));
    assert_eq!(report["interrupted"], true);
    Graph::load(&place.path("out/rms_norm_fp16.onnx")).unwrap();
    let ended = search(&place, &["--check", &check(&place, 0, "true")]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(kept(&place.json("out/precision.json")), PLANTED);
}

#[test]
fn a_second_ctrl_c_ends_the_process() {
    let place = Workplace::new();
    // Until it has ended, and nobody has asked how.
    let twice = "until grep -q '^State:.Z' /proc/$PPID/status; do kill -INT $PPID || break; done";
    let ended = search(&place, &["--check", &check(&place, 2, twice)]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(130), ""), "{ended:?}");
}

#[test]
fn a_search_without_time_ends_at_once_and_goes_on_with_more() {
    let place = Workplace::new();
    let ended = search(&place, &["--budget", "0"]);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stdout.contains("nothing was found in time"), "{ended:?}");
    assert_eq!(search(&place, &["--budget", "24h"]).code, Some(0));
    assert_eq!(kept(&place.json("out/precision.json")), PLANTED);
}

#[test]
fn a_full_disk_leaves_the_best_so_far_whole_and_is_said() {
    with_disks("a_full_disk_leaves_the_best_so_far_whole_and_is_said", || {
        let mut left_a_model = false;
        for kibibytes in (4..).step_by(4) {
            let place = Workplace::new();
            let out = place.path("out");
            let disk = SmallDisk::mount(&out, kibibytes);
            let ended = search(&place, &[]);
            let written = place.path("out/rms_norm_fp16.onnx").exists();
            if written {
                Graph::load(&place.path("out/rms_norm_fp16.onnx")).unwrap();
            }
            if ended.code == Some(0) {
                assert_eq!(place.text("out/keep.txt").lines().collect::<Vec<_>>(), PLANTED);
                drop(disk);
                break;
            }
            ended.refused(1, &["No space left on device"]);
            left_a_model |= written;
            assert!(kibibytes < 1024, "it needs more than a MiB");
            drop(disk);
        }
        assert!(left_a_model, "no disk was full only at the end");
    });
}

#[test]
fn names_that_would_move_the_cursor_are_printed_as_escapes() {
    const HOSTILE: &str = "x\u{1b}[31m\nFORGED \r\u{9b}1m\u{202e}z";
    let place = Workplace::new();
    let names = ["a", "b", "c"].map(|suffix| format!("{HOSTILE}{suffix}"));
    let nodes = [
        node(&names[0], "Mul", &["x", "far"], &[&names[1]]),
        node(&names[1], "Div", &[&names[1], "far"], &[&names[2]]),
    ];
    let far = [1e6; 4];
    place.write("m.onnx", weighted(&[("x", &["4"])], &nodes, &[("far", &far)], &[(&names[2], &["4"])]));
    for form in [&[][..], &["--json"]] {
        let ended =
            end(&mut place.command(&[&["precision", "m.onnx", "--to", "fp16", "--output", "out"], form].concat()));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        for text in [&ended.stdout, &ended.stderr] {
            let forged = text.lines().any(|line| line.starts_with("FORGED"));
            let control = text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}');
            assert!(!forged && !control, "{text:?}");
        }
        assert!(ended.stdout.contains("FORGED"), "{ended:?}");
    }
    // A list of lines cannot name them.
    assert_eq!(place.text("out/keep.txt"), "");
    let report = place.json("out/precision.json");
    assert!(!kept(&report).is_empty());
    assert!(report["kept"].as_array().unwrap().iter().all(|kept| kept["listed"] == false), "{report}");
    let ended = end(&mut place.command(&["precision", "m.onnx", "--to", "fp16", "--output", "out"]));
    let lacks = format!("lacks {} node", kept(&report).len());
    assert!(ended.stdout.contains(&lacks), "{ended:?}");
}

#[test]
fn several_sets_of_files_are_searched_and_held_out() {
    let place = Workplace::new();
    let model = model("precision/rms_norm.onnx");
    let sets: Vec<String> = (0..5).map(|set| format!("out/random/{set}.npy")).collect();
    for (set, name) in sets.iter().enumerate() {
        // Small numbers in all sets but the last one: only that one overflows.
        let size = if set == 4 { 1.0f32 } else { 1e-3 };
        let elements: Vec<f32> = (0..128u8).map(|index| size * (f32::from(index) / 64.0 - 1.0)).collect();
        write(&place, name, &Tensor::from_f32(vec![8, 16], &elements).unwrap());
    }
    let fixed = ["precision", &model, "--to", "fp16", "--input", &sets.join(",")];
    let ended = end(&mut place.command(&[&fixed[..], &["--output", "first", "--search", "4"]].concat()));
    assert!(ended.stdout.contains("1 set of inputs that the search did not see"), "{ended:?}");
    let ended = end(&mut place.command(&[&fixed[..], &["--output", "all", "--search", "5"]].concat()));
    assert!(ended.stdout.contains("none: give several sets of inputs"), "{ended:?}");
    let report = place.json("all/precision.json");
    assert_eq!((&report["inputs"], &report["held_out"]), (&5.into(), &Value::Null));
    assert!(kept(&report).contains(&"/norm/Pow"), "{report}");
}

/// A quantizer that changes nothing, but writes what no engine loads unless `b` is left out.
const COLLIDING: &str = r#"#!/bin/sh
echo '{"nodes": ["a", "b", "c"]}'
while read -r request; do
    output=$(printf '%s' "$request" | sed 's/.*"output":"\([^"]*\)".*/\1/')
    case $request in
        *'"b"'*) cp "$3" "$output" ;;
        *) cp REFUSED "$output" ;;
    esac
    echo '{}'
done
"#;

#[test]
fn a_quantised_model_that_the_engine_refuses_misses_the_target_and_the_search_goes_on() {
    let place = Workplace::new();
    let nodes = [node("a", "Neg", &["x"], &["v"]), node("b", "Abs", &["v"], &["w"]), node("c", "Neg", &["w"], &["y"])];
    place.write("m.onnx", weighted(&[("x", &["4"])], &nodes, &[], &[("y", &["4"])]));
    place.write("python", COLLIDING.replace("REFUSED", &model("fixtures/huge_constant_of_shape.onnx")));
    fs::set_permissions(place.path("python"), fs::Permissions::from_mode(0o755)).unwrap();
    let python = place.path("python");
    let line = ["precision", "m.onnx", "--to", "int8", "--output", "out", "--python", python.to_str().unwrap()];
    let ended = end(&mut place.command(&line));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("all int8  cosine none (not finite, or the engine does not load it)"), "{ended:?}");
    let report = place.json("out/precision.json");
    assert_eq!((kept(&report), &report["minimal"], &report["value"]), (vec!["b"], &true.into(), &1.0.into()));
    assert_eq!(place.text("out/keep.txt"), "b\n");
}
