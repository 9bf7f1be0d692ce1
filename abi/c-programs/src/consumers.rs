//! Consumers in C: libraries that receive reports of the runs of models, and the lines that they write for these
//! reports.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::command::{Language, succeeds};
use crate::library::{producer_include, repository};

/// The name under which a consumer is found as rocprofiler-sdk's library.
pub const SDK: &str = "librocprofiler-sdk.so.1";
/// The name under which a consumer is found as rocprofiler v2's library.
pub const V2: &str = "librocprofiler64.so.2";

/// A call of a consumer's function, as the consumer wrote it to its log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// The function's name.
    pub function: String,
    fields: BTreeMap<String, String>,
}

/// Compiles a consumer, with these macros and options.
#[track_caller]
pub fn consumer(to: &Path, options: &[&str]) {
    compile(&repository().join("crates/producer/tests/c/consumer.c"), to, options);
}

/// Compiles a library of these lines of C.
#[track_caller]
pub fn library(to: &Path, code: &str, options: &[&str]) {
    let directory = TempDir::new().expect("a directory");
    let source = directory.path().join("library.c");
    fs::write(&source, code).expect("a file");
    compile(&source, to, options);
}

#[track_caller]
fn compile(source: &Path, to: &Path, options: &[&str]) {
    fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
    let mut compiler = Language::C11.compiler();
    compiler.arg("-I").arg(producer_include()).arg(source).args(["-x", "none", "-shared", "-fPIC"]);
    succeeds(compiler.args(options).arg("-o").arg(to));
}

/// Returns the calls that consumers have written to a log, in order. Empty if there is no such file.
pub fn calls(log: &Path) -> Vec<Call> {
    fs::read_to_string(log).unwrap_or_default().lines().map(Call::parse).collect()
}

/// Returns the calls of one function.
pub fn of<'a>(calls: &'a [Call], function: &str) -> Vec<&'a Call> {
    calls.iter().filter(|call| call.function == function).collect()
}

impl Call {
    fn parse(line: &str) -> Self {
        let mut fields = line.split('\t');
        let function = fields.next().expect("a function").to_owned();
        let pair = |field: &str| {
            let (key, value) = field.split_once('=').unwrap_or_else(|| panic!("{field} of {line}"));
            (key.to_owned(), value.to_owned())
        };
        Self { function, fields: fields.map(pair).collect() }
    }

    /// Returns a field's text.
    #[track_caller]
    pub fn text(&self, key: &str) -> &str {
        self.fields.get(key).unwrap_or_else(|| panic!("{key} is not in {self:?}"))
    }

    /// Returns a field's number.
    #[track_caller]
    pub fn number(&self, key: &str) -> u64 {
        self.text(key).parse().unwrap_or_else(|_| panic!("{key} of {self:?}"))
    }
}
