//! The C header is made of the types of `layout`, and C and C++ take it without a warning.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use cbindgen::{Builder, Config};

const FILES: [&str; 3] = ["model", "run", "table"];

fn directory() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn header() -> PathBuf {
    directory().join("include/opscope_producer.h")
}

#[test]
fn the_header_is_current() {
    let config = Config::from_file(directory().join("cbindgen.toml")).expect("cbindgen.toml is right");
    let builder = FILES.iter().fold(Builder::new().with_config(config), |builder, file| {
        builder.with_src(directory().join(format!("src/layout/{file}.rs")))
    });
    let mut made = Vec::new();
    builder.generate().expect("the types can be said in C").write(&mut made);
    let made = String::from_utf8(made).expect("it is text");
    if std::env::var_os("UPDATE_HEADERS").is_some() {
        fs::write(header(), &made).expect("the header can be written");
    }
    let committed = fs::read_to_string(header()).unwrap_or_default();
    assert!(committed == made, "run this test with UPDATE_HEADERS=1 and look at what changes in the header:\n{made}");
}
