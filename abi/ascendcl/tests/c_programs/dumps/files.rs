//! Dumps on the disk, which are written if the program has no callback.

use super::scene::{Played, Scene};
use super::streams::{Content, DumpPath, Stream};

const RUN: &str = "run=0,MODELS/digits_cnn.input.image.npy";
const LOAD: &str = "load=0,MODELS/digits_cnn.onnx";
const ALL_OUTPUTS: &str = r#"{"dump_path": "dump", "dump_list": [{}]}"#;

fn digits(model_id: u32, runs: usize) -> Content {
    Content::outputs("digits_cnn.onnx", model_id, &vec![&["digits_cnn.input.image.npy"][..]; runs])
}

fn tokens(model_id: u32) -> Content {
    Content::outputs("token_classifier.onnx", model_id, &[&["token_classifier.input.input_ids.npy"]])
}

fn scene(steps: &[&str]) -> Scene {
    Scene::new(&steps.join(" ")).dumps("acl.json", ALL_OUTPUTS)
}

/// Returns the files under a directory, by their paths, which begin with the directory as the program passed it.
fn files(played: &Played, below: &str) -> Vec<Stream> {
    let named = |file: Stream| Stream { name: format!("{below}/{}", file.name), ..file };
    played.files(below).into_iter().map(named).collect()
}

#[test]
fn files_are_where_the_format_has_them() {
    scene(&["init=acl.json", "path=4", "path=5", LOAD, RUN, RUN, "finalize"]).play(|played| {
        assert_eq!(played.stderr, "");
        let files = files(played, "dump");
        Content::of(&files).is(&digits(1, 2));
        let DumpPath { root, time, .. } = DumpPath::parse(&files[0].name);
        assert_eq!((played.stdout.as_str(), &*root), (&*format!("path 4: dump/{time}\npath 5: dump/{time}\n"), "dump"));
        assert!(files.iter().all(|file| DumpPath::parse(&file.name).time == time));
        assert!(played.streams.is_empty());
    });
}

#[test]
fn the_path_of_a_dump_is_told_whenever_one_is_configured() {
    let told = |section: &str| {
        let steps = ["init", "initdump", "setdump=acl.json", "path=4", "path=5", "finalizedump", "finalize"];
        let paths = std::cell::RefCell::new(Vec::new());
        Scene::new(&steps.join(" ")).dumps("acl.json", section).play(|played| {
            *paths.borrow_mut() =
                played.stdout.lines().filter_map(|line| line.strip_prefix("path ")).map(str::to_owned).collect();
        });
        paths.into_inner()
    };
    for section in [
        r#"{"dump_path": "dump", "dump_list": [], "dump_op_switch": "on"}"#,
        r#"{"dump_path": "dump", "dump_op_switch": "on"}"#,
        r#"{"dump_path": "dump", "dump_debug": "on"}"#,
        ALL_OUTPUTS,
    ] {
        let paths = told(section);
        assert!(paths.len() == 2 && paths.iter().all(|path| path[3..].starts_with("dump/20")), "{section}: {paths:?}");
    }
    assert_eq!(told(r#"{"dump_path": "dump", "dump_list": []}"#), ["4: NULL", "5: NULL"]);
}

#[test]
fn the_directory_of_exceptions_is_told_where_a_scene_of_theirs_is_configured() {
    let off = "exceptions: 500001 EP0008: the dump of exceptions is not on: a dump_scene of exceptions in the file switches it on\n";
    let scene = |steps: &str, section: &str| Scene::new(steps).dumps("acl.json", section);
    scene("init=acl.json exceptions finalize", ALL_OUTPUTS).prints(off);
    let norm = r#"{"dump_path": "dump", "dump_scene": "aic_err_norm_dump"}"#;
    for steps in
        ["init=acl.json exceptions path=1 finalize", "init initdump setdump=acl.json exceptions path=1 finalize"]
    {
        scene(steps, norm).play(|played| {
            let told = "exceptions: dump/extra-info/data-dump/0/\npath 1: dump/extra-info/data-dump/\n";
            assert_eq!(played.stdout, told, "{steps}: {}", played.stderr);
            assert!(played.directory.path().join("dump/extra-info/data-dump/0").is_dir());
        });
    }
    // The file has no path, and a variable has another one.
    let lite = r#"{"dump_scene": "lite_exception"}"#;
    scene("init=acl.json exceptions finalize", lite).prints("exceptions: ./extra-info/data-dump/0/\n");
    let other = scene("init=acl.json exceptions finalize", norm).variable("ASCEND_DUMP_PATH", "other");
    other.prints("exceptions: other/extra-info/data-dump/0/\n");
    // The dump ends with the library, and with another configuration.
    scene("init=acl.json finalize exceptions", norm).prints(off);
    let both = scene("init=acl.json initdump setdump=other.json exceptions finalize", norm);
    both.dumps("other.json", ALL_OUTPUTS).play(|played| assert!(played.stdout.ends_with(off), "{}", played.stdout));
}

#[test]
fn two_models_are_dumped_with_settings_of_their_own() {
    let f = ["init", "initdump", "setdump=acl.json", LOAD, RUN, "finalizedump", "unload=0"];
    let second = [
        "initdump",
        "setdump=other.json",
        "load=1,MODELS/token_classifier.onnx",
        "run=1,MODELS/token_classifier.input.input_ids.npy",
        "finalizedump",
        "unload=1",
        "finalize",
    ];
    let other = r#"{"dump_path": "./other/", "dump_list": [{"model_name": "token_classifier"}]}"#;
    scene(&[&f[..], &second].concat()).dumps("other.json", other).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        Content::of(&files(played, "dump")).is(&digits(1, 1));
        Content::of(&files(played, "other")).is(&tokens(2));
    });
}

#[test]
fn a_model_is_dumped_until_the_dump_ends() {
    let g = ["init", "initdump", "setdump=acl.json", LOAD, RUN, "finalizedump", RUN, "unload=0", LOAD, RUN, "finalize"];
    scene(&g).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        Content::of(&files(played, "dump")).is(&digits(1, 1));
    });
}

#[test]
fn dumps_within_one_second_share_a_directory() {
    let one = ["initdump", "setdump=acl.json", LOAD, RUN, "finalizedump", "unload=0"];
    scene(&[&["init"][..], &one, &one, &one, &["finalize"]].concat()).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        Content::of(&files(played, "dump")).is(&digits(1, 1).and(digits(2, 1)).and(digits(3, 1)));
    });
}

#[test]
fn the_disk_gets_what_no_callback_gets() {
    let steps = ["init=acl.json", LOAD, RUN, "reg", RUN, RUN, "unreg", RUN, "reg", RUN, "unreg", RUN, "finalize"];
    scene(&steps).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        let indices = |streams: &[Stream]| {
            let mut all: Vec<usize> = streams.iter().map(|file| DumpPath::parse(&file.name).index).collect();
            all.dedup();
            all
        };
        assert_eq!(indices(&played.streams), [1, 2, 4]);
        assert_eq!(indices(&files(played, "dump")), [0, 3, 5]);
        played.content().and(Content::of(&files(played, "dump"))).is(&digits(1, 6));
    });
}

#[test]
fn what_waits_when_the_process_ends_without_an_end_is_written() {
    // Each byte is a piece, so that the disk does not keep up.
    scene(&["init=acl.json", "piece=1", LOAD, RUN]).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        Content::of(&files(played, "dump")).is(&digits(1, 1));
    });
}

#[test]
fn names_that_are_too_long_for_a_file_are_in_a_table() {
    let steps =
        ["init=acl.json", "load=0,MODELS/fixtures/long_names.onnx", "run=0,MODELS/fixtures/long_names.input.x.npy"];
    let model = "fixtures/long_names.onnx";
    let expected = Content::outputs(model, 1, &[&["fixtures/long_names.input.x.npy"]]);
    scene(&[&steps[..], &["reg", steps[2], "finalize"]].concat()).shapes("x:3").play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        // The callback receives the names unchanged.
        assert!(played.streams.iter().all(|stream| stream.name.len() > 400));
        let (table, files): (Vec<Stream>, Vec<Stream>) =
            files(played, "dump").into_iter().partition(|file| file.name.ends_with("/mapping.csv"));
        assert_eq!(table.len(), 1);
        let table = std::str::from_utf8(&table[0].bytes).expect("UTF-8");
        let rows: Vec<(&str, &str)> = table.lines().map(|row| row.split_once(',').expect("two columns")).collect();
        assert_eq!(rows.len(), files.len());
        let named: Vec<Stream> = files
            .into_iter()
            .map(|file| {
                let (directory, name) = file.name.rsplit_once('/').expect("a directory");
                assert!(name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_digit()), "{name}");
                let full = rows.iter().find(|row| row.0 == name).expect("a row").1;
                Stream { name: format!("{directory}/{full}"), ..file }
            })
            .collect();
        Content::of(&named).is(&expected);
    });
}

#[test]
fn a_directory_that_cannot_be_made_is_said_and_the_run_goes_on() {
    scene(&["init=acl.json", "block", LOAD, RUN, RUN, "finalize"]).play(|played| {
        // This is reported once, not for every file.
        assert_eq!(played.stderr.lines().count(), 1, "{}", played.stderr);
        assert!(played.stderr.contains(" cannot be written: "), "{}", played.stderr);
        let said = played.stdout.strip_prefix("finalize: 0 EE1001: the dump is not complete: dump/");
        assert!(said.is_some_and(|said| said.contains(" cannot be written: ")), "{}", played.stdout);
    });
}

#[test]
fn a_disk_that_is_full_is_said_and_the_run_goes_on() {
    let before = ["init", "initdump", "setdump=acl.json", "piece=256", LOAD];
    // The report waits until everything of the first run went to the disk.
    let runs = ["limit=2000", RUN, "report", "limit=none", RUN, "finalizedump", "finalize"];
    scene(&[&before[..], &runs].concat()).play(|played| {
        assert_eq!(played.stderr.lines().count(), 1, "{}", played.stderr);
        let (_, said) = played.stdout.split_once('\n').expect("a line of the report");
        let said = said.strip_prefix("finalizedump: 0 EE1001: the dump is not complete: dump/");
        assert!(said.is_some_and(|said| said.contains("File too large")), "{}", played.stdout);
        // A file with its final name is complete. The second run had enough space.
        let (parts, whole): (Vec<Stream>, Vec<Stream>) =
            files(played, "dump").into_iter().partition(|file| file.name.ends_with(".partial"));
        assert!(!parts.is_empty() && parts.iter().all(|part| part.bytes.len() <= 2000));
        let (got, expected) = (Content::of(&whole), digits(1, 2));
        assert_eq!(got.0.len() + parts.len(), expected.0.len());
        for (place, value) in &expected.0 {
            assert!(got.0.get(place).is_none_or(|got| got == value), "{place:?} differs");
            assert!(place.1 == 0 || got.0.contains_key(place), "{place:?} is missing");
        }
    });
}

#[test]
fn a_dump_that_ends_early_is_said_and_the_run_goes_on() {
    // The tensors of one operator have more bytes than may wait in memory.
    let section = r#"{"dump_path": "dump", "dump_list": [{}], "dump_mode": "all"}"#;
    let steps = "init=acl.json reg load=0,MODELS/digits_cnn.onnx run=0,images run=0,images unreg finalize";
    let scene = Scene::new(steps).dumps("acl.json", section).shapes("image:3000,1,8,8");
    scene.with("images", vec![0; 3000 * 256]).variable("TMPDIR", "nowhere").play(|played| {
        let reason = "an operator's tensors wait for each other in nowhere, which cannot be written: ";
        let said = format!("libascendcl (opscope): the dump of model 1 ended early: {reason}");
        assert!(played.stderr.starts_with(&said) && played.stderr.lines().count() == 1, "{}", played.stderr);
        let told = format!("finalize: 0 EE1001: the dump is not complete: {reason}");
        assert!(played.stdout.starts_with(&told) && played.stdout.lines().count() == 1, "{}", played.stdout);
    });
}

/// A model of two operators, of which the first has this name.
fn named(name: &str) -> Vec<u8> {
    let varint = |mut value: usize| {
        let mut bytes = Vec::new();
        while value >= 128 {
            bytes.push(value as u8 | 128);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let number = |field: u8, value: usize| [vec![field << 3], varint(value)].concat();
    let bytes = |field: u8, value: &[u8]| [vec![field << 3 | 2], varint(value.len()), value.to_vec()].concat();
    let float = [number(1, 1), bytes(2, &bytes(1, &number(1, 3)))].concat();
    let value = |name: &str| [bytes(1, name.as_bytes()), bytes(2, &bytes(1, &float))].concat();
    let operator = |input: &str, output: &str, name: &str, of: &str| {
        let parts = [(1, input), (2, output), (3, name), (4, of)];
        parts.map(|(field, text)| bytes(field, text.as_bytes())).concat()
    };
    let operators =
        [operator("x", "between", name, "Relu"), operator("between", "y", "second", "Neg")].map(|one| bytes(1, &one));
    let ends = [bytes(2, b"named"), bytes(11, &value("x")), bytes(12, &value("y"))];
    let graph = [operators.concat(), ends.concat()].concat();
    [number(1, 8), bytes(7, &graph), bytes(8, &[bytes(1, b""), number(2, 17)].concat())].concat()
}

#[test]
fn names_that_are_too_long_for_a_chunk_are_digits() {
    let name = "n".repeat(5000);
    let directory = tempfile::TempDir::new().expect("a directory");
    let path = directory.path().join("named.onnx");
    std::fs::write(&path, named(&name)).expect("a model");
    let path = path.to_str().expect("UTF-8");
    let run = "run=0,MODELS/fixtures/long_names.input.x.npy";
    let load = format!("load=0,{path}");
    let expected = Content::outputs(path, 1, &[&["fixtures/long_names.input.x.npy"]]);
    assert_eq!(expected.0.len(), 2);
    let whole = |files: &[Stream]| {
        let mut content = Content::default();
        for file in files {
            content.add(1, 0, &file.bytes);
        }
        content
    };
    scene(&["init=acl.json", "reg", &load, run, "unreg", "finalize"]).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        let names: Vec<&str> = played.streams.iter().filter_map(|stream| stream.name.rsplit('/').next()).collect();
        assert!(names[0].len() == 32 && names[0].bytes().all(|byte| byte.is_ascii_digit()), "{names:?}");
        assert!(names[1].starts_with("Neg.second.2."), "{names:?}");
        whole(&played.streams).is(&expected);
    });
    // On the disk, the table contains the full name.
    scene(&["init=acl.json", &load, run, "finalize"]).play(|played| {
        assert_eq!((&*played.stdout, &*played.stderr), ("", ""));
        let (table, files): (Vec<Stream>, Vec<Stream>) =
            files(played, "dump").into_iter().partition(|file| file.name.ends_with("/mapping.csv"));
        assert!(std::str::from_utf8(&table[0].bytes).expect("UTF-8").contains(&format!(",Relu.{name}.1.")));
        whole(&files).is(&expected);
    });
}
