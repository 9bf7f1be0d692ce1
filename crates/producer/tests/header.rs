//! The C header is generated from the types of `layout`, and C and C++ compile it without a warning.

use std::fs;
use std::path::{Path, PathBuf};

use cbindgen::{Builder, Config};
use opscope_c_programs::{Language, source, succeeds};

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

/// Includes the header twice, and asserts the sizes of its structs once more.
const EVERYTHING: &str = r#"
#include "opscope_producer.h"
#include "opscope_producer.h"
#ifndef __cplusplus
#define static_assert _Static_assert
#endif
static_assert(sizeof(opscope_producer_runtime_t) == 48, "");
static_assert(sizeof(opscope_producer_operator_t) == 40, "");
static_assert(sizeof(opscope_producer_model_t) == 72, "");
static_assert(sizeof(opscope_producer_attribution_t) == 16, "");
static_assert(sizeof(opscope_producer_kernel_t) == 96, "");
static_assert(sizeof(opscope_producer_plan_t) == 40, "");
static_assert(sizeof(opscope_producer_thread_t) == 32, "");
static_assert(sizeof(opscope_producer_run_t) == 72, "");
static_assert(sizeof(opscope_producer_iteration_t) == 16, "");
static_assert(sizeof(opscope_producer_dispatch_t) == 80, "");
static_assert(sizeof(opscope_producer_copy_t) == 80, "");
static_assert(sizeof(opscope_producer_allocation_t) == 72, "");
static_assert(sizeof(opscope_producer_t) == 112, "");
static_assert(offsetof(opscope_producer_kernel_t, name) == 24, "");
static_assert(offsetof(opscope_producer_dispatch_t, kernel) == 32, "");
static_assert(offsetof(opscope_producer_t, dispatch_end) == 88, "");

static void dispatch_end(void *consumer, const opscope_producer_dispatch_t *dispatch)
{
    *(uint64_t *)consumer += dispatch->end - dispatch->start;
}

int opscope_attach_producer(opscope_producer_t *table)
{
    static uint64_t busy;
    if (table->version != OPSCOPE_PRODUCER_VERSION)
        return OPSCOPE_ATTACH_WRONG_VERSION;
    table->consumer = &busy;
    table->dispatch_end = dispatch_end;
    return OPSCOPE_ATTACHED;
}
"#;

/// Compiles a source that includes the header.
fn compile(language: Language, code: &str) {
    let mut compiler = language.compiler();
    compiler.arg("-I").arg(directory().join("include")).arg("-c").arg(source("consumer.c", code));
    succeeds(compiler.args(["-o", "/dev/null"]));
}

#[test]
fn the_header_is_c11_without_a_warning() {
    compile(Language::C11, EVERYTHING);
}

#[test]
fn the_header_is_cpp17_without_a_warning() {
    compile(Language::Cxx17, EVERYTHING);
}

#[test]
fn the_consumer_in_the_readme_compiles() {
    let readme = fs::read_to_string(directory().join("README.md")).expect("there is a README");
    let code = readme.split("```c\n").nth(1).and_then(|code| code.split("```").next()).expect("it shows a consumer");
    compile(Language::C11, code);
    compile(Language::Cxx17, code);
}
