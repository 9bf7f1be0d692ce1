//! Tests of the smallest and largest values of keys, of the texts of messages, and of a section without a list.

use std::path::{Path, PathBuf};

use crate::{AclConfig, LARGEST_FILE};

/// The problems of a file as `pointer: what; right`.
fn problems(text: &str) -> Vec<String> {
    let problems = AclConfig::parse(text, Path::new("/nowhere")).expect_err(text);
    problems.iter().map(ToString::to_string).collect()
}

fn is_right(text: &str) {
    if let Err(problems) = AclConfig::parse(text, Path::new("/nowhere")) {
        panic!("{text}: {problems:?}");
    }
}

#[test]
fn whole_numbers_say_which_they_may_be() {
    let stack = |size: &str| format!(r#"{{"StackSize": {{"aicore_stack_size": {size}}}}}"#);
    is_right(&stack("0"));
    is_right(&stack("18446744073709551615"));
    for wrong in ["-1", "1.5", "\"1\""] {
        let problems = problems(&stack(wrong));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains("a whole number from 0 up, without quotes"), "{problems:?}");
    }
    let frequency =
        |value: &str| format!(r#"{{"profiler": {{"switch": "on", "output": "o", "instr_profiling_freq": {value}}}}}"#);
    is_right(&frequency("300"));
    is_right(&frequency("30000"));
    for (wrong, what) in [
        ("299", "299 is out of range"),
        ("30001", "30001 is out of range"),
        ("1000.0", "1000 is not allowed"),
        ("\"300\"", "instr_profiling_freq"),
    ] {
        let problems = problems(&frequency(wrong));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(what), "{problems:?}");
        assert!(problems[0].contains("a whole number from 300 to 30000, without quotes"), "{problems:?}");
    }
}

#[test]
fn a_switch_without_a_list_is_where_the_entry_for_every_model_is_from() {
    for switch in ["dump_op_switch", "dump_debug"] {
        let text = format!(r#"{{"dump": {{"dump_path": "d", "{switch}": "on"}}}}"#);
        let dump = AclConfig::parse(&text, Path::new("/nowhere")).expect("a file").dump.expect("a dump");
        let [model] = &dump.models[..] else { panic!("{:?}", dump.models) };
        assert_eq!((&*model.pointer, &model.model_name), (&*format!("/dump/{switch}"), &None));
    }
}

#[test]
fn a_scene_of_exceptions_has_a_directory_and_dumps_nothing() {
    let of = |section: &str| {
        let text = format!(r#"{{"dump": {{{section}}}}}"#);
        let config = AclConfig::parse(&text, Path::new("/nowhere")).unwrap_or_else(|problems| panic!("{problems:?}"));
        assert_eq!(config.dump.is_some(), !section.contains("dump_scene"), "{section}");
        config.exceptions
    };
    let at = |path: &str| Some(PathBuf::from(path));
    assert_eq!(of(r#""dump_path": "d", "dump_scene": "aic_err_norm_dump""#), at("/nowhere/d"));
    assert_eq!(of(r#""dump_scene": "lite_exception""#), at("/nowhere/./"));
    let nodes = r#""dump_path": "d", "dump_scene": "watcher", "dump_list": [{"watcher_nodes": ["a"]}]"#;
    assert_eq!(of(nodes), None);
    assert_eq!(of(r#""dump_path": "d", "dump_list": [{}]"#), None);
}

#[test]
fn counts_may_be_in_quotes_and_are_digits_then() {
    let queue = |value: &str| format!(r#"{{"max_opqueue_num": {value}}}"#);
    for right in ["20000", "\"20000\"", "0", "\"0\""] {
        is_right(&queue(right));
    }
    for (wrong, what) in [
        ("\"12a\"", "\"12a\" is not a whole number"),
        ("\"-1\"", "\"-1\" is not a whole number"),
        ("\"18446744073709551616\"", "18446744073709551616 is too large"),
        ("\"+1\"", "\"+1\" is not a whole number"),
        ("\"\"", "\"\" is not a whole number"),
        ("-1", "-1 is not allowed"),
        ("true", "max_opqueue_num"),
    ] {
        let problems = problems(&queue(wrong));
        assert_eq!(problems.len(), 1, "{problems:?}");
        assert!(problems[0].contains(what), "{problems:?}");
    }
}

#[test]
fn texts_have_the_length_that_the_vendor_allows() {
    let types = |length: usize| {
        format!(r#"{{"profiler": {{"switch": "on", "output": "o", "optype": "{}"}}}}"#, "x".repeat(length))
    };
    is_right(&types(1));
    is_right(&types(255));
    is_right(&types(256));
    for length in [257, 300] {
        let problems = problems(&types(length));
        assert!(problems[0].contains("the text is too long; write at most 256 bytes"), "{problems:?}");
    }
}

#[test]
fn a_path_a_blacklist_and_a_file_are_as_large_as_the_vendor_allows() {
    let path = |length: usize| format!(r#"{{"dump": {{"dump_list": [{{}}], "dump_path": "{}"}}}}"#, "x".repeat(length));
    is_right(&path(512));
    let too_long = problems(&path(513));
    assert!(too_long[0].contains("the path is too long; write at most 512 bytes"), "{too_long:?}");

    let blacklist = |count: usize| {
        let names = vec![r#"{"name": "a"}"#; count].join(",");
        let list = format!(r#"[{{"optype_blacklist": [{names}]}}]"#);
        format!(r#"{{"dump": {{"dump_path": "d", "dump_level": "op", "dump_list": {list}}}}}"#)
    };
    is_right(&blacklist(100));
    assert_eq!(problems(&blacklist(101)).len(), 1);

    let directory = tempfile::tempdir().expect("a directory");
    let file = directory.path().join("acl.json");
    for (length, is_read) in [(LARGEST_FILE, true), (LARGEST_FILE + 1, false)] {
        let blanks = " ".repeat(usize::try_from(length).expect("a size") - 2);
        std::fs::write(&file, format!("{{{blanks}}}")).expect("a file");
        let read = AclConfig::read(&file, directory.path());
        assert_eq!(read.is_ok(), is_read, "{length} bytes");
    }
}
