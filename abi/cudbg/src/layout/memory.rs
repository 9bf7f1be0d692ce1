use super::layout;

/// A region of memory.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct MemoryInfo {
    pub start_address: u64,
    pub size: u64,
}

/// A section of an image, and its address.
#[repr(C, packed)]
#[derive(Clone, Copy)]
pub struct LoadedFunctionInfo {
    pub section_index: u64,
    pub address: u64,
}

/// A property of a grid, and its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct AttributeValuePair {
    pub attribute: u32,
    pub value: u64,
}

layout!(MemoryInfo, 16, 1: start_address @ 0, size @ 8);
layout!(LoadedFunctionInfo, 16, 1: section_index @ 0, address @ 8);
layout!(AttributeValuePair, 16, 8: attribute @ 0, value @ 8);
