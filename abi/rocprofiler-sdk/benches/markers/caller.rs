//! `caller.c`, compiled and loaded.

use std::ffi::{CStr, CString, c_int, c_void};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The contexts of `caller.c`, by what their buffers are for.
pub const EMIT: c_int = 0;
pub const THROUGHPUT: c_int = 1;
pub const LARGE: c_int = 2;
pub const SMALL: c_int = 3;

/// Stands for all of them.
pub const ALL: c_int = -1;

/// The functions of `caller.c`.
pub struct Caller {
    pub begin: extern "C" fn(c_int) -> c_int,
    pub start: extern "C" fn(c_int) -> c_int,
    pub stop: extern "C" fn(c_int) -> c_int,
    pub mark: extern "C" fn(u64),
    pub flush: extern "C" fn(c_int) -> c_int,
    pub delivered: extern "C" fn() -> u64,
    pub wrong: extern "C" fn() -> u64,
}

impl Caller {
    /// Links both libraries from the archives that cargo built with this program, compiles `caller.c` against them, and loads it.
    pub fn build(into: &Path) -> Self {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (name, archive) in [("rocprofiler-sdk", "libopscope_rocprofiler_sdk"), ("roctx", "libopscope_roctx")] {
            let mut link = Command::new(root.join("../../scripts/link-library"));
            succeeds(link.arg(name).arg(newest(archive)).arg(into));
        }
        let made = into.join("caller.so");
        let mut compile = Command::new("cc");
        compile.args(["-std=c11", "-O2", "-shared", "-fPIC", "-I"]).arg(root.join("include"));
        compile.arg("-I").arg(root.join("../roctx/include"));
        compile.arg(root.join("benches/markers/caller.c")).arg("-o").arg(&made).arg("-L").arg(into);
        compile.args(["-lrocprofiler-sdk-roctx", "-lrocprofiler-sdk"]);
        succeeds(compile.arg(format!("-Wl,-rpath,{}", into.display())));
        let name = CString::new(made.to_str().expect("UTF-8")).expect("no NUL");
        // SAFETY: the library was just made. Global, as it is in a program that is linked with the libraries.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        assert!(!library.is_null(), "caller.so can be loaded");
        // SAFETY: the library is loaded.
        let symbol = |name: &CStr| unsafe { libc::dlsym(library, name.as_ptr()) };
        Self {
            begin: function(symbol(c"caller_begin")),
            start: function(symbol(c"caller_start")),
            stop: function(symbol(c"caller_stop")),
            mark: function(symbol(c"caller_mark")),
            flush: function(symbol(c"caller_flush")),
            delivered: function(symbol(c"caller_delivered")),
            wrong: function(symbol(c"caller_wrong")),
        }
    }
}

/// Returns what a symbol points to as a function of this type.
fn function<F: Copy>(symbol: *mut c_void) -> F {
    assert!(!symbol.is_null() && size_of::<F>() == size_of::<*mut c_void>(), "caller.c has the function");
    // SAFETY: the caller names the type that `caller.c` declares the function with.
    unsafe { std::mem::transmute_copy(&symbol) }
}

/// Returns the newest archive beside this program.
fn newest(name: &str) -> PathBuf {
    let program = std::env::current_exe().expect("this program");
    let files = fs::read_dir(program.parent().expect("a directory")).expect("its files").flatten();
    let is_archive = |file: &str| file.starts_with(&format!("{name}-")) && file.ends_with(".a");
    let archives = files.filter(|file| file.file_name().to_str().is_some_and(is_archive));
    archives.max_by_key(|file| file.metadata().and_then(|meta| meta.modified()).ok()).expect("an archive").path()
}

fn succeeds(command: &mut Command) {
    let output = command.output().expect("the command can be started");
    assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
}
