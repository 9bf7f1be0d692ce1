//! Tools of an HSA runtime. This library exports the symbols of such a tool. If the process has no HSA runtime, it also
//! calls the tools of rocprofiler v2 as a runtime would. A runtime looks the symbols up in a tool that `HSA_TOOLS_LIB`
//! names; there is nothing to intercept here.

use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::transmute;
use std::os::unix::ffi::OsStrExt;
use std::process;
use std::ptr::NonNull;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use opscope_border::loader::Library;
use opscope_border::{Text, exported, system};
use opscope_producer::{Exporter, exporters, is_same_object};

use crate::border::{call_tool, say};

/// The priority of this tool among others.
#[unsafe(no_mangle)]
#[allow(unsafe_code, reason = "a constant, which C reads")]
pub static HSA_AMD_TOOL_PRIORITY: u32 = 25;

/// Called when an HSA runtime is loaded.
#[exported]
pub fn OnLoad(_table: *mut c_void, _version: u64, _failed_count: u64, _failed_names: *const *const c_char) -> bool {
    true
}

/// Called when an HSA runtime is unloaded.
#[exported]
pub fn OnUnload() {}

/// A tool's function that is called when an HSA runtime is loaded. It receives the runtime's tables, their version, and
/// the tools that could not be loaded. Returns whether the tool accepts being loaded.
type Load = extern "C-unwind" fn(&'static HsaTables, u64, failed_count: u64, failed: *const Text<'_>) -> u8;

/// A tool's function that is called when an HSA runtime is unloaded.
type Unload = extern "C-unwind" fn();

const PRIORITY: &CStr = c"HSA_AMD_TOOL_PRIORITY";
const RUNTIME: &CStr = c"libhsa-runtime64.so.1";

/// The tables that a tool receives. There is no runtime here, so each table has version 0 and no functions. A tool may
/// copy them and write to them.
#[repr(C)]
struct HsaTables {
    version: [AtomicU32; 4],
    tables: [&'static [AtomicU64; WORDS]; TABLES],
}

/// At least as many tables as any runtime has, and at least as many words as any of its tables has.
const TABLES: usize = 8;
const WORDS: usize = 1024;

/// The loaded tools, in this order.
struct Loaded {
    /// The process that loaded them. Its children do not unload them.
    process: u32,
    unload: Vec<Unload>,
}

static LOADED: OnceLock<Loaded> = OnceLock::new();

/// Does once for the tools of rocprofiler v2 what an HSA runtime does when it is loaded: calls `OnLoad` of each loaded
/// object that exports a priority, in the order of the priorities, and its `OnUnload` when the process exits, in the
/// opposite order. These objects are tools of rocprofiler v2 that are bound to this library.
///
/// Does nothing if the process has an HSA runtime.
pub fn load() {
    static HAS_BEGUN: AtomicBool = AtomicBool::new(false);
    if HAS_BEGUN.swap(true, Ordering::AcqRel) || is_runtime_loaded() {
        return;
    }
    let mut tools = tools();
    if tools.is_empty() {
        return;
    }
    tools.sort_by_key(|tool| tool.priority);
    let tables = tables();
    let mut failed: Vec<CString> = Vec::new();
    let mut unload = Vec::new();
    for Tool { path, load, unload: unload_it, .. } in tools {
        let names: Vec<Text<'_>> = failed.iter().map(|name| Text::from(name.as_c_str())).collect();
        let answer = call_tool("OnLoad", || load(tables, 0, names.len() as u64, names.as_ptr()));
        if answer.is_some_and(|answer| answer != 0) {
            unload.extend(unload_it);
        } else {
            say(format_args!("the tool {} did not load", path.to_string_lossy()));
            failed.push(path);
        }
    }
    let is_first = LOADED.set(Loaded { process: process::id(), unload }).is_ok();
    // This is registered after the tools have created their objects, so that it runs before their destructors.
    if is_first && !system::at_exit(unload_all) {
        say("tools will not be unloaded: the system has no memory for it");
    }
}

extern "C" fn unload_all() {
    if let Some(loaded) = LOADED.get().filter(|loaded| loaded.process == process::id()) {
        for unload in loaded.unload.iter().rev() {
            call_tool("OnUnload", || unload());
        }
    }
}

/// A tool that is to be loaded.
struct Tool {
    priority: u32,
    path: CString,
    load: Load,
    unload: Option<Unload>,
}

fn tools() -> Vec<Tool> {
    let mut tools = Vec::new();
    for exporter in exporters(PRIORITY) {
        if let Some(tool) = Tool::of(&exporter) {
            tools.push(tool);
            // Its functions may be called until the process exits.
            std::mem::forget(exporter);
        }
    }
    tools
}

impl Tool {
    /// Returns the tool in an object. `None` if the object is this library itself, or is bound to another library.
    #[allow(unsafe_code, reason = "functions of its own and not of what it depends on are found as addresses")]
    fn of(exporter: &Exporter) -> Option<Self> {
        // This uses a function that is not exported, because a tool may export one with the same name, which the loader
        // would find first.
        let here = NonNull::new(unload_all as extern "C" fn() as *mut c_void)?;
        let load = exporter.own(c"OnLoad")?;
        let bound_to = exporter.visible(c"rocprofiler_initialize")?;
        if is_same_object(load, here) || !is_same_object(bound_to, here) {
            return None;
        }
        // SAFETY: functions with these names have these types, and the constant with this name is such a number.
        unsafe {
            Some(Self {
                priority: exporter.symbol.cast::<u32>().read_unaligned(),
                path: CString::new(exporter.path.as_os_str().as_bytes()).unwrap_or_default(),
                load: transmute::<NonNull<c_void>, Load>(load),
                unload: exporter.own(c"OnUnload").map(|unload| transmute::<NonNull<c_void>, Unload>(unload)),
            })
        }
    }
}

fn is_runtime_loaded() -> bool {
    Library::loaded(RUNTIME).is_some()
}

/// Returns tables without functions, which live as long as the process.
fn tables() -> &'static HsaTables {
    let table = || -> &'static [AtomicU64; WORDS] { Box::leak(Box::new([const { AtomicU64::new(0) }; WORDS])) };
    let tables = std::array::from_fn(|_| table());
    Box::leak(Box::new(HsaTables { version: [const { AtomicU32::new(0) }; 4], tables }))
}
