//! What the keys of the dump section select, for files and for callbacks.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::num::NonZeroUsize;
use std::path::Path;

use opscope::Session;
use opscope::dump::ascend::AscendFile;
use opscope::dump::{BlacklistEntry, Io, IoSelection, OperatorRange, Pattern, Position, Selection};
use opscope::model::Fidelity;
use opscope::tensor::DType;
use opscope_c_programs::models;
use tempfile::TempDir;

use super::scene::{Played, Scene};
use super::streams::{Content, DumpPath, Stream};

const MODEL: &str = "digits_cnn.onnx";
const INPUT: &str = "digits_cnn.input.image.npy";
const LOAD: &str = "load=0,MODELS/digits_cnn.onnx";
const RUN: &str = "run=0,MODELS/digits_cnn.input.image.npy";

/// A section with these keys beside the path.
fn section(keys: &str) -> String {
    format!(r#"{{"dump_path": "dump", {keys}}}"#)
}

/// A section whose list has one entry with these keys. They require the level of operators.
fn entry(keys: &str) -> String {
    section(&format!(r#""dump_level": "op", "dump_mode": "all", "dump_list": [{{{keys}}}]"#))
}

/// Steps between a callback and its end.
fn called(steps: &str, section: &str) -> Scene {
    let steps = format!("init initdump setdump=acl.json reg {steps} finalizedump unreg finalize");
    Scene::new(&steps).dumps("acl.json", section)
}

/// Checks what a callback receives from one run with this section, and that the same is written to the disk if there is
/// no callback.
#[track_caller]
fn dumps(section: &str, selection: Selection) {
    let expected = Content::expected(MODEL, 1, &[&[INPUT]], selection);
    called(&format!("{LOAD} {RUN}"), section).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""), "{section}");
        played.content().is(&expected);
    });
    let steps = format!("init=acl.json {LOAD} {RUN} finalize");
    Scene::new(&steps).dumps("acl.json", section).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""), "{section}");
        Content::of(&on_disk(played)).is(&expected);
    });
}

fn on_disk(played: &Played) -> Vec<Stream> {
    let named = |file: Stream| Stream { name: format!("dump/{}", file.name), ..file };
    played.files("dump").into_iter().map(named).collect()
}

/// Outputs of these operators.
fn outputs(operators: &[&str]) -> Selection {
    Selection { io: IoSelection::Outputs, ..all(operators) }
}

/// Inputs and outputs of these operators.
fn all(operators: &[&str]) -> Selection {
    let operators = operators.iter().map(|name| Pattern::Exact((*name).to_owned())).collect();
    Selection { operators, io: IoSelection::All, ..Selection::default() }
}

fn position(io: Io, slot: usize) -> Position {
    Position { io, slot }
}

#[test]
fn the_mode_chooses_inputs_outputs_or_both() {
    for (mode, io) in [("input", IoSelection::Inputs), ("output", IoSelection::Outputs), ("all", IoSelection::All)] {
        let keys = format!(r#""dump_list": [{{}}], "dump_mode": "{mode}""#);
        dumps(&section(&keys), Selection { io, ..Selection::default() });
    }
}

#[test]
fn a_file_has_all_inputs_of_its_operator_in_every_run() {
    let section = section(r#""dump_list": [{}], "dump_mode": "all""#);
    let loaded = Session::load(&models().join(MODEL), Fidelity::Exact, NonZeroUsize::MIN).expect("a model");
    let operators = &loaded.graph().operators;
    called(&format!("{LOAD} {RUN} {RUN}"), &section).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        assert_eq!(played.streams.len(), 2 * operators.len(), "one file of each operator in each run");
        for stream in &played.streams {
            let file = AscendFile::from_bytes(Path::new("stream"), &stream.bytes).expect("a dump file");
            let operator = operators.iter().find(|operator| operator.name == file.op_name).expect("an operator");
            let slots = |io| file.tensors.iter().filter(|tensor| tensor.io == io).map(|tensor| tensor.slot).collect();
            let (inputs, outputs): (Vec<usize>, Vec<usize>) = (slots(Io::Input), slots(Io::Output));
            assert_eq!(inputs, (0..operator.inputs.len()).collect::<Vec<_>>(), "{}", file.op_name);
            assert_eq!(outputs, (0..operator.outputs.len()).collect::<Vec<_>>(), "{}", file.op_name);
        }
    });
}

#[test]
fn layers_are_operators_by_their_names() {
    let layers = r#""dump_list": [{"layer": ["/relu2/Relu", "/Softmax"]}]"#;
    dumps(&section(layers), outputs(&["/relu2/Relu", "/Softmax"]));
    let entries = r#""dump_list": [{"layer": ["/Softmax"]}, {"model_name": "digits_cnn", "layer": ["/Flatten"]}]"#;
    dumps(&section(entries), outputs(&["/Flatten", "/Softmax"]));
    for level in ["op", "kernel", "all"] {
        let keys = format!(r#""dump_level": "{level}", "dump_list": [{{"layer": ["/Softmax"]}}]"#);
        dumps(&section(&keys), outputs(&["/Softmax"]));
    }
}

#[test]
fn ranges_are_operators_from_one_to_another() {
    let range = r#""model_name": "digits_cnn", "opname_range": [{"begin": "/relu1/Relu", "end": "/pool2/MaxPool"}]"#;
    let ranges = vec![OperatorRange { begin: "/relu1/Relu".to_owned(), end: "/pool2/MaxPool".to_owned() }];
    dumps(&entry(range), Selection { ranges, ..all(&[]) });
}

#[test]
fn blacklists_leave_out_operators_and_their_tensors() {
    let without = |name: &str, positions: Vec<Position>| BlacklistEntry { name: name.to_owned(), positions };
    let by_type = r#""optype_blacklist": [{"name": "Conv"}, {"name": "Gemm", "pos": ["input1", "output0"]}]"#;
    let gemm = vec![position(Io::Input, 1), position(Io::Output, 0)];
    let type_blacklist = vec![without("Conv", Vec::new()), without("Gemm", gemm)];
    dumps(&entry(by_type), Selection { type_blacklist, ..all(&[]) });
    let by_name = r#""opname_blacklist": [{"name": "/Softmax"}, {"name": "/conv1/Conv", "pos": ["input0"]}]"#;
    let conv = without("/conv1/Conv", vec![position(Io::Input, 0)]);
    let name_blacklist = vec![without("/Softmax", Vec::new()), conv];
    dumps(&entry(by_name), Selection { name_blacklist, ..all(&[]) });
    // Positions that no operator has exclude nothing.
    let odd =
        r#""opname_blacklist": [{"name": "/Softmax", "pos": ["middle"]}, {"name": "/Flatten", "pos": ["", "input0"]}]"#;
    let name_blacklist = vec![without("/Flatten", vec![position(Io::Input, 0)])];
    dumps(&entry(odd), Selection { name_blacklist, ..all(&[]) });
}

#[test]
fn an_entry_is_for_the_models_of_its_name() {
    let tokens = "load=1,MODELS/token_classifier.onnx run=1,MODELS/token_classifier.input.input_ids.npy";
    let only = |model: &str| section(&format!(r#""dump_list": [{{"model_name": "{model}"}}]"#));
    let expected = Content::outputs("token_classifier.onnx", 2, &[&["token_classifier.input.input_ids.npy"]]);
    // The log says why there is nothing from the other model.
    called(&format!("{LOAD} {RUN} {tokens}"), &only("token_classifier")).play(|played| {
        let said = "load: 0 EP0003: the model is not dumped: /dump/dump_list/0/model_name: ";
        assert!(played.stdout.starts_with(said) && played.stdout.lines().count() == 1, "{}", played.stdout);
        played.content().is(&expected);
    });
    let each =
        r#""dump_list": [{"model_name": "token_classifier"}, {"model_name": "digits_cnn", "layer": ["/Softmax"]}]"#;
    let digits = Content::expected(MODEL, 1, &[&[INPUT]], outputs(&["/Softmax"]));
    called(&format!("{LOAD} {RUN} {tokens}"), &section(each)).play(|played| {
        assert_eq!(played.stdout, "");
        played.content().is(&expected.clone().and(digits.clone()));
    });
}

#[test]
fn names_that_a_model_does_not_have_leave_the_rest_as_it_is() {
    // An entry for all models names types and layers that not every model has.
    let conv = r#""dump_level": "op", "dump_list": [{"optype_blacklist": [{"name": "Conv"}]}]"#;
    let tokens = "load=1,MODELS/token_classifier.onnx run=1,MODELS/token_classifier.input.input_ids.npy";
    let without = BlacklistEntry { name: "Conv".to_owned(), positions: Vec::new() };
    let digits = Selection { type_blacklist: vec![without], ..outputs(&[]) };
    let expected = Content::expected(MODEL, 1, &[&[INPUT]], digits).and(Content::outputs(
        "token_classifier.onnx",
        2,
        &[&["token_classifier.input.input_ids.npy"]],
    ));
    called(&format!("{LOAD} {tokens} {RUN}"), &section(conv)).play(|played| {
        let said = "load: 0 EP0003: the file names what the model does not have: /dump/dump_list/0/optype_blacklist/0";
        assert!(played.stdout.starts_with(said) && played.stdout.lines().count() == 1, "{}", played.stdout);
        played.content().is(&expected);
    });
    let layers = r#""dump_list": [{"model_name": "digits_cnn", "layer": ["/Softmax", "/Sotfmax"]}]"#;
    called(&format!("{LOAD} {RUN}"), &section(layers)).play(|played| {
        assert!(played.stdout.contains("did you mean \"/Softmax\"?"), "{}", played.stdout);
        played.content().is(&Content::expected(MODEL, 1, &[&[INPUT]], outputs(&["/Softmax"])));
    });
    // If no tensor remains, nothing is dumped.
    let none = r#""dump_list": [{"layer": ["/Sotfmax"]}]"#;
    called(&format!("{LOAD} {RUN}"), &section(none)).play(|played| {
        assert!(played.stdout.starts_with("load: 0 EP0003: the model is not dumped: "), "{}", played.stdout);
        assert!(played.streams.is_empty());
    });
}

/// Inputs that differ from run to run, as paths.
fn images(directory: &TempDir, count: u8) -> Vec<String> {
    let image = fs::read(models().join(INPUT)).expect("an image");
    let write = |number: u8| {
        let mut image = image.clone();
        let at = image.len() - 4 * usize::from(number) - 4;
        image[at..at + 4].copy_from_slice(&(100.0 + f32::from(number)).to_le_bytes());
        let path = directory.path().join(format!("{number}.npy"));
        fs::write(&path, image).expect("an image");
        path.to_str().expect("UTF-8").to_owned()
    };
    (0..count).map(write).collect()
}

#[test]
fn steps_are_runs_and_the_index_counts_those_that_are_dumped() {
    let directory = TempDir::new().expect("a directory");
    let images = images(&directory, 7);
    let inputs: Vec<[&str; 1]> = images.iter().map(|path| [&**path]).collect();
    let inputs: Vec<&[&str]> = inputs.iter().map(|inputs| &inputs[..]).collect();
    let runs: Vec<String> = images.iter().map(|path| format!("run=0,{path}")).collect();
    let steps = format!("{LOAD} {}", runs.join(" "));
    for (step, dumped) in [("1|3-4", &[1, 3, 4][..]), ("0|5-900", &[0, 5, 6]), ("6", &[6])] {
        let keys = format!(r#""dump_list": [{{}}], "dump_mode": "all", "dump_step": "{step}""#);
        let selection = Selection { runs: step.parse().expect("steps"), ..all(&[]) };
        let expected = Content::expected(MODEL, 1, &inputs, selection);
        let index = |run: usize| dumped.iter().position(|one| *one == run).expect("a run that is dumped");
        let expected = expected
            .0
            .into_iter()
            .map(|((id, run, operator, io, slot), value)| ((id, index(run), operator, io, slot), value));
        let expected = Content(expected.collect());
        called(&steps, &section(&keys)).play(|played| {
            assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
            played.content().is(&expected);
        });
    }
    // A step that never comes.
    let never = section(r#""dump_list": [{}], "dump_step": "7""#);
    called(&steps, &never).play(|played| assert!(played.streams.is_empty(), "{}", played.stdout));
}

/// The tables of statistics by the index of the run and the operator's name in files: a line for each tensor.
fn tables(files: &[Stream]) -> BTreeMap<(usize, String), Vec<Vec<String>>> {
    let table = |file: &Stream| {
        let path = DumpPath::parse(file.name.strip_suffix(".csv").expect("a table"));
        let text = std::str::from_utf8(&file.bytes).expect("UTF-8");
        let line = |line: &str| line.split(',').map(str::to_owned).collect::<Vec<_>>();
        ((path.index, path.op_name), text.lines().map(line).collect())
    };
    let tables: BTreeMap<_, _> = files.iter().map(table).collect();
    assert_eq!(tables.len(), files.len(), "each operator of a run has one table");
    tables
}

#[test]
fn statistics_are_those_of_the_tensors() {
    let all_outputs = Selection { io: IoSelection::Outputs, ..Selection::default() };
    let expected = Content::expected(MODEL, 1, &[&[INPUT], &[INPUT]], all_outputs);
    let check = |files: &[Stream]| {
        let tables = tables(files);
        assert_eq!(tables.len(), expected.0.len());
        for ((_, run, operator, _, slot), (dtype, shape, bytes)) in &expected.0 {
            let lines = &tables[&(*run, operator.replace('/', "_"))];
            assert_eq!(lines.len(), 2);
            let shape = shape.iter().map(usize::to_string).collect::<Vec<_>>().join("x");
            let facts = ["Output", &slot.to_string(), &bytes.len().to_string(), "DT_FLOAT", "ND", &shape];
            assert_eq!(lines[1][..6], facts);
            assert_eq!(*dtype, DType::F32);
            let numbers = bytes.chunks_exact(4).map(|four| f32::from_le_bytes(four.try_into().expect("four bytes")));
            let numbers: Vec<f64> = numbers.map(f64::from).collect();
            let (max, min) =
                (numbers.iter().copied().fold(f64::MIN, f64::max), numbers.iter().copied().fold(f64::MAX, f64::min));
            let avg = numbers.iter().sum::<f64>() / numbers.len() as f64;
            let said: Vec<f64> = lines[1][6..9].iter().map(|number| number.parse().expect("a number")).collect();
            assert_eq!((said[0], said[1]), (max, min), "{operator}");
            assert!((said[2] - avg).abs() <= 1e-6 * avg.abs().max(1.0), "{operator}: {} is not {avg}", said[2]);
            assert_eq!(lines[1][9..], [&*numbers.len().to_string(), "0", "0", "0"]);
        }
    };
    let keys = r#""dump_list": [{}], "dump_data": "stats""#;
    called(&format!("{LOAD} {RUN} {RUN}"), &section(keys)).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        check(&played.streams);
    });
    let steps = format!("init=acl.json {LOAD} {RUN} {RUN} finalize");
    Scene::new(&steps).dumps("acl.json", &section(keys)).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        check(&on_disk(played));
    });
    // The keys select the same as for tensors.
    let keys = r#""dump_list": [{"layer": ["/Softmax"]}], "dump_data": "stats", "dump_mode": "all", "dump_step": "1""#;
    called(&format!("{LOAD} {RUN} {RUN}"), &section(keys)).play(|played| {
        let tables = tables(&played.streams);
        assert_eq!(tables.keys().collect::<Vec<_>>(), [&(0, "_Softmax".to_owned())]);
        let sides: Vec<&str> = tables.values().flatten().map(|line| &*line[0]).collect();
        assert_eq!(sides, ["Input/Output", "Input", "Output"]);
    });
}

#[test]
fn operators_that_overflowed_are_dumped_with_what_they_read_and_wrote() {
    let directory = TempDir::new().expect("a directory");
    let mut image = fs::read(models().join(INPUT)).expect("an image");
    let end = image.len();
    image[end - 4..].copy_from_slice(&f32::INFINITY.to_le_bytes());
    let path = directory.path().join("infinite.npy");
    fs::write(&path, image).expect("an image");
    let path = path.to_str().expect("UTF-8");

    let whole = Content::expected(MODEL, 1, &[&[INPUT], &[path]], all(&[]));
    let has_overflowed = |bytes: &[u8]| {
        bytes.chunks_exact(4).any(|four| !f32::from_le_bytes(four.try_into().expect("four bytes")).is_finite())
    };
    let overflowed: BTreeSet<String> = whole
        .0
        .iter()
        .filter(|((_, _, _, io, _), (_, _, bytes))| *io == Io::Output && has_overflowed(bytes))
        .map(|((_, run, operator, ..), _)| {
            assert_eq!(*run, 1);
            operator.clone()
        })
        .collect();
    assert!(!overflowed.is_empty());
    // The overflow is in the only run that is dumped.
    let expected = whole.0.into_iter().filter(|((_, run, operator, ..), _)| *run == 1 && overflowed.contains(operator));
    let expected =
        Content(expected.map(|((id, _, operator, io, slot), value)| ((id, 0, operator, io, slot), value)).collect());
    let check = |files: &[Stream]| {
        let is_said = |file: &&Stream| file.name.contains("/Opdebug.Node_OpDebug.");
        let (said, tensors): (Vec<&Stream>, Vec<&Stream>) = files.iter().partition(is_said);
        let tensors: Vec<Stream> = tensors.into_iter().cloned().collect();
        Content::of(&tensors).is(&expected);
        let tasks =
            |files: Vec<&Stream>| files.iter().map(|file| DumpPath::parse(&file.name).task).collect::<BTreeSet<_>>();
        assert_eq!(tasks(said), tasks(tensors.iter().collect()));
    };
    // The mode is that of the overflow, whatever the file says.
    for keys in [r#""dump_debug": "on""#, r#""dump_list": [{}], "dump_debug": "on", "dump_mode": "output""#] {
        let steps = format!("{LOAD} {RUN} run=0,{path}");
        called(&steps, &section(keys)).play(|played| {
            assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
            check(&played.streams);
        });
        let steps = format!("init=acl.json {steps} finalize");
        Scene::new(&steps).dumps("acl.json", &section(keys)).play(|played| check(&on_disk(played)));
    }
}
