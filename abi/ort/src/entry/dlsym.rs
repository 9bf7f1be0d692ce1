//! `dlsym`, for programs that open the library and look its function up. Everything else that is looked up goes to the
//! system's function, by a jump. The system's function must see the program as its caller, because the caller decides
//! where some names are searched.

use std::arch::global_asm;
use std::ffi::{CStr, c_char, c_void};
use std::panic::catch_unwind;
use std::ptr;

use super::{Entry, NAME};
use crate::interface::slot_of;
use crate::tables::entry_of;
use crate::variables::wanted;

global_asm!(
    ".pushsection .text.dlsym,\"ax\",@progbits",
    ".p2align 4",
    ".globl dlsym",
    ".type dlsym,@function",
    "dlsym:",
    ".cfi_startproc",
    "push rdi",
    ".cfi_adjust_cfa_offset 8",
    "push rsi",
    ".cfi_adjust_cfa_offset 8",
    // The stack is aligned to 16 bytes at a call.
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "call {replacement}@PLT",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "pop rsi",
    ".cfi_adjust_cfa_offset -8",
    "pop rdi",
    ".cfi_adjust_cfa_offset -8",
    "test rax, rax",
    "jz 2f",
    "ret",
    "2:",
    "mov rax, qword ptr [rip + {system}@GOTPCREL]",
    "jmp qword ptr [rax]",
    ".cfi_endproc",
    ".size dlsym, . - dlsym",
    ".popsection",
    replacement = sym replacement,
    system = sym super::SYSTEM,
);

/// Returns the address for a program that looks up a name; null if the system's function must look it up.
extern "C" fn replacement(handle: *mut c_void, name: *const c_char) -> *mut c_void {
    let is_of_library = handle != libc::RTLD_DEFAULT && handle != libc::RTLD_NEXT;
    if !super::is_there() {
        // Without the system's function there is nothing to jump to. Every C library has it.
        std::process::abort();
    }
    // SAFETY: a program passes a name that ends with NUL, as the system's function requires.
    if !is_of_library || name.is_null() || unsafe { CStr::from_ptr(name) } != NAME {
        return ptr::null_mut();
    }
    catch_unwind(|| {
        if wanted().is_nothing() {
            return ptr::null_mut();
        }
        let Some(Entry(entry)) = Entry::of_another(super::lookup(handle, NAME)) else { return ptr::null_mut() };
        // SAFETY: this is the library's own function.
        let base = ptr::NonNull::new(unsafe { entry() }.cast_mut());
        // SAFETY: the library's function has just returned it.
        let slot = base.and_then(|base| unsafe { slot_of(base) });
        slot.map_or(ptr::null_mut(), |slot| entry_of(slot) as *mut c_void)
    })
    .unwrap_or(ptr::null_mut())
}
