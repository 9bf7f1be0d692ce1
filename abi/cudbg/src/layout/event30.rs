use std::ffi::c_char;

use super::layout;

/// The event of CUDA 3.0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event30 {
    pub kind: u32,
    pub cases: Cases,
}

/// The content of an event, which depends on its kind.
#[repr(C)]
#[derive(Clone, Copy)]
pub union Cases {
    pub elf_image_loaded: ElfImageLoaded,
    pub kernel_ready: KernelReady,
    pub kernel_finished: KernelFinished,
}

/// A model was loaded, and its image can be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ElfImageLoaded {
    pub relocated_elf_image: *const c_char,
    pub non_relocated_elf_image: *const c_char,
    pub size: u32,
}

/// An operator is about to be executed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelReady {
    pub dev: u32,
    pub grid_id: u32,
    pub tid: u32,
}

/// An operator was executed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelFinished {
    pub dev: u32,
    pub grid_id: u32,
    pub tid: u32,
}

layout!(
    Event30, 32, 8: kind @ 0, cases @ 8, cases.elf_image_loaded.relocated_elf_image @ 8,
    cases.elf_image_loaded.non_relocated_elf_image @ 16, cases.elf_image_loaded.size @ 24,
    cases.kernel_ready.dev @ 8, cases.kernel_ready.grid_id @ 12, cases.kernel_ready.tid @ 16,
    cases.kernel_finished.dev @ 8, cases.kernel_finished.grid_id @ 12, cases.kernel_finished.tid @ 16
);
