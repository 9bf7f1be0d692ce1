use opscope_border::Unpadded;

use super::device::Dim3;
use super::layout;

/// The event since CUDA 6.0. It has no padding.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct Event {
    pub kind: u32,
    pub cases: Cases,
}

/// The content of an event, which depends on its kind.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub union Cases {
    pub elf_image_loaded: ElfImageLoaded,
    pub elf_image_unloaded: ElfImageUnloaded,
    pub kernel_ready: KernelReady,
    pub kernel_finished: KernelFinished,
    pub context_push: Context,
    pub context_pop: Context,
    pub context_create: Context,
    pub context_destroy: Context,
    pub internal_error: InternalError,
    pub functions_loaded: FunctionsLoaded,
    pub all_devices_suspended: AllDevicesSuspended,
    pub single_step_complete: SingleStepComplete,
    pub cuda_logs_ruleset_changed: CudaLogsRulesetChanged,
}

/// A model was loaded, and its image can be read.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct ElfImageLoaded {
    pub dev: u32,
    pub context: u64,
    pub module: u64,
    pub size: u64,
    pub handle: u64,
    pub properties: u32,
}

/// A model was unloaded.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct ElfImageUnloaded {
    pub dev: u32,
    pub context: u64,
    pub module: u64,
    pub size: u64,
    pub handle: u64,
}

/// An operator is about to be executed.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct KernelReady {
    pub dev: u32,
    pub tid: u32,
    pub grid_id: u64,
    pub context: u64,
    pub module: u64,
    pub function: u64,
    pub function_entry: u64,
    pub grid_dim: Dim3,
    pub block_dim: Dim3,
    pub kernel_type: u32,
    pub reserved0: u64,
    pub origin: u32,
}

/// An operator was executed.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct KernelFinished {
    pub dev: u32,
    pub tid: u32,
    pub context: u64,
    pub module: u64,
    pub function: u64,
    pub function_entry: u64,
    pub grid_id: u64,
}

/// A run began or ended, or a model was loaded or unloaded.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct Context {
    pub dev: u32,
    pub tid: u32,
    pub context: u64,
}

/// The debugger failed.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct InternalError {
    pub error_type: u32,
}

/// The operators of a model have their addresses.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct FunctionsLoaded {
    pub dev: u32,
    pub count: u32,
    pub context: u64,
    pub module: u64,
}

/// The device is stopped.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct AllDevicesSuspended {
    pub broken_devices_mask: u64,
    pub faulted_devices_mask: u64,
}

/// A step that did not block has ended.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct SingleStepComplete {
    pub dev: u32,
    pub sm: u32,
    pub context: u64,
    pub original_warp_mask: u64,
    pub final_warp_mask: u64,
    pub broken_devices_mask: u64,
    pub faulted_devices_mask: u64,
    pub step_type: u32,
}

/// The rules for logs have changed.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct CudaLogsRulesetChanged {
    pub ruleset_index: u32,
}

layout!(
    Event, 92, 1: kind @ 0, cases @ 4, cases.elf_image_loaded.dev @ 4, cases.elf_image_loaded.context @ 8,
    cases.elf_image_loaded.module @ 16, cases.elf_image_loaded.size @ 24, cases.elf_image_loaded.handle @ 32,
    cases.elf_image_loaded.properties @ 40, cases.elf_image_unloaded.dev @ 4, cases.elf_image_unloaded.context @ 8,
    cases.elf_image_unloaded.module @ 16, cases.elf_image_unloaded.size @ 24, cases.elf_image_unloaded.handle @ 32,
    cases.kernel_ready.dev @ 4, cases.kernel_ready.tid @ 8, cases.kernel_ready.grid_id @ 12,
    cases.kernel_ready.context @ 20, cases.kernel_ready.module @ 28, cases.kernel_ready.function @ 36,
    cases.kernel_ready.function_entry @ 44, cases.kernel_ready.grid_dim @ 52, cases.kernel_ready.block_dim @ 64,
    cases.kernel_ready.kernel_type @ 76, cases.kernel_ready.reserved0 @ 80, cases.kernel_ready.origin @ 88,
    cases.kernel_finished.dev @ 4, cases.kernel_finished.tid @ 8, cases.kernel_finished.context @ 12,
    cases.kernel_finished.module @ 20, cases.kernel_finished.function @ 28,
    cases.kernel_finished.function_entry @ 36, cases.kernel_finished.grid_id @ 44, cases.context_push.dev @ 4,
    cases.context_push.tid @ 8, cases.context_push.context @ 12, cases.context_pop.dev @ 4,
    cases.context_pop.tid @ 8, cases.context_pop.context @ 12, cases.context_create.dev @ 4,
    cases.context_create.tid @ 8, cases.context_create.context @ 12, cases.context_destroy.dev @ 4,
    cases.context_destroy.tid @ 8, cases.context_destroy.context @ 12, cases.internal_error.error_type @ 4,
    cases.functions_loaded.dev @ 4, cases.functions_loaded.count @ 8, cases.functions_loaded.context @ 12,
    cases.functions_loaded.module @ 20, cases.all_devices_suspended.broken_devices_mask @ 4,
    cases.all_devices_suspended.faulted_devices_mask @ 12, cases.single_step_complete.dev @ 4,
    cases.single_step_complete.sm @ 8, cases.single_step_complete.context @ 12,
    cases.single_step_complete.original_warp_mask @ 20, cases.single_step_complete.final_warp_mask @ 28,
    cases.single_step_complete.broken_devices_mask @ 36, cases.single_step_complete.faulted_devices_mask @ 44,
    cases.single_step_complete.step_type @ 52, cases.cuda_logs_ruleset_changed.ruleset_index @ 4
);

// SAFETY: `zeroed` initializes all bytes of an event, and no case that is written to it has padding.
unsafe impl Unpadded for Event {}
