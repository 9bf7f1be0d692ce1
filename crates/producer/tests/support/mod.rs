//! A consumer in C, compiled by the test, and the lines that it writes.

// Each test file is a separate crate, and uses part of this.
#![allow(dead_code)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names by which a consumer is found.
pub const SDK: &str = "librocprofiler-sdk.so.1";
pub const V2: &str = "librocprofiler64.so.2";

/// Turns every warning into an error.
pub const C11: [&str; 5] = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-pedantic"];

/// A call of a consumer's function, as the consumer recorded it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    pub function: String,
    fields: BTreeMap<String, String>,
}

/// Returns a file of this directory.
pub fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/producer/tests/support").join(name)
}

/// Compiles C with the header in the include path.
pub fn compile<A: AsRef<OsStr>>(source: &Path, to: &Path, arguments: &[A]) {
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    let include = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/producer/include");
    let mut compiler = Command::new("cc");
    compiler.args(C11).arg("-I").arg(include).arg(source).arg("-o").arg(to).args(arguments);
    let output = compiler.output().expect("there is a C compiler");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Compiles a consumer, with these macros and options.
pub fn consumer(to: &Path, options: &[&str]) {
    compile(&source("consumer.c"), to, &[&["-shared", "-fPIC"], options].concat());
}

/// Compiles a library from these lines.
pub fn library(to: &Path, code: &str, options: &[&str]) {
    let source = to.with_extension("c");
    fs::create_dir_all(to.parent().unwrap()).unwrap();
    fs::write(&source, code).unwrap();
    compile(&source, to, &[&["-shared", "-fPIC"], options].concat());
    fs::remove_file(source).unwrap();
}

/// Returns the lines that consumers have written, in order.
pub fn calls(log: &Path) -> Vec<Call> {
    fs::read_to_string(log).unwrap_or_default().lines().map(Call::of).collect()
}

/// Returns the calls of one function.
pub fn of<'a>(calls: &'a [Call], function: &str) -> Vec<&'a Call> {
    calls.iter().filter(|call| call.function == function).collect()
}

impl Call {
    fn of(line: &str) -> Self {
        let mut fields = line.split('\t');
        let function = fields.next().unwrap().to_owned();
        let pair = |field: &str| field.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap();
        Self { function, fields: fields.map(pair).collect() }
    }

    pub fn text(&self, key: &str) -> &str {
        self.fields.get(key).unwrap_or_else(|| panic!("{key} is not in {self:?}"))
    }

    pub fn number(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or_else(|_| panic!("{key} of {self:?}"))
    }
}
