//! The symbols that an HSA runtime looks up in a tool that `HSA_TOOLS_LIB` names. There is nothing to intercept here.

use std::ffi::{c_char, c_void};

use opscope_border::exported;

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
