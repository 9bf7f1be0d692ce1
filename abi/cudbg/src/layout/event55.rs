use super::device::Dim3;
use super::event32::Context;
use super::event42::ElfImageLoaded;
use super::event50::InternalError;
use super::layout;

/// The event of CUDA 5.5.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Event55 {
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
    pub internal_error: InternalError,
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
    pub grid_dim: Dim3,
    pub block_dim: Dim3,
    pub kernel_type: u32,
    pub reserved0: u64,
    pub grid_id64: u64,
    pub origin: u32,
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
    pub grid_id64: u64,
}

layout!(
    Event55, 112, 8: kind @ 0, cases @ 8, cases.elf_image_loaded.relocated_elf_image @ 8,
    cases.elf_image_loaded.non_relocated_elf_image @ 16, cases.elf_image_loaded.size32 @ 24,
    cases.elf_image_loaded.dev @ 28, cases.elf_image_loaded.context @ 32, cases.elf_image_loaded.module @ 40,
    cases.elf_image_loaded.size @ 48, cases.kernel_ready.dev @ 8, cases.kernel_ready.grid_id @ 12,
    cases.kernel_ready.tid @ 16, cases.kernel_ready.context @ 24, cases.kernel_ready.module @ 32,
    cases.kernel_ready.function @ 40, cases.kernel_ready.function_entry @ 48, cases.kernel_ready.grid_dim @ 56,
    cases.kernel_ready.block_dim @ 68, cases.kernel_ready.kernel_type @ 80, cases.kernel_ready.reserved0 @ 88,
    cases.kernel_ready.grid_id64 @ 96, cases.kernel_ready.origin @ 104, cases.kernel_finished.dev @ 8,
    cases.kernel_finished.grid_id @ 12, cases.kernel_finished.tid @ 16, cases.kernel_finished.context @ 24,
    cases.kernel_finished.module @ 32, cases.kernel_finished.function @ 40,
    cases.kernel_finished.function_entry @ 48, cases.kernel_finished.grid_id64 @ 56, cases.context_push.dev @ 8,
    cases.context_push.tid @ 12, cases.context_push.context @ 16, cases.context_pop.dev @ 8,
    cases.context_pop.tid @ 12, cases.context_pop.context @ 16, cases.context_create.dev @ 8,
    cases.context_create.tid @ 12, cases.context_create.context @ 16, cases.context_destroy.dev @ 8,
    cases.context_destroy.tid @ 12, cases.context_destroy.context @ 16, cases.internal_error.error_type @ 8
);
