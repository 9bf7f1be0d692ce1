use std::ffi::c_char;

use super::{Dim3, Handle, assert_layout};

/// A processor that executes work: `rocprofiler_agent_v0_t`.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct Agent {
    pub size: u64,
    pub id: Handle,
    pub agent_type: i32,
    pub cpu_cores_count: u32,
    pub simd_count: u32,
    pub mem_banks_count: u32,
    pub caches_count: u32,
    pub io_links_count: u32,
    pub cpu_core_id_base: u32,
    pub simd_id_base: u32,
    pub max_waves_per_simd: u32,
    pub lds_size_in_kb: u32,
    pub gds_size_in_kb: u32,
    pub num_gws: u32,
    pub wave_front_size: u32,
    pub num_xcc: u32,
    pub cu_count: u32,
    pub array_count: u32,
    pub num_shader_banks: u32,
    pub simd_arrays_per_engine: u32,
    pub cu_per_simd_array: u32,
    pub simd_per_cu: u32,
    pub max_slots_scratch_cu: u32,
    pub gfx_target_version: u32,
    pub vendor_id: u16,
    pub device_id: u16,
    pub location_id: u32,
    pub domain: u32,
    pub drm_render_minor: u32,
    pub num_sdma_engines: u32,
    pub num_sdma_xgmi_engines: u32,
    pub num_sdma_queues_per_engine: u32,
    pub num_cp_queues: u32,
    pub max_engine_clk_ccompute: u32,
    pub max_engine_clk_fcompute: u32,
    pub sdma_fw_version: u32,
    pub fw_version: u32,
    pub capability: u32,
    pub cu_per_engine: u32,
    pub max_waves_per_cu: u32,
    pub family_id: u32,
    pub workgroup_max_size: u32,
    pub grid_max_size: u32,
    pub local_mem_size: u64,
    pub hive_id: u64,
    pub gpu_id: u64,
    pub workgroup_max_dim: Dim3,
    pub grid_max_dim: Dim3,
    pub mem_banks: *const AgentMemoryBank,
    pub caches: *const AgentCache,
    pub io_links: *const AgentIoLink,
    pub name: *const c_char,
    pub vendor_name: *const c_char,
    pub product_name: *const c_char,
    pub model_name: *const c_char,
    pub node_id: u32,
    pub logical_node_id: i32,
    pub logical_node_type_id: i32,
    pub runtime_visibility: u32,
    pub uuid: [u8; 16],
}

/// A memory bank.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AgentMemoryBank {
    pub heap_type: u32,
    pub flags: u32,
    pub width: u32,
    pub mem_clk_max: u32,
    pub size_in_bytes: u64,
}

/// A cache. None is reported.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AgentCache([u64; 5]);

/// A link between agents. None is reported.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub struct AgentIoLink([u64; 6]);

impl Agent {
    /// Returns an agent with all fields unknown.
    pub fn zeroed() -> Self {
        // SAFETY: zero is valid in every field: they are numbers, and pointers that may be NULL.
        unsafe { std::mem::zeroed() }
    }
}

// SAFETY: an agent never changes after its creation, and the memory behind it lives as long as the process.
unsafe impl Send for Agent {}
// SAFETY: as above.
unsafe impl Sync for Agent {}

assert_layout!(
    Agent, 312: size @ 0, id @ 8, agent_type @ 16, cpu_cores_count @ 20, simd_count @ 24, mem_banks_count @ 28,
    caches_count @ 32, io_links_count @ 36, cpu_core_id_base @ 40, simd_id_base @ 44, max_waves_per_simd @ 48,
    lds_size_in_kb @ 52, gds_size_in_kb @ 56, num_gws @ 60, wave_front_size @ 64, num_xcc @ 68, cu_count @ 72,
    array_count @ 76, num_shader_banks @ 80, simd_arrays_per_engine @ 84, cu_per_simd_array @ 88, simd_per_cu @ 92,
    max_slots_scratch_cu @ 96, gfx_target_version @ 100, vendor_id @ 104, device_id @ 106, location_id @ 108,
    domain @ 112, drm_render_minor @ 116, num_sdma_engines @ 120, num_sdma_xgmi_engines @ 124,
    num_sdma_queues_per_engine @ 128, num_cp_queues @ 132, max_engine_clk_ccompute @ 136,
    max_engine_clk_fcompute @ 140, sdma_fw_version @ 144, fw_version @ 148, capability @ 152, cu_per_engine @ 156,
    max_waves_per_cu @ 160, family_id @ 164, workgroup_max_size @ 168, grid_max_size @ 172, local_mem_size @ 176,
    hive_id @ 184, gpu_id @ 192, workgroup_max_dim @ 200, grid_max_dim @ 212, mem_banks @ 224, caches @ 232,
    io_links @ 240, name @ 248, vendor_name @ 256, product_name @ 264, model_name @ 272, node_id @ 280,
    logical_node_id @ 284, logical_node_type_id @ 288, runtime_visibility @ 292, uuid @ 296
);
const _: () =
    assert!(size_of::<AgentMemoryBank>() == 24 && size_of::<AgentCache>() == 40 && size_of::<AgentIoLink>() == 48);
