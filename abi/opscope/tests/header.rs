//! The header is made from the crate, and is committed.

use std::path::Path;

/// The files of the crate in the order in which a reader of the header should meet them.
const FILES: &[&str] = &[
    "version",
    "border/status",
    "border/error",
    "tensor",
    "session/load",
    "session/describe",
    "run",
    "consumers",
    "records/kinds",
    "records/layout",
    "records/kernel",
    "records/callback_thread",
    "records/buffer_handle",
    "records/buffer",
    "records/batch",
    "records/statistics",
    "records/context",
    "records/markers",
    "dump/stream",
    "dump/sink",
    "dump/request",
    "dump/report",
    "dump/dumper",
    "profile",
    "debug/debugger",
    "debug/options",
    "debug/event",
    "debug/attachment",
    "debug/resume",
    "debug/breakpoint",
    "debug/stopped",
];

#[test]
fn the_header_is_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("cbindgen.toml")).expect("a configuration");
    let builder = cbindgen::Builder::new().with_config(config);
    let source = |file: &&str| root.join("src").join(file).with_extension("rs");
    let builder = FILES.iter().map(source).fold(builder, |builder, file| builder.with_src(file));
    let mut text = Vec::new();
    builder.generate().expect("a header").write(&mut text);
    let text = String::from_utf8(text).expect("UTF-8");
    let header = root.join("include/opscope.h");
    if std::env::var_os("UPDATE_HEADERS").is_some() {
        std::fs::write(&header, &text).expect("the header can be written");
    }
    let committed = std::fs::read_to_string(&header).expect("a header");
    assert!(committed == text, "{} is not current: run this test with UPDATE_HEADERS=1", header.display());
}
