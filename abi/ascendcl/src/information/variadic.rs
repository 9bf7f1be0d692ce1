//! `aclAppLog`, which takes as many values as its format names. Rust cannot define such a function, so this does by
//! hand what a C compiler does for `va_start`: it saves the registers that may hold values, and describes where they
//! are.

use std::arch::naked_asm;
use std::ffi::c_int;

use opscope_border::{Text, exported};

use super::log::write_line;

/// Formats a line as printf does, and writes it to the log. It never fails.
// The values follow the format: in the sixth general register, in all vector registers if there are any (AL says so),
// then on the stack. In the frame, 0..24 is the va_list and 32..208 are the registers.
#[cfg(target_arch = "x86_64")]
#[unsafe(naked)]
#[exported]
pub fn aclAppLog(level: c_int, function: Text<'_>, file: Text<'_>, line: u32, format: Text<'_>) {
    naked_asm!(
        "sub rsp, 216",
        "mov [rsp + 32 + 40], r9",
        "test al, al",
        "je 2f",
        "movaps [rsp + 32 + 48], xmm0",
        "movaps [rsp + 32 + 64], xmm1",
        "movaps [rsp + 32 + 80], xmm2",
        "movaps [rsp + 32 + 96], xmm3",
        "movaps [rsp + 32 + 112], xmm4",
        "movaps [rsp + 32 + 128], xmm5",
        "movaps [rsp + 32 + 144], xmm6",
        "movaps [rsp + 32 + 160], xmm7",
        "2:",
        // Five general registers, and no vector register, hold named arguments.
        "mov dword ptr [rsp], 40",
        "mov dword ptr [rsp + 4], 48",
        "lea rax, [rsp + 224]",
        "mov [rsp + 8], rax",
        "lea rax, [rsp + 32]",
        "mov [rsp + 16], rax",
        "mov r9, rsp",
        "call {write_line}",
        "add rsp, 216",
        "ret",
        write_line = sym write_line,
    )
}

/// Formats a line as printf does, and writes it to the log. It never fails.
// The values follow the format: in three general registers, all vector registers, then on the stack. In the frame,
// 0..32 is the va_list, 32..160 are the vector registers, 160..184 the general ones, and 192..208 is restored at the
// end.
#[cfg(target_arch = "aarch64")]
#[unsafe(naked)]
#[exported]
pub fn aclAppLog(level: c_int, function: Text<'_>, file: Text<'_>, line: u32, format: Text<'_>) {
    naked_asm!(
        "sub sp, sp, #208",
        "stp x29, x30, [sp, #192]",
        "add x29, sp, #192",
        "stp q0, q1, [sp, #32]",
        "stp q2, q3, [sp, #64]",
        "stp q4, q5, [sp, #96]",
        "stp q6, q7, [sp, #128]",
        "stp x5, x6, [sp, #160]",
        "str x7, [sp, #176]",
        "add x9, sp, #208",
        "str x9, [sp]",
        "add x9, sp, #184",
        "str x9, [sp, #8]",
        "add x9, sp, #160",
        "str x9, [sp, #16]",
        "mov w9, #-24",
        "str w9, [sp, #24]",
        "mov w9, #-128",
        "str w9, [sp, #28]",
        "mov x5, sp",
        "bl {write_line}",
        "ldp x29, x30, [sp, #192]",
        "add sp, sp, #208",
        "ret",
        write_line = sym write_line,
    )
}
