//! The payloads of callback records.

use std::ffi::{c_char, c_int, c_void};

use opscope_border::{In, Text};

use super::{CallbackRecord, DispatchInfo, Handle, assert_layout};

/// The arguments of a marker function, each read with the type that the function declares.
#[repr(C)]
#[derive(Clone, Copy)]
pub union MarkerArguments {
    pub words: [u64; 2],
    pub text: *const c_char,
}

/// An argument of a marker function, in a callback record.
pub struct MarkerArgument<'a> {
    place: &'a u64,
}

impl<'a> MarkerArgument<'a> {
    /// Returns the argument's address.
    pub fn as_ptr(&self) -> *const c_void {
        std::ptr::from_ref(self.place).cast()
    }

    /// Returns the argument as a word.
    pub fn word(&self) -> u64 {
        *self.place
    }

    /// Returns the argument as a text, which belongs to the program and is valid during the callback.
    pub fn text(&self) -> Text<'a> {
        // SAFETY: a tool queries the arguments of the function that its record is about.
        unsafe { Text::from_ptr(*self.place as *const c_char) }
    }

    /// Returns the number that the argument points to.
    pub fn number(&self) -> In<'a, u64> {
        // SAFETY: as above.
        unsafe { In::from_ptr(*self.place as *const u64) }
    }
}

impl CallbackRecord {
    /// Returns the arguments of the marker function that the record is about; `None` without a payload.
    pub fn marker_arguments(&self) -> Option<[MarkerArgument<'_>; 2]> {
        // SAFETY: a marker's record has this payload, and a tool passes the record during its callback.
        let data = unsafe { self.payload.cast::<MarkerData>().as_ref()? };
        // SAFETY: every argument is a word.
        Some(unsafe { &data.arguments.words }.each_ref().map(|place| MarkerArgument { place }))
    }
}

/// A call of a marker function.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct MarkerData {
    pub size: u64,
    pub arguments: MarkerArguments,
    /// The function's result; 0 before the call. An int is in the lower half.
    pub result: u64,
}

/// A dispatch.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelDispatchData {
    pub size: u64,
    pub start: u64,
    pub end: u64,
    pub dispatch_info: DispatchInfo,
}

/// A copy between memories.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemoryCopyData {
    pub size: u64,
    pub start: u64,
    pub end: u64,
    pub destination_agent: Handle,
    pub source_agent: Handle,
    pub bytes: u64,
    pub destination_address: u64,
    pub source_address: u64,
}

/// An allocation or release of memory.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct MemoryAllocationData {
    pub size: u64,
    pub start: u64,
    pub end: u64,
    pub agent_id: Handle,
    pub address: u64,
    pub bytes: u64,
}

/// A code object that was loaded or unloaded.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct CodeObjectLoad {
    pub size: u64,
    pub code_object_id: u64,
    pub agent_id: Handle,
    pub hsa_agent: u64,
    pub uri: *const c_char,
    pub load_base: u64,
    pub load_size: u64,
    pub load_delta: i64,
    pub storage_type: c_int,
    pub storage: [u64; 2],
}

/// A kernel in a code object.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct KernelSymbol {
    pub size: u64,
    pub kernel_id: u64,
    pub code_object_id: u64,
    pub kernel_name: *const c_char,
    pub kernel_object: u64,
    pub kernarg_segment_size: u32,
    pub kernarg_segment_alignment: u32,
    pub group_segment_size: u32,
    pub private_segment_size: u32,
    pub sgpr_count: u32,
    pub arch_vgpr_count: u32,
    pub accum_vgpr_count: u32,
    pub kernel_code_entry_byte_offset: i64,
    pub kernel_address: u64,
}

/// A runtime that registered itself.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct RuntimeInitializationData {
    pub size: u64,
    pub version: u64,
    pub instance: u64,
}

assert_layout!(MarkerData, 32: size @ 0, arguments @ 8, result @ 24);
assert_layout!(KernelDispatchData, 152: size @ 0, start @ 8, end @ 16, dispatch_info @ 24);
assert_layout!(
    MemoryCopyData, 64: size @ 0, start @ 8, end @ 16, destination_agent @ 24, source_agent @ 32, bytes @ 40,
    destination_address @ 48, source_address @ 56
);
assert_layout!(MemoryAllocationData, 48: size @ 0, start @ 8, end @ 16, agent_id @ 24, address @ 32, bytes @ 40);
assert_layout!(
    CodeObjectLoad, 88: size @ 0, code_object_id @ 8, agent_id @ 16, hsa_agent @ 24, uri @ 32, load_base @ 40,
    load_size @ 48, load_delta @ 56, storage_type @ 64, storage @ 72
);
assert_layout!(
    KernelSymbol, 88: size @ 0, kernel_id @ 8, code_object_id @ 16, kernel_name @ 24, kernel_object @ 32,
    kernarg_segment_size @ 40, kernarg_segment_alignment @ 44, group_segment_size @ 48, private_segment_size @ 52,
    sgpr_count @ 56, arch_vgpr_count @ 60, accum_vgpr_count @ 64, kernel_code_entry_byte_offset @ 72,
    kernel_address @ 80
);
assert_layout!(RuntimeInitializationData, 24: size @ 0, version @ 8, instance @ 16);
