//! The orders in which programs call the dump functions, according to the manual. Each of them delivers every tensor.

use std::fs;

use opscope::dump::{IoSelection, Selection};
use tempfile::TempDir;

use super::scene::{Played, Scene};
use super::streams::{Content, DumpPath};

/// Steps that load the model of digits as the first model and run it, and the same steps for other models.
const DIGITS: [&str; 2] = ["load=0,MODELS/digits_cnn.onnx", "run=0,MODELS/digits_cnn.input.image.npy"];
const TOKENS: [&str; 2] = ["load=1,MODELS/token_classifier.onnx", "run=1,MODELS/token_classifier.input.input_ids.npy"];

fn digits(model_id: u32, runs: usize) -> Content {
    Content::outputs("digits_cnn.onnx", model_id, &vec![&["digits_cnn.input.image.npy"][..]; runs])
}

fn tokens(model_id: u32, runs: usize) -> Content {
    Content::outputs("token_classifier.onnx", model_id, &vec![&["token_classifier.input.input_ids.npy"][..]; runs])
}

fn transformer(model_id: u32) -> Content {
    Content::outputs("tiny_transformer.onnx", model_id, &[&["tiny_transformer.input.hidden_states.npy"]])
}

/// Joins steps.
fn steps(parts: &[&str]) -> Scene {
    Scene::new(&parts.join(" "))
}

/// Checks that the callback received these tensors, that it had all of them when the step `files` was reached, and that
/// nothing is on the disk.
#[track_caller]
fn delivered(scene: Scene, expected: &Content) {
    scene.play(|played| {
        let files = played.streams.len();
        assert_eq!(played.stdout, format!("{files} of {files} files are whole\n"), "{}", played.stderr);
        assert_eq!(played.stderr, "");
        played.content().is(expected);
        nothing_on_disk(played);
    });
}

#[track_caller]
fn nothing_on_disk(played: &Played) {
    let files: Vec<_> = played.files("").into_iter().filter(|file| file.name.starts_with("dump/")).collect();
    assert!(files.is_empty(), "{files:?}");
}

#[test]
fn a_callback_gets_everything_in_the_order_of_its_own_page() {
    let [load, run] = DIGITS;
    let a = ["init", "initdump", "reg", load, run, "unreg", "files", "finalizedump", "unload=0", "finalize"];
    delivered(steps(&a), &digits(1, 1));
}

/// Checks that a program for a product registers a callback, which receives every tensor, and that another flag is
/// refused.
fn has_the_function(product: &'static str) {
    let [load, run] = DIGITS;
    let all = ["init", "soc", "initdump", "regflag=1", "reg", load, run, "unreg", "files", "finalizedump", "finalize"];
    steps(&all).variable("OPSCOPE_SOC_NAME", product).play(|played| {
        let files = played.streams.len();
        let lines: Vec<&str> = played.stdout.lines().collect();
        let [soc, refused, whole] = lines[..] else { panic!("{}", played.stdout) };
        assert_eq!((soc, files), (&*format!("soc: {product}"), 16));
        assert!(refused.starts_with("regflag: 500001 EP0006"), "{refused}");
        assert_eq!(whole, format!("{files} of {files} files are whole"));
        played.content().is(&digits(1, 1));
    });
}

#[test]
fn a_program_on_an_a2_product_registers_a_callback_that_gets_every_tensor() {
    ["Ascend910B1", "Ascend910B3", "Ascend910B4"].into_iter().for_each(has_the_function);
}

#[test]
fn a_program_on_an_a3_product_registers_a_callback_that_gets_every_tensor() {
    ["Ascend910_9391", "Ascend910_9392"].into_iter().for_each(has_the_function);
}

#[test]
fn a_callback_gets_everything_in_the_order_of_the_other_pages() {
    let [load, run] = DIGITS;
    let b = ["init", "reg", "initdump", load, run, "finalizedump", "files", "unreg", "unload=0", "finalize"];
    delivered(steps(&b), &digits(1, 1));
}

#[test]
fn a_callback_gets_what_the_configuration_of_init_asks_for_and_the_disk_nothing() {
    let [load, run] = DIGITS;
    let c = ["init=acl.json", "reg", load, run, "unreg", "files", "unload=0", "finalize"];
    let section = r#"{"dump_path": "dump", "dump_list": [{}], "dump_mode": "all"}"#;
    let all = Selection { io: IoSelection::All, ..Selection::default() };
    let expected = Content::expected("digits_cnn.onnx", 1, &[&["digits_cnn.input.image.npy"]], all);
    delivered(steps(&c).dumps("acl.json", section), &expected);
}

#[test]
fn a_callback_gets_two_models_in_the_order_of_its_own_page() {
    let [load, run] = DIGITS;
    let [other, run_other] = TOKENS;
    let d = ["init", "initdump", "reg", load, run, other, run_other, "unreg", "files", "finalizedump"];
    let end = ["unload=0", "unload=1", "finalize"];
    delivered(steps(&[&d[..], &end].concat()), &digits(1, 1).and(tokens(2, 1)));
}

#[test]
fn a_callback_gets_two_models_that_are_unloaded_before_it_is_taken_back() {
    let [load, run] = DIGITS;
    let [other, run_other] = TOKENS;
    // The callback is slow, so that chunks are waiting when the models are unloaded.
    let e =
        ["init", "reg", "initdump", "slow=2", load, run, other, run_other, "unload=0", "unload=1", "unreg", "files"];
    delivered(steps(&[&e[..], &["finalizedump", "finalize"]].concat()), &digits(1, 1).and(tokens(2, 1)));
    let e = ["init", "reg", "initdump", "slow=2", load, run, other, run_other, "finalizedump", "unload=0", "unload=1"];
    delivered(steps(&[&e[..], &["unreg", "files", "finalize"]].concat()), &digits(1, 1).and(tokens(2, 1)));
}

#[test]
fn finalizing_the_library_delivers_what_waits() {
    let [load, run] = DIGITS;
    delivered(steps(&["init", "initdump", "reg", "slow=2", load, run, "finalize", "files"]), &digits(1, 1));
    // This also includes runs that are still waiting in their streams.
    let start = run.replace("run=", "start=");
    delivered(steps(&["init", "initdump", "reg", "slow=2", load, &start, "finalize", "files"]), &digits(1, 1));
}

#[test]
fn the_steps_of_a_tool_that_sets_its_configuration_before_its_callback() {
    let [load, run] = TOKENS;
    let h = ["init", "initdump", "setdump=acl.json", "reg", load, run, "finalizedump", "files"];
    let section = r#"{"dump_path": "./dump", "dump_list": [{"model_name": "token_classifier"}]}"#;
    delivered(steps(&h).dumps("acl.json", section), &tokens(1, 1));
}

#[test]
fn several_runs_have_an_index_each_and_every_model_its_number() {
    let [load, run] = DIGITS;
    let [other, run_other] = TOKENS;
    let a = ["init", "initdump", "reg", load, other, run, run_other, run_other, run, run, "unreg", "files"];
    delivered(steps(&a), &digits(1, 3).and(tokens(2, 2)));
    // The same file again is another model.
    let a = ["init", "initdump", "reg", load, run, "unload=0", load, run, "unreg", "files"];
    delivered(steps(&a), &digits(1, 1).and(digits(2, 1)));
}

#[test]
fn models_that_run_at_the_same_time_do_not_mix() {
    let starts = [DIGITS[1], TOKENS[1], "run=2,MODELS/tiny_transformer.input.hidden_states.npy"]
        .map(|run| run.replace("run=", "start="));
    let [digits_run, tokens_run, transformer_run] = &starts;
    let parts = ["init", "piece=64", "initdump", "reg", DIGITS[0], TOKENS[0], "load=2,MODELS/tiny_transformer.onnx"];
    let runs: [&str; 7] = [transformer_run, digits_run, tokens_run, "wait", "finalizedump", "unreg", "files"];
    let expected = digits(1, 1).and(tokens(2, 1)).and(transformer(3));
    delivered(steps(&[&parts[..], &runs].concat()), &expected);
    // Nor on the disk.
    let parts = ["init=acl.json", "piece=64", DIGITS[0], TOKENS[0], "load=2,MODELS/tiny_transformer.onnx"];
    let scene = steps(&[&parts[..], &runs[..4], &["finalize"]].concat());
    let section = r#"{"dump_path": "dump", "dump_list": [{}]}"#;
    scene.dumps("acl.json", section).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        Content::of(&played.files("dump")).is(&expected);
    });
}

#[test]
fn chunks_of_any_size_make_the_same_streams() {
    let [load, run] = DIGITS;
    let [other, run_other] = TOKENS;
    let section = r#"{"dump_path": "dump", "dump_list": [{}], "dump_mode": "all"}"#;
    let all = || Selection { io: IoSelection::All, ..Selection::default() };
    let of = |model, id, input| Content::expected(model, id, &[&[input]], all());
    let expected = of("digits_cnn.onnx", 1, "digits_cnn.input.image.npy").and(of(
        "token_classifier.onnx",
        2,
        "token_classifier.input.input_ids.npy",
    ));
    for piece in ["piece=37", "piece=1048576", "piece=134217728"] {
        let a = [piece, "init=acl.json", "reg", load, other, run, run_other, "unreg", "files", "finalize"];
        delivered(steps(&a).dumps("acl.json", section), &expected);
    }
}

#[test]
fn paths_are_those_of_the_format() {
    let [load, run] = TOKENS;
    // The second run has its own stream.
    let start = run.replace("run=", "start=");
    let a = ["init", "initdump", "setdump=acl.json", "path=4", "reg", load, run, &start, "wait", "unreg", "finalize"];
    let scene = steps(&a).dumps("acl.json", r#"{"dump_path": "./dump", "dump_list": [{}]}"#);
    scene.play(|played| {
        let root = played.stdout.strip_prefix("path 4: ").expect("a path").trim_end();
        let graph =
            opscope::onnx::Graph::load(&opscope_c_programs::models().join("token_classifier.onnx")).expect("a model");
        let paths: Vec<DumpPath> = played.streams.iter().map(|stream| DumpPath::parse(&stream.name)).collect();
        let streams: Vec<u64> = [0, 1]
            .map(|index| {
                let mut streams: Vec<u64> =
                    paths.iter().filter(|path| path.index == index).map(|path| path.stream).collect();
                streams.dedup();
                assert_eq!(streams.len(), 1);
                streams[0]
            })
            .to_vec();
        assert_ne!(streams[0], streams[1]);
        let plain = |text: &str| text.replace([' ', '.', '/', '\\'], "_");
        for (path, stream) in paths.iter().zip(&played.streams) {
            assert!(stream.name.starts_with(&format!("{root}/")), "{}", stream.name);
            assert_eq!(path.root, "./dump");
            assert_eq!((&*path.device, &*path.model, path.model_id), ("0", "token_classifier", 1));
            let operator = &graph.operators[path.task as usize - 1];
            assert_eq!((&path.op_type, &path.op_name), (&plain(&operator.op_type), &plain(&operator.name)));
            let year_2020 = 1_577_836_800_000_000;
            assert!(path.microseconds > year_2020);
        }
    });
}

#[test]
fn a_model_is_dumped_by_the_settings_of_the_moment_when_it_is_loaded() {
    let [load, run] = DIGITS;
    let [other, run_other] = TOKENS;
    // This model was loaded before the dump began.
    let early = ["init", load, "initdump", "reg", other, run, run_other, "unreg", "files"];
    delivered(steps(&early), &tokens(2, 1));
    // This one ends with the dump, although the model stays loaded.
    let late = ["init", "initdump", "reg", load, run, "finalizedump", run, "unreg", "files"];
    delivered(steps(&late), &digits(1, 1));
    // A model that was loaded before a configuration keeps its previous one.
    let between = ["init", "initdump", "reg", load, "setdump=none.json", other, run, run_other, "unreg", "files"];
    let none = r#"{"dump_path": "dump", "dump_list": []}"#;
    delivered(steps(&between).dumps("none.json", none), &digits(1, 1));
    // Without a callback and without a path, nothing is dumped.
    Scene::new(&["init", "initdump", load, run, "path=4", "finalizedump", "finalize"].join(" ")).play(|played| {
        assert_eq!(played.stdout, "path 4: NULL\n");
        let files = played.files("");
        assert_eq!(files.len(), 1, "{files:?}");
    });
}

#[test]
fn a_run_that_fails_is_told_and_the_next_one_is_dumped() {
    let directory = TempDir::new().expect("a directory");
    let mut ids = fs::read(opscope_c_programs::models().join("token_classifier.input.input_ids.npy")).expect("ids");
    let end = ids.len();
    // No token has this number.
    ids[end - 8..].copy_from_slice(&1_000_000_i64.to_le_bytes());
    let path = directory.path().join("ids.npy");
    fs::write(&path, ids).expect("ids");
    let [load, run] = TOKENS;
    let fails = format!("run=1,{}", path.display());
    let section = r#"{"dump_path": "dump", "dump_list": [{}]}"#;
    let parts = ["init=acl.json", "reg", load, run, &fails, run, "unreg", "finalize", "report"];
    steps(&parts).dumps("acl.json", section).play(|played| {
        assert_eq!(played.stderr, "");
        let lines: Vec<&str> = played.stdout.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("run: 507011 E13025: "), "{}", lines[0]);
        assert!(lines[1].starts_with("finalize: 0 EE1001: the dump is not complete: run 1 failed: "), "{}", lines[1]);
        assert_eq!(lines[2], format!("{} files, 0 incomplete, 0 chunks lost", played.streams.len()));
        // The run failed in the first operator, and nothing was dumped.
        played.content().is(&tokens(1, 2));
    });
}
