//! Inputs, outputs and runs are found by their names.

mod process;

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::process::{Output, Stdio};

use opscope::tensor::{Tensor, npy};
use process::onnx::{self, node};
use process::tensors::{numbers, read};
use process::{Ended, Workplace, end, engine, model};

/// Returns a place with a model `y = b - a`, whose inputs are `b` and `a` in this order. It has the files `a.npy` of
/// ones and `b.npy` of tens: as single files, in a directory and in an archive.
fn difference() -> Workplace {
    let place = Workplace::new();
    let dims: &[&str] = &["4"];
    let sub = [node("sub", "Sub", &["b", "a"], &["y"])];
    place.write("m.onnx", onnx::file("m", "a test", &[("b", dims), ("a", dims)], &sub, &[("y", dims)]));
    let files = [("a.npy", array(&[1.0; 4])), ("b.npy", array(&[10.0; 4]))];
    for (name, bytes) in &files {
        place.write(name, bytes);
        place.write(&format!("set/{name}"), bytes);
        place.write(&format!("{}/0.npy", name.trim_end_matches(".npy")), bytes);
    }
    place.write("set.npz", archive(&files));
    place
}

fn array(values: &[f32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write(&Tensor::from_f32(vec![values.len()], values).unwrap().view(), &mut bytes).unwrap();
    bytes
}

fn archive(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut archive = rawzip::ZipArchiveWriter::new(&mut bytes);
    for (name, content) in files {
        let (mut entry, config) = archive.new_file(*name).start().unwrap();
        let mut writer = config.wrap(&mut entry);
        writer.write_all(content).unwrap();
        let (_, descriptor) = writer.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    archive.finish().unwrap();
    bytes
}

/// Runs the model with these inputs as a run of this name.
fn run(place: &Workplace, name: &str, inputs: &[&str]) -> Ended {
    let fixed = ["m.onnx", "--loop", "1", "--output", "out", "--output-dirname", name];
    place.benchmark_well(&[&fixed[..], inputs].concat())
}

fn first(place: &Workplace, file: &str) -> f64 {
    numbers(&read(place.path(file)))[0]
}

#[test]
fn files_are_fed_to_the_inputs_of_their_names_and_a_line_says_so() {
    let place = difference();
    for (index, inputs) in [
        &["--input", "a.npy,b.npy"][..],
        &["--input", "b.npy,a.npy"],
        &["--input", "a=a.npy,b=b.npy"],
        &["--input", "a=a.npy", "--input", "b=b.npy"],
        &["--input", "a=a.npy", "--input", "b.npy"],
        &["--input", "set"],
        &["--input", "set.npz"],
        &["--input", "a,b"],
    ]
    .iter()
    .enumerate()
    {
        let ended = run(&place, &format!("run{index}"), inputs);
        assert_eq!(first(&place, &format!("out/run{index}/y.npy")), 9.0, "{inputs:?}");
        assert!(ended.stderr.contains("note: inputs: b <- ") && ended.stderr.contains(", a <- "), "{ended:?}");
        assert!(!ended.stderr.contains("warning"), "{ended:?}");
    }
    // In the other tools' spelling, files follow the order of the inputs.
    let ended =
        place.benchmark_well(&["-om", "m.onnx", "-i", "a.npy,b.npy", "-o", "out", "-od", "theirs", "--outfmt", "NPY"]);
    assert_eq!(first(&place, "out/theirs/a_0.npy"), -9.0);
    ended
        .says(&["warning: a.npy has the name of input 'a', and its place gives it to input 'b'; --input a=a.npy says"]);
}

#[test]
fn every_command_that_runs_a_model_takes_the_same_inputs() {
    let place = difference();
    let compared =
        end(&mut place.command(&["compare", "m.onnx", "m.onnx", "--input", "b=b.npy", "--input", "a=a.npy"]));
    assert_eq!(compared.code, Some(0), "{compared:?}");
    compared.says(&["note: inputs: b <- b.npy, a <- a.npy"]);
    let line =
        ["debug", "m.onnx", "--input", "set.npz", "--batch", "-ex", "break sub after", "-ex", "run", "-ex", "print y"];
    let debugged = end(&mut place.command(&line));
    assert!(debugged.stdout.contains('9'), "{debugged:?}");
    debugged.says(&["note: inputs: b <- set.npz[b], a <- set.npz[a]"]);
}

#[test]
fn inputs_that_fit_no_name_are_refused_with_the_names() {
    let place = difference();
    place.write("half/b.npy", array(&[1.0; 4]));
    place.write("half.npz", archive(&[("b.npy", array(&[1.0; 4])), ("c.npy", array(&[1.0; 4]))]));
    place.write("broken.npz", "PK no archive");
    for (inputs, says) in [
        ("c=a.npy", "there is no input 'c' in this model; its inputs are b [4], a [4]"),
        ("b=b.npy", "nothing is given for a; write --input NAME=FILE"),
        ("half", "\"half\" has nothing named 'a'; it holds b.npy, and the inputs are b, a"),
        ("half.npz", "\"half.npz\" has nothing named 'a'; it holds b, c, and the inputs are b, a"),
        ("broken.npz", "not a zip archive of arrays"),
        ("set,a.npy", "give one kind, or say what each is for"),
        ("a=nothing.npy,b=b.npy", "nothing.npy"),
    ] {
        place.benchmark(&["m.onnx", "--input", inputs]).refused(2, &[says]);
    }
}

#[test]
fn outputs_of_several_runs_have_a_directory_that_is_an_input_of_other_runs() {
    let place = difference();
    for (name, value) in [("cat", 1.0), ("dog", 2.0)] {
        place.write(&format!("animals/a/{name}.npy"), array(&[value; 4]));
        place.write(&format!("animals/b/{name}.npy"), array(&[5.0; 4]));
    }
    run(&place, "animals", &["--input", "animals"]);
    assert_eq!(place.tree("out/animals"), ["y", "y/cat.npy", "y/dog.npy"]);
    let dims: &[&str] = &["4"];
    let nodes = [node("neg", "Neg", &["y"], &["z"])];
    place.write("next.onnx", onnx::file("next", "a test", &[("y", dims)], &nodes, &[("z", dims)]));
    place.benchmark_well(&["next.onnx", "--input", "out/animals", "--output", "out", "--output-dirname", "next"]);
    assert_eq!(place.tree("out/next"), ["z", "z/cat.npy", "z/dog.npy"]);
    assert_eq!(["cat", "dog"].map(|name| first(&place, &format!("out/next/z/{name}.npy"))), [-4.0, -3.0]);
}

#[test]
fn a_taken_name_is_refused_before_anything_runs_whatever_of_the_run_has_it() {
    for existing in ["out/run/x", "out/run_summary.json", "out/profiler/run/x", "out/dump/run/x"] {
        let place = difference();
        place.write(existing, "mine");
        let before = place.tree("");
        let taken = ["m.onnx", "--output", "out", "--output-dirname", "run"];
        let found = existing.trim_end_matches("/x");
        place.benchmark(&taken).refused(2, &["a run named \"run\" exists already", found, "--overwrite"]);
        place.benchmark(&[&taken[..], &["--overwrite"]].concat()).refused(2, &["is not replaced", found]);
        assert_eq!((place.tree(""), place.text(existing)), (before, "mine".to_owned()));
    }
}

#[test]
fn overwrite_replaces_all_of_a_run_once_the_new_one_is_whole() {
    let place = difference();
    run(&place, "run", &["--input", "set", "--profiler"]);
    let old = place.text("out/run_summary.json");
    let again = ["m.onnx", "--loop", "1", "--output", "out", "--output-dirname", "run", "--overwrite", "--dump"];
    // A run that fails leaves the old run in place. This one fails because an input file does not exist.
    place.benchmark(&[&again[..], &["--input", "nowhere.npy,b.npy"]].concat()).refused(2, &["nowhere.npy"]);
    assert_eq!(place.text("out/run_summary.json"), old);
    assert!(place.path("out/profiler/run/records.bin").is_file());
    let ended = place.benchmark_well(&[&again[..], &["--input", "a=b.npy,b=a.npy"]].concat());
    assert!(!ended.stderr.contains("warning"), "{ended:?}");
    assert_eq!(first(&place, "out/run/y.npy"), -9.0);
    assert_eq!(place.json("out/run_summary.json")["run"], "run");
    assert!(place.path("out/dump/run/manifest.json").is_file() && !place.path("out/profiler/run").exists());
    assert!(place.tree("").iter().all(|path| !path.contains(".partial") && !path.contains(".replaced")));
    // A file that the user put there is not removed.
    place.write("out/run/notes.txt", "mine");
    place.benchmark(&again).refused(2, &["notes.txt", "which its run did not write"]);
    assert_eq!(place.text("out/run/notes.txt"), "mine");
    std::fs::remove_file(place.path("out/run/notes.txt")).unwrap();
    for notes in ["out/dump/run/notes.csv", "out/dump/run/run-0000/notes.npy"] {
        place.write(notes, "mine");
        place.benchmark(&again).refused(2, &["notes", "which its run did not write"]);
        std::fs::remove_file(place.path(notes)).unwrap();
    }
    place.benchmark_well(&again);
}

#[test]
fn of_two_processes_with_one_name_one_wins_and_the_other_is_told() {
    let place = difference();
    let line = ["benchmark", "m.onnx", "--loop", "1", "--output", "out", "--output-dirname", "run"];
    let start = |_| place.command(&line).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let ended: Vec<Output> = [0; 4].map(start).into_iter().map(|child| child.wait_with_output().unwrap()).collect();
    let won = ended.iter().filter(|output| output.status.code() == Some(0)).count();
    let told = ended.iter().filter(|output| {
        output.status.code() == Some(2) && String::from_utf8_lossy(&output.stderr).contains("exists already")
    });
    assert_eq!((won, told.count()), (1, 3), "{ended:?}");
    assert_eq!(place.tree("out"), ["run", "run/y.npy", "run_summary.json"]);
}

#[test]
fn an_archive_is_shown_with_its_arrays() {
    let place = difference();
    let ended = end(&mut place.command(&["inspect", "set.npz"]));
    let arrays =
        "set.npz: an archive of numpy's, 2 arrays\n  a  float32 [4]\n  b  float32 [4]\ntry: opscope benchmark ";
    assert!(ended.code == Some(0) && ended.stdout.starts_with(arrays), "{ended:?}");
}

#[test]
fn a_directory_of_results_that_is_a_file_is_refused_as_one() {
    let place = difference();
    place.benchmark(&["m.onnx", "--output", "a.npy"]).refused(2, &["\"a.npy\" is not a directory", "--output"]);
    let refused = end(&mut place.command(&["report", "m.onnx"]));
    refused.refused(2, &["m.onnx is a model", "opscope benchmark m.onnx --output out"]);
}

#[test]
fn a_run_is_found_as_one_by_its_name() {
    let place = difference();
    for (name, option) in [("a", "--profiler"), ("b", "--profiler"), ("c", "--dump"), ("d", "--dump")] {
        run(&place, name, &["--loop", "8", option]);
    }
    let says = |arguments: &[&str], codes: &[i32], texts: &[&str]| {
        let ended = end(&mut place.command(arguments));
        assert!(ended.code.is_some_and(|code| codes.contains(&code)), "{arguments:?}: {ended:?}");
        for text in texts {
            assert!(ended.stdout.contains(text) || ended.stderr.contains(text), "{arguments:?}, {text}: {ended:?}");
        }
    };
    says(
        &["inspect", "out/a", "--no-roofline"],
        &[0],
        &["out/a: a run of m.onnx", "summary    out/a_summary.json", "out/profiler/a: a recording, complete"],
    );
    says(&["inspect", "out/c"], &[0], &["dump       out/dump/c", "out/dump/c"]);
    says(&["inspect", "out/c", "--check"], &[0], &[]);
    let json = end(&mut place.command(&["inspect", "out/c", "--json"])).json();
    assert_eq!((&json["dump"], &json["summary_content"]["run"]), (&"out/dump/c".into(), &"c".into()));
    says(&["export", "out/a", "--format", "parquet", "--output", "tables"], &[0], &["tables"]);
    says(&["export", "out/c"], &[2], &["has no recording", "out/dump/c"]);
    says(&["report", "out/a", "out/c", "--output", "page.html"], &[0], &["page.html"]);
    let page = place.text("page.html");
    assert!(page.contains("out/profiler/a") || page.contains(">a<"), "the page has the run");
    says(&["compare", "out/a", "out/b"], &[0, 3], &["out/profiler/a", "out/profiler/b"]);
    says(&["compare", "out/c", "out/d"], &[0], &["both runs have dumps", "out/c_summary.json out/d_summary.json"]);
    says(&["compare", "out/a", "out/b", "--outputs"], &[0], &["1 tensor compared, 1 within tolerance"]);
    says(&["compare", "out/c", "out/dump/d"], &[0], &["within tolerance"]);
}

#[test]
fn paths_need_not_be_utf8() {
    let place = difference();
    let place_of = |name: &[u8]| OsString::from_vec(name.to_vec());
    let directory = place.path(".").join(place_of(b"odd\xff"));
    fs::create_dir(&directory).unwrap();
    for file in ["m.onnx", "a.npy", "b.npy"] {
        fs::copy(place.path(file), directory.join(file)).unwrap();
    }
    let at = |name: &[u8]| place_of(&[b"odd\xff/", name].concat());
    let run = |words: &[&OsStr]| {
        let ended = end(&mut place.command(words));
        assert!(matches!(ended.code, Some(0 | 3)), "{words:?}: {ended:?}");
        ended
    };
    let (model, out) = (at(b"m.onnx"), at(b"out"));
    let files = place_of(b"b=odd\xff/b.npy,a=odd\xff/a.npy");
    let word = |text: &'static str| OsStr::new(text);
    for (name, instrument) in [("p", "--profiler"), ("d", "--dump"), ("q", "--profiler")] {
        let line =
            [word("benchmark"), &model, word("--input"), &files, word("--output"), &out, word("--output-dirname")];
        let json =
            run(&[&line[..], &[word(name), word(instrument), word("--loop"), word("8"), word("--json")]].concat())
                .json();
        assert_eq!(json["model"]["path"], "odd\u{fffd}/m.onnx");
        assert_eq!(json["filesinfo"]["0"]["infiles"][0], "odd\u{fffd}/b.npy");
    }
    assert_eq!(numbers(&read(directory.join("out/p/y.npy")))[0], 9.0);
    let (p, q, d) = (at(b"out/p"), at(b"out/q"), at(b"out/d"));
    for line in [
        &[word("inspect"), &*model][..],
        &[word("inspect"), &p],
        &[word("inspect"), &at(b"out/p_summary.json")],
        &[word("inspect"), &d],
        &[word("export"), &p, word("--output"), &at(b"exports")],
        &[word("report"), &p, &d, word("--output"), &at(b"page.html")],
        &[word("compare"), &p, &q],
        &[word("compare"), &d, &at(b"out/dump/d")],
        &[word("compare"), &model, &model, word("--input"), &files],
    ] {
        run(line);
        if line[0] != "report" {
            run(&[line, &[word("--json")]].concat()).json();
        }
    }
    let debug = [word("debug"), &model, word("--input"), &files, word("--batch"), word("-ex"), word("run")];
    run(&debug);
    assert!(Path::new(&directory).join("page.html").is_file());
}

#[test]
fn an_index_out_of_range_is_an_error_of_the_inputs_and_no_panic() {
    let place = Workplace::new();
    let mut bytes = Vec::new();
    let ids = Tensor::from_i64(vec![1, 4], &[1, 2, -1, 1_000_000]).unwrap();
    npy::write(&ids.view(), &mut bytes).unwrap();
    place.write("ids.npy", bytes);
    let ended = place.benchmark(&[&model("token_classifier.onnx"), "--input", "ids.npy"]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(!ended.stderr.contains("panicked"), "{ended:?}");
    ended.says(&["Gather", "1000000"]);
    if !engine::is_onnxruntime() {
        ended.says(&["Gather takes index 1000000 of axis 0, which has ", "it comes from the input 'input_ids'"]);
    }
    let model = model("token_classifier.onnx");
    let compared = place.compare(&[&model, &model, "--input", "ids.npy"]);
    assert_eq!(compared.code, Some(2), "{compared:?}");
}
