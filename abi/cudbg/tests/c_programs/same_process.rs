//! A client in the process that it debugs.

use std::ffi::{c_char, c_int};
use std::sync::atomic::{AtomicBool, Ordering};
use std::{ptr, thread};

use opscope_c_programs::Language;
use opscope_debug::Debugger;
use opscope_debug::server::ServerOptions;
use opscope_model::Fidelity;

use super::client;
use super::debuggee::{Lines, run_on};

#[test]
fn a_client_without_a_target_debugs_its_own_process() {
    let loaded = client("kernels.c").option("-Dmain=debug_myself").load(Language::C11);
    // SAFETY: this is the signature of `main` in the file.
    let debug_myself: extern "C" fn(c_int, *const *const c_char) -> c_int = unsafe { loaded.function(c"debug_myself") };

    let debugger = Debugger::new().expect("a debugger");
    // Clients look for the process in this variable.
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
