//! Wrong calls and wrong files. Each is refused with its code, and with a text that begins like the message.

use std::fmt::Write;

use super::scene::Scene;

const SETTINGS: &str = r#"{"dump_path": "dump", "dump_list": [{}]}"#;

/// Executes steps. They must print as many lines as expected, and each must begin with the expected text.
#[track_caller]
fn says(scene: Scene, expected: &[&str]) {
    scene.play(|played| {
        assert_eq!(played.stderr, "");
        let lines: Vec<&str> = played.stdout.lines().collect();
        assert_eq!(lines.len(), expected.len(), "{}", played.stdout);
        for (line, expected) in lines.iter().zip(expected) {
            assert!(line.starts_with(expected), "{line}\nis not\n{expected}");
        }
    });
}

#[test]
fn calls_out_of_their_order_have_their_codes() {
    let before = ["initdump: 100001 EP0008: ", "setdump: 100001 EP0008: ", "finalizedump: 100001 EP0008: "];
    let never = ["finalize: 100037 EP0008: ", "finalizeref: 100037 EP0008: "];
    says(Scene::new("initdump setdump=acl.json finalizedump finalize finalizeref"), &[&before[..], &never].concat());
    let undumped = ["setdump: 100045 EP0008: ", "finalizedump: 100045 EP0008: "];
    let ended = Scene::new("init setdump=acl.json finalizedump finalize finalize initdump");
    says(ended, &[&undumped[..], &[never[0], before[0]]].concat());
    let twice = Scene::new("init initdump initdump finalizedump initdump finalizedump finalizedump");
    says(twice, &["initdump: 100002 EP0008: ", undumped[1]]);
    says(Scene::new("init initdump setdump"), &["setdump: 100000 EH0002: "]);
    // The end of the library ends the dump.
    let again = Scene::new("init initdump finalize init setdump=acl.json initdump setdump=acl.json finalize");
    says(again.dumps("acl.json", SETTINGS), &[undumped[0]]);
}

#[test]
fn init_counts_its_calls_and_keeps_its_first_file() {
    let scene = |steps| Scene::new(steps).dumps("acl.json", SETTINGS).dumps("same.json", SETTINGS).with("{}", "{}");
    let twice = "init: 100002 EP0008: ";
    says(
        scene("init=acl.json init init=same.json init=acl.json finalize finalize"),
        &[twice, twice, twice, "finalize: 100037 EP0008: "],
    );
    // Another file, or one that cannot be read, has no effect.
    let other =
        "init: 100002 EP0008: aclInit was called already; this call counts, and its configuration, another one, ";
    says(
        scene("init=acl.json init={} finalizeref finalizeref init={}"),
        &[other, "finalizeref: 1 ", "finalizeref: 0 "],
    );
    says(scene("init init=acl.json init=none.json path=4 finalize path=4"), &[other, other, "path 4: N", "path 4: N"]);
    let (left, none, ended) = ("finalizeref: 1 left", "finalizeref: 0 left", "finalizeref: 100037 EP0008: ");
    says(scene("init init finalizeref finalizeref finalizeref"), &[twice, left, none, ended]);
    says(scene("init init finalizeref0 finalizeref0 init finalizeref"), &[twice, none]);
    says(scene("init= finalize init finalize"), &[]);
}

#[test]
fn an_init_that_failed_does_not_count() {
    let scene = Scene::new("init=none.json finalize init=bad.json finalize init finalize").with("bad.json", "{");
    let never = "finalize: 100037 EP0008: ";
    says(scene, &["init: 100003 EH0003: ", never, "init: 100006 EP0004: ", never]);
}

#[test]
fn callbacks_are_registered_once_and_with_the_flag_0() {
    let (null, flag) = ("regnull: 500001 EP0007: ", "regflag: 500001 EP0006: ");
    says(Scene::new("regnull=0 regnull=1 regflag=1 regflag=-1"), &[null, null, flag, flag]);
    says(Scene::new("reg again unreg unreg reg unreg"), &["again: 0 EP0008: ", "unreg: 0 EP0008: "]);
    // The first one stays.
    let run = "load=0,MODELS/digits_cnn.onnx run=0,MODELS/digits_cnn.input.image.npy";
    let steps = format!("init initdump reg again {run} unreg files");
    says(Scene::new(&steps), &["again: 0 EP0008: ", "16 of 16 files are whole"]);
}

#[test]
fn files_that_cannot_be_read_have_their_codes() {
    let path = "EH0003: path";
    let of_file = |name: &str| format!("init={name} init initdump setdump={name} finalize");
    for (name, content, code, text) in [
        ("none.json", None, 100_003, path),
        ("dump", None, 100_003, path),
        ("/dev/null", None, 100_003, path),
        ("large.json", Some(spaced(10 << 20, 1)), 100_003, path),
        ("empty.json", Some(Vec::new()), 100_006, "EP0004: "),
        ("text.json", Some(b"dump".to_vec()), 100_006, "EP0004: "),
        ("open.json", Some(br#"{"dump": {"#.to_vec()), 100_006, "EP0004: "),
        ("two.json", Some(b"{} {}".to_vec()), 100_006, "EP0004: "),
        ("latin.json", Some(b"{\"\xe9\": 1}".to_vec()), 100_006, "EP0004: "),
        ("objects.json", Some(nested("{\"a\":", "}", 11)), 100_006, "EP0004: "),
        ("arrays.json", Some(nested("[", "]", 11)), 100_006, "EP0004: "),
    ] {
        let scene = Scene::new(&of_file(name));
        let scene = if let Some(content) = content { scene.with(name, content) } else { scene };
        let [init, set] = ["init", "setdump"].map(|step| format!("{step}: {code} {text}"));
        says(scene, &[&init, &set]);
    }
    let scene = Scene::new("init=large.json finalize init=deep.json finalize init=marked.json finalize")
        .with("large.json", spaced(10 << 20, 0))
        .with("marked.json", "\u{feff}{}");
    says(scene.with("deep.json", nested("{\"a\":", "}", 10)), &[]);
}

/// A file without a dump section, with this many bytes and a few more.
fn spaced(size: usize, more: usize) -> Vec<u8> {
    let mut content = b"{}".to_vec();
    content.resize(size + more, b' ');
    content
}

/// Objects or arrays that are nested this deep. The outermost one is an object.
fn nested(open: &str, close: &str, depth: usize) -> Vec<u8> {
    let inside = format!("{}1{}", open.repeat(depth), close.repeat(depth));
    if open == "[" { format!("{{\"a\": {inside}}}") } else { inside }.into_bytes()
}

/// Sections that are refused, with the code of the message.
const REFUSED: &[(&str, &str)] = &[
    ("EP0001", r#""text""#),
    ("EP0001", r#"{"dump_list": [{}]}"#),
    ("EP0001", r#"{"dump_path": "", "dump_list": [{}]}"#),
    ("EP0001", r#"{"dump_path": 5, "dump_list": [{}]}"#),
    ("EP0001", r#"{"dump_path": "", "dump_scene": "watcher", "dump_list": [{"watcher_nodes": ["a"]}]}"#),
    ("EP0003", r#"{"dump_path": "none", "dump_list": [{}]}"#),
    ("EP0003", r#"{"dump_path": "none/none", "dump_list": [{}]}"#),
    ("EP0003", r#"{"dump_path": "acl.json", "dump_list": [{}]}"#),
    ("EP0003", r#"{"dump_path": "10.0.0.1:/dump", "dump_list": [{}]}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": {}}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": ["digits_cnn"]}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": [{"model_name": ""}]}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": [{"model_name": 1}]}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": [{"layer": []}]}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": [{"layer": "conv1"}]}"#),
    ("EP0005", r#"{"dump_path": "dump", "dump_list": [{"watcher_nodes": ["a"]}]}"#),
    ("EP0005", r#"{"dump_path": "dump", "dump_list": [{"opname_blacklist": [{"name": "a"}]}]}"#),
    ("EP0005", r#"{"dump_path": "dump", "dump_list": [{"optype_blacklist": [{"name": "a"}]}]}"#),
    (
        "EP0005",
        r#"{"dump_path": "dump", "dump_list": [{"model_name": "a", "opname_range": [{"begin": "a", "end": "b"}]}]}"#,
    ),
    (
        "EP0005",
        r#"{"dump_path": "dump", "dump_level": "op", "dump_list": [{"opname_range": [{"begin": "a", "end": "b"}]}]}"#,
    ),
    (
        "EP0001",
        r#"{"dump_path": "dump", "dump_level": "op", "dump_list": [{"model_name": "a", "opname_range": [{"begin": "a", "end": ""}]}]}"#,
    ),
    ("EP0002", r#"{"dump_path": "dump", "dump_list": [{}], "dump_mode": "inout"}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": [{}], "dump_mode": ["output"]}"#),
    ("EP0002", r#"{"dump_path": "dump", "dump_list": [{}], "dump_data": "statistics"}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": [{}], "dump_data": "stats", "dump_stats": []}"#),
    ("EP0002", r#"{"dump_path": "dump", "dump_list": [{}], "dump_data": "stats", "dump_stats": ["Median"]}"#),
    ("EP0005", r#"{"dump_path": "dump", "dump_list": [{}], "dump_stats": ["Max"]}"#),
    ("EP0005", r#"{"dump_path": "dump", "dump_list": [{}], "dump_data": "tensor", "dump_stats": ["Max"]}"#),
    ("EP0002", r#"{"dump_path": "dump", "dump_list": [{}], "dump_level": "layer"}"#),
    ("EP0002", r#"{"dump_path": "dump", "dump_list": [{}], "dump_op_switch": "yes"}"#),
    ("EP0002", r#"{"dump_path": "dump", "dump_list": [{}], "dump_debug": "yes"}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": [{}], "dump_debug": true}"#),
    ("EP0005", r#"{"dump_path": "dump", "dump_list": [{}], "dump_debug": "on", "dump_op_switch": "on"}"#),
    ("EP0002", r#"{"dump_path": "dump", "dump_list": [{}], "dump_scene": "exception"}"#),
    ("EP0005", r#"{"dump_path": "dump", "dump_debug": "on", "dump_scene": "aic_err_brief_dump"}"#),
    ("EP0005", r#"{"dump_path": "dump", "dump_op_switch": "on", "dump_scene": "lite_exception"}"#),
    (
        "EP0005",
        r#"{"dump_path": "dump", "dump_scene": "watcher", "dump_mode": "all", "dump_list": [{"watcher_nodes": ["a"]}]}"#,
    ),
    (
        "EP0005",
        r#"{"dump_path": "dump", "dump_scene": "watcher", "dump_list": [{"model_name": "a", "watcher_nodes": ["a"]}]}"#,
    ),
    ("EP0003", r#"{"dump_path": "dump", "dump_list": [{}], "dump_step": "first"}"#),
    ("EP0003", r#"{"dump_path": "dump", "dump_list": [{}], "dump_step": "5-3"}"#),
    ("EP0003", r#"{"dump_path": "dump", "dump_list": [{}], "dump_step": "1||2"}"#),
    ("EP0001", r#"{"dump_path": "dump", "dump_list": [{}], "dump_step": 1}"#),
    ("EP0002", r#"{"dump_path": "dump", "dump_list": [{}], "dump_kernel_data": "printf,all,none"}"#),
];

#[test]
fn every_rule_of_the_section_has_its_code() {
    let long = format!(r#"{{"dump_path": "./{}", "dump_list": [{{}}]}}"#, "/".repeat(511));
    let steps = (0..101).map(|step| step.to_string()).collect::<Vec<_>>().join("|");
    let steps = format!(r#"{{"dump_path": "dump", "dump_list": [{{}}], "dump_step": "{steps}"}}"#);
    let names = vec![r#"{"name": "a"}"#; 101].join(",");
    let names =
        format!(r#"{{"dump_path": "dump", "dump_level": "op", "dump_list": [{{"opname_blacklist": [{names}]}}]}}"#);
    let sections: Vec<(&str, &str)> =
        REFUSED.iter().copied().chain([("EP0003", &*long), ("EP0003", &*steps), ("EP0003", &*names)]).collect();
    // All of them are tried in one program, because a refused file changes nothing.
    let mut scene_steps = "init initdump setdump=acl.json path=4".to_owned();
    for (number, _) in sections.iter().enumerate() {
        write!(scene_steps, " setdump={number}.json").expect("a text");
    }
    let scene = Scene::new(&(scene_steps + " path=4")).dumps("acl.json", SETTINGS);
    let scene = sections
        .iter()
        .enumerate()
        .fold(scene, |scene, (number, (_, section))| scene.dumps(&format!("{number}.json"), section));
    scene.play(|played| {
        let lines: Vec<&str> = played.stdout.lines().collect();
        assert_eq!(lines.len(), sections.len() + 2, "{}", played.stdout);
        assert_eq!(lines.first(), lines.last());
        for (line, (code, section)) in lines[1..].iter().zip(&sections) {
            assert!(line.starts_with(&format!("setdump: 100009 {code}: /dump")), "{section}\nis\n{line}");
        }
    });
    // The same by the file of aclInit.
    for (code, section) in sections.iter().step_by(7) {
        let expected = format!("init: 100009 {code}: /dump");
        says(Scene::new("init=bad.json").dumps("bad.json", section), &[&expected]);
    }
}

#[test]
fn what_dumps_nothing_is_no_mistake() {
    let run = "load=0,MODELS/digits_cnn.onnx run=0,MODELS/digits_cnn.input.image.npy unload=0";
    for section in [
        r#"{"dump_path": "dump"}"#,
        r#"{"dump_path": "dump", "dump_list": []}"#,
        r#"{"dump_path": "dump", "dump_list": [{}], "dump_scene": "aic_err_brief_dump"}"#,
        r#"{"dump_scene": "lite_exception"}"#,
    ] {
        let steps = format!("init=acl.json path=4 initdump setdump=acl.json path=4 {run} finalize");
        Scene::new(&steps).dumps("acl.json", section).play(|played| {
            assert_eq!((&*played.stdout, &*played.stderr), ("path 4: NULL\npath 4: NULL\n", ""), "{section}");
            assert!(played.files("dump").is_empty());
        });
    }
}

#[test]
fn paths_are_those_of_the_last_configuration() {
    let other = r#"{"dump_path": "./other", "dump_list": [{}]}"#;
    let steps =
        "path=4 init path=4 initdump path=4 setdump=acl.json path=4 path=5 path=0 path=6 path=4 setdump=other.json
        path=4 finalizedump path=4 finalize path=4";
    Scene::new(steps).dumps("acl.json", SETTINGS).dumps("other.json", other).play(|played| {
        assert_eq!(played.stderr, "");
        let is_path = |line: &str, kind: u32, root: &str| {
            let time = line.strip_prefix(&format!("path {kind}: {root}/"));
            assert!(time.is_some_and(|time| time.len() == 14), "{line}");
        };
        let lines: Vec<&str> = played.stdout.lines().collect();
        assert_eq!(lines[..3], ["path 4: NULL"; 3]);
        is_path(lines[3], 4, "dump");
        is_path(lines[4], 5, "dump");
        assert_eq!(lines[5..7], ["path 0: NULL", "path 6: NULL"]);
        assert_eq!(lines[7], lines[3]);
        is_path(lines[8], 4, "./other");
        assert_eq!(lines[9], lines[8]);
        assert_eq!(lines[10..], ["path 4: NULL"]);
    });
}

#[test]
fn the_directory_for_exceptions_is_made() {
    Scene::new("path=1 path=2 path=3").play(|played| {
        let expected: String = (1..4).map(|kind| format!("path {kind}: ./extra-info/data-dump/\n")).collect();
        assert_eq!(played.stdout, expected);
        assert!(played.directory.path().join("extra-info/data-dump").is_dir());
    });
    // A file has the name of the directory.
    Scene::new("path=1").with("extra-info", "").prints("path 1: NULL\n");
}
