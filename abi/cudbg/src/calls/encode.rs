//! Converts an event to the structure of each generation. Fields that a generation's structure lacks are left out.

use std::ffi::c_char;

use opscope_debug::Moment;

use crate::addresses;
use crate::layout::device::Dim3;
use crate::layout::event::Event as Event60;
use crate::layout::event30::Event30;
use crate::layout::event32::Event32;
use crate::layout::event42::Event42;
use crate::layout::event50::Event50;
use crate::layout::event55::Event55;
use crate::layout::numbers::{KernelOrigin, KernelType};
use crate::layout::{Layout, event, event30, event32, event42, event50, event55, zeroed};
use crate::session::{Case, Event, Generation, Grid, Module, handle};

/// A structure that an event is written into.
pub trait Structure: Layout {
    const GENERATION: Generation;

    fn of(event: &Event) -> Self;
}

/// Every grid is one block, and every block one thread.
pub const ONE: Dim3 = Dim3 { x: 1, y: 1, z: 1 };

/// Returns the handle of a dispatch's function, which is the address of its operator.
pub fn function(grid: &Grid) -> u64 {
    addresses::operator(grid.model, grid.operator, Moment::Before)
}

impl Structure for Event30 {
    const GENERATION: Generation = Generation::Cuda30;

    fn of(event: &Event) -> Self {
        let mut made: Self = zeroed();
        made.kind = event.kind() as u32;
        match &event.case {
            Case::ImageLoaded(module) => {
                made.cases.elf_image_loaded = event30::ElfImageLoaded {
                    relocated_elf_image: first(&module.image.relocated),
                    non_relocated_elf_image: first(&module.image.non_relocated),
                    size: module.image.relocated.len() as u32,
                };
            }
            Case::KernelReady(grid) => {
                made.cases.kernel_ready = event30::KernelReady { dev: 0, grid_id: grid.id as u32, tid: grid.thread };
            }
            Case::KernelFinished(grid) => {
                made.cases.kernel_finished =
                    event30::KernelFinished { dev: 0, grid_id: grid.id as u32, tid: grid.thread };
            }
            _ => {}
        }
        made
    }
}

impl Structure for Event32 {
    const GENERATION: Generation = Generation::Cuda32;

    fn of(event: &Event) -> Self {
        let mut made: Self = zeroed();
        made.kind = event.kind() as u32;
        match &event.case {
            Case::ImageLoaded(module) => {
                made.cases.elf_image_loaded = event32::ElfImageLoaded {
                    relocated_elf_image: first(&module.image.relocated),
                    non_relocated_elf_image: first(&module.image.non_relocated),
                    size: module.image.relocated.len() as u32,
                    dev: 0,
                    context: handle(event.model),
                    module: handle(event.model),
                };
            }
            Case::KernelReady(grid) => {
                made.cases.kernel_ready = event32::KernelReady {
                    dev: 0,
                    grid_id: grid.id as u32,
                    tid: grid.thread,
                    context: handle(grid.model),
                    module: handle(grid.model),
                    function: function(grid),
                    function_entry: function(grid),
                };
            }
            Case::KernelFinished(grid) => made.cases.kernel_finished = finished(grid),
            _ if is_of_context(event) => made.cases.context_push = context(event),
            _ => {}
        }
        made
    }
}

impl Structure for Event42 {
    const GENERATION: Generation = Generation::Cuda42;

    fn of(event: &Event) -> Self {
        let mut made: Self = zeroed();
        made.kind = event.kind() as u32;
        match &event.case {
            Case::ImageLoaded(module) => made.cases.elf_image_loaded = loaded(event, module),
            Case::KernelReady(grid) => made.cases.kernel_ready = ready(grid),
            Case::KernelFinished(grid) => made.cases.kernel_finished = finished(grid),
            _ if is_of_context(event) => made.cases.context_push = context(event),
            _ => {}
        }
        made
    }
}

impl Structure for Event50 {
    const GENERATION: Generation = Generation::Cuda50;

    fn of(event: &Event) -> Self {
        let mut made: Self = zeroed();
        made.kind = event.kind() as u32;
        match &event.case {
            Case::ImageLoaded(module) => made.cases.elf_image_loaded = loaded(event, module),
            Case::KernelReady(grid) => made.cases.kernel_ready = ready(grid),
            Case::KernelFinished(grid) => made.cases.kernel_finished = finished(grid),
            Case::InternalError(error) => {
                made.cases.internal_error = event50::InternalError { error_type: *error as u32 };
            }
            _ if is_of_context(event) => made.cases.context_push = context(event),
            _ => {}
        }
        made
    }
}

impl Structure for Event55 {
    const GENERATION: Generation = Generation::Cuda55;

    fn of(event: &Event) -> Self {
        let mut made: Self = zeroed();
        made.kind = event.kind() as u32;
        match &event.case {
            Case::ImageLoaded(module) => made.cases.elf_image_loaded = loaded(event, module),
            Case::KernelReady(grid) => {
                made.cases.kernel_ready = event55::KernelReady {
                    dev: 0,
                    grid_id: grid.id as u32,
                    tid: grid.thread,
                    context: handle(grid.model),
                    module: handle(grid.model),
                    function: function(grid),
                    function_entry: function(grid),
                    grid_dim: ONE,
                    block_dim: ONE,
                    kernel_type: KernelType::Application as u32,
                    reserved0: 0,
                    grid_id64: grid.id,
                    origin: KernelOrigin::Cpu as u32,
                };
            }
            Case::KernelFinished(grid) => {
                made.cases.kernel_finished = event55::KernelFinished {
                    dev: 0,
                    grid_id: grid.id as u32,
                    tid: grid.thread,
                    context: handle(grid.model),
                    module: handle(grid.model),
                    function: function(grid),
                    function_entry: function(grid),
                    grid_id64: grid.id,
                };
            }
            Case::InternalError(error) => {
                made.cases.internal_error = event50::InternalError { error_type: *error as u32 };
            }
            _ if is_of_context(event) => made.cases.context_push = context(event),
            _ => {}
        }
        made
    }
}

impl Structure for Event60 {
    const GENERATION: Generation = Generation::Cuda60;

    fn of(event: &Event) -> Self {
        let mut made: Self = zeroed();
        made.kind = event.kind() as u32;
        let (dev, number, tid) = (0, handle(event.model), event.thread);
        match &event.case {
            Case::ImageLoaded(module) => {
                made.cases.elf_image_loaded = event::ElfImageLoaded {
                    dev,
                    context: number,
                    module: number,
                    size: module.image.relocated.len() as u64,
                    handle: number,
                    properties: 0,
                };
            }
            Case::ImageUnloaded(module) => {
                made.cases.elf_image_unloaded = event::ElfImageUnloaded {
                    dev,
                    context: number,
                    module: number,
                    size: module.image.relocated.len() as u64,
                    handle: number,
                };
            }
            Case::FunctionsLoaded { count } => {
                made.cases.functions_loaded =
                    event::FunctionsLoaded { dev, count: *count, context: number, module: number };
            }
            Case::KernelReady(grid) => {
                made.cases.kernel_ready = event::KernelReady {
                    dev,
                    tid: grid.thread,
                    grid_id: grid.id,
                    context: number,
                    module: number,
                    function: function(grid),
                    function_entry: function(grid),
                    grid_dim: ONE,
                    block_dim: ONE,
                    kernel_type: KernelType::Application as u32,
                    reserved0: 0,
                    origin: KernelOrigin::Cpu as u32,
                };
            }
            Case::KernelFinished(grid) => {
                made.cases.kernel_finished = event::KernelFinished {
                    dev,
                    tid: grid.thread,
                    context: number,
                    module: number,
                    function: function(grid),
                    function_entry: function(grid),
                    grid_id: grid.id,
                };
            }
            Case::ContextCreate | Case::ContextDestroy | Case::ContextPush | Case::ContextPop => {
                made.cases.context_create = event::Context { dev, tid, context: number };
            }
            Case::AllDevicesSuspended { broken, faulted } => {
                made.cases.all_devices_suspended =
                    event::AllDevicesSuspended { broken_devices_mask: *broken, faulted_devices_mask: *faulted };
            }
            Case::InternalError(error) => {
                made.cases.internal_error = event::InternalError { error_type: *error as u32 };
            }
            Case::AttachComplete | Case::DetachComplete | Case::Timeout => {}
        }
        made
    }
}

/// Returns whether an event is one of the four about a context.
fn is_of_context(event: &Event) -> bool {
    matches!(event.case, Case::ContextCreate | Case::ContextDestroy | Case::ContextPush | Case::ContextPop)
}

fn context(event: &Event) -> event32::Context {
    event32::Context { dev: 0, tid: event.thread, context: handle(event.model) }
}

fn loaded(event: &Event, module: &Module) -> event42::ElfImageLoaded {
    event42::ElfImageLoaded {
        relocated_elf_image: first(&module.image.relocated),
        non_relocated_elf_image: first(&module.image.non_relocated),
        size32: module.image.relocated.len() as u32,
        dev: 0,
        context: handle(event.model),
        module: handle(event.model),
        size: module.image.relocated.len() as u64,
    }
}

fn ready(grid: &Grid) -> event42::KernelReady {
    event42::KernelReady {
        dev: 0,
        grid_id: grid.id as u32,
        tid: grid.thread,
        context: handle(grid.model),
        module: handle(grid.model),
        function: function(grid),
        function_entry: function(grid),
        grid_dim: ONE,
        block_dim: ONE,
        kernel_type: KernelType::Application as u32,
    }
}

fn finished(grid: &Grid) -> event32::KernelFinished {
    event32::KernelFinished {
        dev: 0,
        grid_id: grid.id as u32,
        tid: grid.thread,
        context: handle(grid.model),
        module: handle(grid.model),
        function: function(grid),
        function_entry: function(grid),
    }
}

fn first(image: &[u8]) -> *const c_char {
    image.as_ptr().cast()
}
