use std::ffi::c_char;

use super::layout;

/// The event of CUDA 3.1 and 3.2.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event32 {
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
    pub context_push: Context,
    pub context_pop: Context,
    pub context_create: Context,
    pub context_destroy: Context,
}

/// A model was loaded, and its image can be read.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ElfImageLoaded {
    pub relocated_elf_image: *const c_char,
    pub non_relocated_elf_image: *const c_char,
    pub size: u32,
    pub dev: u32,
    pub context: u64,
    pub module: u64,
}

/// An operator is about to be executed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelReady {
    pub dev: u32,
    pub grid_id: u32,
    pub tid: u32,
    pub context: u64,
    pub module: u64,
    pub function: u64,
    pub function_entry: u64,
}

/// An operator was executed.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct KernelFinished {
    pub dev: u32,
    pub grid_id: u32,
    pub tid: u32,
    pub context: u64,
    pub module: u64,
    pub function: u64,
    pub function_entry: u64,
}

/// A run began or ended, or a model was loaded or unloaded.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Context {
    pub dev: u32,
    pub tid: u32,
    pub context: u64,
}

layout!(
    Event32, 56, 8: kind @ 0, cases @ 8, cases.elf_image_loaded.relocated_elf_image @ 8,
    cases.elf_image_loaded.non_relocated_elf_image @ 16, cases.elf_image_loaded.size @ 24,
    cases.elf_image_loaded.dev @ 28, cases.elf_image_loaded.context @ 32, cases.elf_image_loaded.module @ 40,
    cases.kernel_ready.dev @ 8, cases.kernel_ready.grid_id @ 12, cases.kernel_ready.tid @ 16,
    cases.kernel_ready.context @ 24, cases.kernel_ready.module @ 32, cases.kernel_ready.function @ 40,
    cases.kernel_ready.function_entry @ 48, cases.kernel_finished.dev @ 8, cases.kernel_finished.grid_id @ 12,
    cases.kernel_finished.tid @ 16, cases.kernel_finished.context @ 24, cases.kernel_finished.module @ 32,
    cases.kernel_finished.function @ 40, cases.kernel_finished.function_entry @ 48, cases.context_push.dev @ 8,
    cases.context_push.tid @ 12, cases.context_push.context @ 16, cases.context_pop.dev @ 8,
    cases.context_pop.tid @ 12, cases.context_pop.context @ 16, cases.context_create.dev @ 8,
    cases.context_create.tid @ 12, cases.context_create.context @ 16, cases.context_destroy.dev @ 8,
    cases.context_destroy.tid @ 12, cases.context_destroy.context @ 16
);
