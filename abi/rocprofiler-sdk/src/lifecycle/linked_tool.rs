//! The tool that is linked into the program.

use std::arch::global_asm;

use crate::layout::Configure;

// A weak reference to the process's own function. Because this library has it, a program's linker makes the program's
// function visible to the loader, as with the vendor's library.
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
    // SAFETY: before any code of this library runs, the loader has filled it with NULL or a function of this type.
    unsafe { opscope_linked_tool }
}
