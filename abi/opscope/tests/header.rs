//! The header is generated from the crate, and is committed. It has every kind of records with all of its operations.

use std::fs;
use std::path::Path;

use opscope::trace::Kind;

/// The files of the crate in the order in which a reader of the header should meet them.
const FILES: &[&str] = &[
    "version",
    "border/error",
    "tensor",
    "session/load",
    "session/describe",
    "run",
    "consumers",
    "records/kinds",
    "records/layout",
    "records/kernel",
    "records/buffer_handle",
    "records/buffer",
    "records/batch",
    "records/statistics",
    "records/context",
    "records/markers",
    "dump/stream",
    "dump/sink",
    "dump/dumper",
    "profile",
    "debug/debugger",
    "debug/event",
    "debug/attachment",
    "debug/breakpoint",
    "debug/stopped",
];

/// The types of `opscope_border`, and what each is in C.
const TYPES: &[(&str, &str)] = &[
    ("SizedItems<", "*const "),
    ("SizedOut<", "*mut "),
    ("SizedIn<", "*const "),
    ("Items<", "*const "),
    ("Out<", "*mut "),
    ("In<", "*const "),
];

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    let layouts = fs::read_to_string(root.join("src/records/layout.rs")).expect("the layouts of records");
    let structs = layouts.lines().filter_map(|line| line.strip_prefix("pub struct ")?.strip_suffix(" {"));
    config.export.include.extend(structs.filter(|name| name.ends_with("_record_t")).map(str::to_owned));
    let builder = cbindgen::Builder::new().with_config(config);
    let plain = tempfile::tempdir().expect("a directory");
    let source = |file: &&str| {
        let from = fs::read_to_string(root.join("src").join(file).with_extension("rs")).expect("a file of the crate");
        let to = plain.path().join(file.replace('/', "_")).with_extension("rs");
        fs::write(&to, as_c(&from)).expect("the disk has room");
        to
    };
    let builder = FILES.iter().map(source).fold(builder, |builder, file| builder.with_src(file));
    let mut text = Vec::new();
    builder.generate().expect("a header").write(&mut text);
    let text = String::from_utf8(text).expect("UTF-8");
    let header = root.join("include/opscope.h");
    if std::env::var_os("UPDATE_HEADERS").is_some() {
        fs::write(&header, &text).expect("the header can be written");
    }
    let committed = fs::read_to_string(&header).expect("a header");
    assert!(committed == text, "{} is not current: run this test with UPDATE_HEADERS=1", header.display());
}

/// Returns the text between two others. The first one must exist.
fn between<'a>(text: &'a str, start: &str, end: &str) -> &'a str {
    let (_, behind) = text.split_once(start).unwrap_or_else(|| panic!("opscope.h has no `{start}`"));
    behind.split_once(end).map_or(behind, |(found, _)| found)
}

#[test]
fn the_header_has_every_kind_of_records_with_all_of_its_operations() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/opscope.h");
    let header = fs::read_to_string(path).expect("a header");
    let kinds = header.split_once("} opscope_kind_t;").expect("the kinds").0.rsplit_once("typedef enum {").unwrap().1;
    for kind in Kind::all() {
        let constant = format!(" OPSCOPE_{} = {},", kind.name().to_uppercase(), kind.as_raw());
        let (before, _) = kinds.split_once(&constant).unwrap_or_else(|| panic!("opscope_kind_t has no `{constant}`"));
        // The comment of the constant names the struct.
        let record = before.rsplit('`').nth(1).expect("a struct's name");
        let fields =
            header.split_once(&format!("}} {record};")).expect("the struct").0.rsplit_once("typedef struct").unwrap().1;
        let operations: Vec<_> = kind.operations().map(|(number, name)| format!("{}: {name}", number.0)).collect();
        if !fields.contains(" operation;") {
            assert_eq!(operations.len(), 1, "{record} does not say which operation it is");
            continue;
        }
        let comment = between(fields, "correlation;", " operation;").rsplit_once("///").expect("a comment").1;
        let listed = operations.join(", ");
        assert!(comment.contains(&listed), "the operation of {record} in opscope.h should be described as '{listed}'");
    }
    assert_eq!(kinds.matches(" = ").count(), Kind::COUNT, "opscope_kind_t has a kind that does not exist");
}

/// Returns a file of the crate as cbindgen reads it, which knows neither `exported` nor the border's types: functions
/// of C with pointers.
fn as_c(code: &str) -> String {
    let mut code = code
        .replace("opscope_border::", "")
        .replace("'_, ", "")
        .replace("'a, ", "")
        .replace("<'_>", "")
        .replace("<'a>", "");
    for (name, pointer) in TYPES {
        while let Some(start) = code.find(&format!(" {name}")) {
            let inside = start + 1 + name.len();
            let mut depth = 1;
            let is_end = |sign: char| {
                depth += i32::from(sign == '<') - i32::from(sign == '>');
                depth == 0
            };
            let end = inside + code[inside..].find(is_end).expect("a type ends");
            code.replace_range(end..=end, "");
            code.replace_range(start + 1..inside, pointer);
        }
    }
    let mut plain = String::new();
    let mut is_exported = false;
    for line in code.lines() {
        let line = line.trim_start();
        if line.starts_with("#[exported") {
            is_exported = true;
            plain += "#[unsafe(no_mangle)]\n";
            continue;
        }
        let counted = line.strip_prefix("#[counted_by(").and_then(|rest| rest.split_once(")]"));
        let mut line = counted.map_or(line, |(_, parameter)| parameter).to_owned();
        if is_exported && let Some(function) = line.strip_prefix("pub fn ") {
            line = format!("pub unsafe extern \"C\" fn {function}");
            is_exported = false;
        }
        let line = line.replace("&opscope_", "*const opscope_").replace("Result<(), Failure>", "opscope_status_t");
        let mut line = line.replace("*const Text", "*const *const c_char");
        // Only the type is replaced, and not a path that begins with its name.
        for (name, pointer) in [("Text", "*const c_char"), ("Bytes", "*const c_void"), ("UserData", "*mut c_void")] {
            for end in [",", ")"] {
                line = line.replace(&format!(": {name}{end}"), &format!(": {pointer}{end}"));
            }
        }
        plain += &line;
        plain.push('\n');
    }
    plain
}
