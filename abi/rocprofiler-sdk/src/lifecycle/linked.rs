//! The tool that the process is linked with.

use std::arch::global_asm;

use crate::layout::Configure;

// A reference that may stay open: the function of the process's own scope. Because this library has it, the linker of a
// program makes the program's own function visible to the loader, as with the vendor's library.
global_asm!(
    ".weak rocprofiler_configure",
    ".pushsection .data.rel.ro.opscope_linked_tool,\"aw\",@progbits",
    ".balign 8",
    ".globl opscope_linked_tool",
    ".hidden opscope_linked_tool",
    ".type opscope_linked_tool,@object",
    ".size opscope_linked_tool,8",
    "opscope_linked_tool:",
    ".quad rocprofiler_configure",
    ".popsection",
);

unsafe extern "C" {
    static opscope_linked_tool: Option<Configure>;
}

/// Returns the function that the loader found when it loaded this library.
pub fn linked() -> Option<Configure> {
    // SAFETY: the loader has filled it before any code of this library ran, with NULL or a function of this type.
    unsafe { opscope_linked_tool }
}
