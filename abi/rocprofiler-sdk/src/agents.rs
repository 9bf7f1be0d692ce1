//! The agents: the processor of this machine, and the engine, which tools see in place of a GPU.

use std::ffi::{CStr, CString, c_char};
use std::fs;
use std::sync::OnceLock;

use opscope_border::{Items, exported, system};

use crate::border::{Data, Status};
use crate::handles;
use crate::layout::{Agent, AgentMemoryBank, Dim3, Handle};

/// A tool's function that receives the agents.
type AgentsCallback = extern "C-unwind" fn(u32, Items<'_, &'static Agent>, usize, Data) -> u32;

/// The version of the agent structure.
const VERSION: u32 = 1;

const CPU: i32 = 1;
const GPU: i32 = 2;

/// The agents: the host and the engine.
struct Agents {
    host: Agent,
    engine: Agent,
}

/// Returns the id of the processor.
pub fn host() -> Handle {
    agents().host.id
}

/// Returns the id of the engine.
pub fn engine() -> Handle {
    agents().engine.id
}

/// Calls back once with all agents. The memory behind them is valid as long as the process lives. `size` is the size of
/// the structure as the tool knows it; an older, shorter one is accepted. Returns what the callback returns.
#[exported]
pub extern "C-unwind" fn rocprofiler_query_available_agents(
    version: u32,
    callback: Option<AgentsCallback>,
    size: usize,
    data: Data,
) -> u32 {
    let Some(callback) = callback.filter(|_| version == VERSION) else { return Status::InvalidArgument as u32 };
    if size > size_of::<Agent>() {
        return Status::IncompatibleAbi as u32;
    }
    let agents = agents();
    let pointers = [&agents.host, &agents.engine];
    callback(VERSION, Items::from(&pointers[..]), pointers.len(), data)
}

/// Always fails, because there are no counters: returns `AgentArchNotSupported` if the agent exists, else
/// `AgentNotFound`.
#[exported]
pub fn rocprofiler_iterate_agent_supported_counters(
    agent: Handle,
    callback: Option<extern "C-unwind" fn()>,
    _data: Data,
) -> Status {
    match agent {
        _ if callback.is_none() => Status::InvalidArgument,
        agent if agent == host() || agent == engine() => Status::AgentArchNotSupported,
        _ => Status::AgentNotFound,
    }
}

fn agents() -> &'static Agents {
    static AGENTS: OnceLock<Agents> = OnceLock::new();
    AGENTS.get_or_init(|| {
        let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u32);
        let memory = system::memory();
        let bank = AgentMemoryBank { heap_type: 0, flags: 0, width: 64, mem_clk_max: 0, size_in_bytes: memory };
        let bank: &'static AgentMemoryBank = Box::leak(Box::new(bank));
        let processor = kept(processor_name());
        let host = Agent {
            agent_type: CPU,
            cpu_cores_count: cores,
            cu_count: cores,
            runtime_visibility: u32::MAX,
            name: processor,
            vendor_name: c"CPU".as_ptr(),
            product_name: processor,
            model_name: c"".as_ptr(),
            ..agent(bank)
        };
        let engine = Agent {
            agent_type: GPU,
            simd_count: cores,
            cu_count: cores,
            simd_per_cu: 1,
            max_waves_per_simd: 1,
            max_waves_per_cu: 1,
            wave_front_size: vector_width(),
            workgroup_max_size: 1024,
            grid_max_size: u32::MAX,
            workgroup_max_dim: Dim3 { x: 1024, y: 1024, z: 1024 },
            grid_max_dim: Dim3 { x: i32::MAX as u32, y: 65_535, z: 65_535 },
            local_mem_size: memory,
            gpu_id: 1,
            runtime_visibility: u32::MAX,
            name: c"opscope".as_ptr(),
            vendor_name: c"opscope".as_ptr(),
            product_name: c"inference engine".as_ptr(),
            model_name: processor,
            node_id: 1,
            logical_node_id: 1,
            ..agent(bank)
        };
        Agents { host, engine }
    })
}

/// Returns an agent with the fields that all agents share.
fn agent(bank: &'static AgentMemoryBank) -> Agent {
    let nothing = Agent::zeroed();
    let (size, id) = (size_of::<Agent>() as u64, Handle(handles::AGENTS.next()));
    Agent { size, id, num_xcc: 1, mem_banks_count: 1, mem_banks: bank, ..nothing }
}

/// Leaks a text, so that it lives as long as the process.
fn kept(text: String) -> *const c_char {
    let text: &'static CStr = Box::leak(CString::new(text).unwrap_or_default().into_boxed_c_str());
    text.as_ptr()
}

fn processor_name() -> String {
    let facts = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = facts.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or_else(|| std::env::consts::ARCH.to_owned(), |(_, name)| name.trim().to_owned())
}

/// Returns the number of 32-bit lanes in the processor's widest vector.
fn vector_width() -> u32 {
    #[cfg(target_arch = "x86_64")]
    {
        if std::arch::is_x86_feature_detected!("avx512f") {
            return 16;
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            return 8;
        }
    }
    4
}
