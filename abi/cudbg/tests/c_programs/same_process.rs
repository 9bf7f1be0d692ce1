//! A client in the process that it debugs.

use std::ffi::{CString, c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{ptr, thread};

use opscope_debug::Debugger;
use opscope_debug::server::ServerOptions;
use opscope_model::Fidelity;
use tempfile::TempDir;

use super::debuggee::{Lines, run_on};
use super::support::{Language, libraries, root, succeeds};

#[test]
fn a_client_without_a_target_debugs_its_own_process() {
    let directory = TempDir::new().expect("a directory");
    let path = directory.path().join("client.so");
    let mut compiler = Language::C11.compiler();
    compiler.args(["-D_GNU_SOURCE", "-Wno-unused-function", "-shared", "-fPIC", "-Dmain=debug_myself", "-I"]);
    compiler.arg(root().join("include")).arg(root().join("tests/c/kernels.c")).arg("-o").arg(&path);
    compiler.arg("-L").arg(libraries()).args(["-l:libcudadebugger.so.1", "-lpthread"]);
    succeeds(compiler.arg(format!("-Wl,-rpath,{}", libraries().display())));
    let name = CString::new(path.to_str().expect("UTF-8")).expect("no NUL");
    // SAFETY: the library was just made.
    let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW) };
    assert!(!library.is_null(), "it can be loaded");
    // SAFETY: the library is loaded.
    let function = unsafe { libc::dlsym(library, c"debug_myself".as_ptr()) };
    assert!(!function.is_null());
    // SAFETY: this is how the file declares it.
    let debug_myself: extern "C" fn(c_int, *const *const c_char) -> c_int = unsafe { std::mem::transmute(function) };

    let debugger = Debugger::new().expect("a debugger");
    // Where clients look for the process.
    let _server = debugger.serve(ServerOptions::default()).expect("a server");
    let lines = Lines::new();
    let _loaded = debugger.load(&lines.plan().graph, Fidelity::Exact);
    let is_done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for run in 0.. {
                if is_done.load(Ordering::Relaxed) {
                    break;
                }
                assert_eq!(run_on(&lines, &debugger, run).expect("the run succeeds"), Lines::expected());
            }
        });
        assert_eq!(debug_myself(1, ptr::null()), 0);
        is_done.store(true, Ordering::Relaxed);
    });
}
