//! What an HSA runtime looks for in a tool that `HSA_TOOLS_LIB` names. There is nothing to intercept here.

use std::ffi::{c_char, c_void};

/// The place of this tool among others.
#[unsafe(no_mangle)]
pub static HSA_AMD_TOOL_PRIORITY: u32 = 25;

/// Called when an HSA runtime is loaded.
#[unsafe(no_mangle)]
pub extern "C" fn OnLoad(
    _table: *mut c_void,
    _version: u64,
    _failed_count: u64,
    _failed_names: *const *const c_char,
) -> bool {
    true
}

/// Called when an HSA runtime is unloaded.
#[unsafe(no_mangle)]
pub extern "C" fn OnUnload() {}
