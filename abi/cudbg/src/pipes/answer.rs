//! The server's answers. Each command is a function of the table. An answer has all outputs even if the function
//! failed, because a debugger reads them before it looks at the result.

use opscope_border::{Answer, Bytes, ItemsOut};

use super::message::{Command, Malformed, Reply, Request, room};
use crate::border::{Status, last_message};
use crate::calls;
use crate::layout::device::{
    DeviceInfoSizes, Dim3, GridInfo, LoadedFunctionInfo, MemoryInfo, WarpResources, WarpState,
};
use crate::layout::event::Event;
use crate::layout::zeroed;
use crate::version::{MAJOR, MINOR, REVISION, request as request_version};

/// Calls a function of the table whose outputs are its last parameters, and answers with them.
macro_rules! outputs {
    ($function:ident($($argument:expr),*), $($output:ident: $type:ty),+) => {{
        $(let mut $output: $type = zeroed();)+
        let status = calls::$function($($argument,)* $((&mut $output).into()),+);
        Reply::new(status)$(.and(&$output))+
    }};
}

/// Calls a function of the table with a buffer to write to and the number of elements that fit into it. Returns the
/// whole buffer.
#[allow(unsafe_code, reason = "a buffer is passed as C passes one")]
fn filled<T>(mut bytes: Vec<u8>, call: impl FnOnce(ItemsOut<'_, T>, u32) -> Status) -> (Status, Vec<u8>) {
    let count = (bytes.len() / size_of::<T>()) as u32;
    // SAFETY: this many elements fit into the buffer, and each caller passes the count along with it.
    let status = call(unsafe { ItemsOut::from_ptr(bytes.as_mut_ptr().cast()) }, count);
    (status, bytes)
}

/// Does the same as [`filled`], and answers with the buffer.
fn buffer<T>(bytes: Vec<u8>, call: impl FnOnce(ItemsOut<'_, T>, u32) -> Status) -> Reply {
    let (status, bytes) = filled(bytes, call);
    Reply::new(status).and_bytes(&bytes)
}

/// Answers a command.
///
/// # Errors
/// Returns an error if the request does not have the arguments of the command, or asks for more than any debugger
/// would.
pub fn answer(command: Command, request: &mut Request) -> Result<Reply, Malformed> {
    use Command as C;
    Ok(match command {
        C::Initialize => initialize(request)?,
        C::Finalize => Reply::new(calls::finalize()),
        C::ClearAttachState => Reply::new(calls::clear_attach_state()),
        C::InitializeAttachStub => Reply::new(calls::initialize_attach_stub()),
        C::RequestCleanupOnDetach => Reply::new(calls::request_cleanup_on_detach(request.u32()?)),
        C::GetSupportedDebuggerCapabilities => outputs!(get_supported_debugger_capabilities(), flags: u32),
        C::GetErrorStringEx => {
            let text = last_message();
            let size = text.len() as u32 + 1;
            Reply::new(Status::Success).and(&size).and_bytes(text.as_bytes()).and_bytes(&[0])
        }
        // Notifications have their own pipe.
        C::SetNotifyNewEventCallback => Reply::new(Status::Success),
        C::SuspendDevice => Reply::new(calls::suspend_device(request.u32()?)),
        C::ResumeDevice => Reply::new(calls::resume_device(request.u32()?)),
        C::AcknowledgeSyncEvents => Reply::new(calls::acknowledge_sync_events()),
        C::SetKernelLaunchNotificationMode => Reply::new(calls::set_kernel_launch_notification_mode(request.u32()?)),
        C::GetNextEvent => outputs!(get_next_event(request.u32()?), event: Event),
        C::SetBreakpoint => Reply::new(calls::set_breakpoint(request.u32()?, request.u64()?)),
        C::UnsetBreakpoint => Reply::new(calls::unset_breakpoint(request.u32()?, request.u64()?)),
        C::SingleStepWarp41 | C::SingleStepWarp65 | C::SingleStepWarp | C::ResumeWarpsUntilPc => {
            step(command, request)?
        }
        C::GetNumDevices => outputs!(get_num_devices(), count: u32),
        C::GetDeviceType | C::GetSmType | C::GetDeviceName => device_text(command, request)?,
        C::GetNumSms
        | C::GetNumWarps
        | C::GetNumLanes
        | C::GetNumRegisters
        | C::GetNumPredicates
        | C::GetNumUniformRegisters
        | C::GetNumUniformPredicates
        | C::GetDevicePciBusInfo
        | C::GetDeviceInfoSizes => of_device(command, request.u32()?),
        C::GetDeviceInfo => device_info(request)?,
        C::ReadDeviceExceptionState80 => outputs!(read_device_exception_state80(request.u32()?), mask: u64),
        C::ReadDeviceExceptionState => {
            let [dev, words] = request.u32s()?;
            buffer(room(words.into(), size_of::<u64>())?, |to, words| {
                calls::read_device_exception_state(dev, to, words)
            })
        }
        C::ReadBrokenWarps | C::ReadValidWarps | C::ReadSmException => of_multiprocessor(command, request.u32s()?),
        C::ReadValidLanes
        | C::ReadActiveLanes
        | C::GetBlockDim
        | C::GetTid
        | C::ReadBlockIdx
        | C::GetGridDim
        | C::ReadGridId
        | C::ReadErrorPc
        | C::ReadWarpState60
        | C::ReadWarpState120
        | C::ReadWarpState127
        | C::ReadClusterIdx
        | C::GetClusterDim
        | C::GetClusterExceptionTargetBlock
        | C::ReadWarpResources => of_warp(command, request.u32s()?),
        C::GetGridAttribute => {
            let [dev, sm, wp, attribute] = request.u32s()?;
            outputs!(get_grid_attribute(dev, sm, wp, attribute), value: u64)
        }
        C::ReadThreadIdx
        | C::ReadPc
        | C::ReadVirtualPc
        | C::ReadLaneStatus
        | C::ReadLaneException
        | C::ReadCallDepth
        | C::ReadSyscallCallDepth
        | C::ReadAllVirtualReturnAddresses => of_lane(command, request.u32s()?),
        C::ReadRegister => {
            let [dev, sm, wp, ln, number] = request.u32s()?;
            outputs!(read_register(dev, sm, wp, ln, number), value: u32)
        }
        C::ReadReturnAddress => {
            let [dev, sm, wp, ln, level] = request.u32s()?;
            outputs!(read_return_address(dev, sm, wp, ln, level), address: u64)
        }
        C::ReadVirtualReturnAddress => {
            let [dev, sm, wp, ln, level] = request.u32s()?;
            outputs!(read_virtual_return_address(dev, sm, wp, ln, level), address: u64)
        }
        C::ReadRegisterRange => {
            let [dev, sm, wp, ln, first, count] = request.u32s()?;
            buffer(room(count.into(), size_of::<u32>())?, |to, count| {
                calls::read_register_range60(dev, sm, wp, ln, first, count, to)
            })
        }
        C::GetGridStatus | C::GetGridInfo55 | C::GetGridInfo120 | C::GetGridInfo | C::GetClusterDim120 => {
            of_grid(command, request.u32()?, request.u64()?)
        }
        C::GetElfImageByHandle | C::GetLoadedFunctionInfo118 | C::GetLoadedFunctionInfo => of_image(command, request)?,
        C::IsDeviceCodeAddress => outputs!(is_device_code_address(request.u64()? as usize), is_code: bool),
        C::GetAdjustedCodeAddress => {
            let (dev, address, action) = (request.u32()?, request.u64()?, request.u32()?);
            let mut adjusted = 0;
            let status = calls::get_adjusted_code_address(dev, address, (&mut adjusted).into(), action);
            Reply::new(status).and(&adjusted)
        }
        C::Disassemble => {
            let (dev, address, room_for_text) = (request.u32()?, request.u64()?, request.u32()?);
            let mut size = 0;
            let (status, text) = filled(room(room_for_text.into(), 1)?, |to, room| {
                calls::disassemble(dev, address, (&mut size).into(), to, room)
            });
            Reply::new(status).and(&size).and_bytes(&text)
        }
        C::ReadConstMemory | C::ReadGenericMemory | C::ReadGlobalMemory => read_memory(command, request)?,
        C::WriteGenericMemory | C::WriteGlobalMemory => write_memory(command, request)?,
        C::GetManagedMemoryRegionInfo => {
            let (start, capacity) = (request.u64()?, request.u32()?);
            let mut count = 0;
            let (status, regions) = filled(room(capacity.into(), size_of::<MemoryInfo>())?, |to, capacity| {
                calls::get_managed_memory_region_info(start, to, capacity, (&mut count).into())
            });
            Reply::new(status).and(&count).and_bytes(&regions)
        }
        C::GetApi
        | C::GetApiVersion
        | C::ReadCodeMemory
        | C::ReadParamMemory
        | C::ReadSharedMemory
        | C::ReadLocalMemory
        | C::WriteParamMemory
        | C::WriteSharedMemory
        | C::WriteLocalMemory
        | C::WriteRegister
        | C::LookupDeviceCodeSymbol
        | C::GetGridAttributes
        | C::ReadPinnedMemory
        | C::WritePinnedMemory
        | C::ReadTextureMemory
        | C::GetHostAddrFromDeviceAddr
        | C::ReadTextureMemoryBindless
        | C::MemcheckReadErrorAddress
        | C::ReadPredicates
        | C::WritePredicates
        | C::ReadCcRegister
        | C::WriteCcRegister
        | C::ReadUniformRegisterRange
        | C::WriteUniformRegister
        | C::ReadUniformPredicates
        | C::WriteUniformPredicates
        | C::GenerateCoredump
        | C::GetConstBankAddress123
        | C::GetConstBankAddress
        | C::ExecuteInternalCommand => unsupported(command, request)?,
    })
}

fn initialize(request: &mut Request) -> Result<Reply, Malformed> {
    let [_, _, revision] = request.u32s()?;
    let status = Answer::answer(|| request_version(revision));
    let status = if status == Status::Success { calls::initialize() } else { status };
    Ok(Reply::new(status).and(&MAJOR).and(&MINOR).and(&REVISION))
}

fn step(command: Command, request: &mut Request) -> Result<Reply, Malformed> {
    if command == Command::ResumeWarpsUntilPc {
        let ([dev, sm], mask, pc) = (request.u32s()?, request.u64()?, request.u64()?);
        return Ok(Reply::new(calls::resume_warps_until_pc60(dev, sm, mask, pc)));
    }
    let [dev, sm, wp] = request.u32s()?;
    Ok(match command {
        Command::SingleStepWarp65 => outputs!(single_step_warp65(dev, sm, wp, request.u32()?), mask: u64),
        Command::SingleStepWarp => {
            let [lane, steps, flags] = request.u32s()?;
            outputs!(single_step_warp(dev, sm, wp, lane, steps, flags), mask: u64)
        }
        _ => outputs!(single_step_warp41(dev, sm, wp), mask: u64),
    })
}

fn device_text(command: Command, request: &mut Request) -> Result<Reply, Malformed> {
    let [dev, size] = request.u32s()?;
    let function = match command {
        Command::GetDeviceType => calls::get_device_type,
        Command::GetSmType => calls::get_sm_type,
        _ => calls::get_device_name,
    };
    Ok(buffer(room(size.into(), 1)?, |to, size| function(dev, to, size)))
}

fn of_device(command: Command, dev: u32) -> Reply {
    match command {
        Command::GetNumSms => outputs!(get_num_sms(dev), count: u32),
        Command::GetNumWarps => outputs!(get_num_warps(dev), count: u32),
        Command::GetNumLanes => outputs!(get_num_lanes(dev), count: u32),
        Command::GetNumRegisters => outputs!(get_num_registers(dev), count: u32),
        Command::GetNumPredicates => outputs!(get_num_predicates(dev), count: u32),
        Command::GetNumUniformRegisters => outputs!(get_num_uniform_registers(dev), count: u32),
        Command::GetNumUniformPredicates => outputs!(get_num_uniform_predicates(dev), count: u32),
        Command::GetDevicePciBusInfo => outputs!(get_device_pci_bus_info(dev), bus: u32, device: u32),
        _ => outputs!(get_device_info_sizes(dev), sizes: DeviceInfoSizes),
    }
}

fn device_info(request: &mut Request) -> Result<Reply, Malformed> {
    let [dev, query, size] = request.u32s()?;
    let mut written = 0;
    let (status, bytes) =
        filled(room(size.into(), 1)?, |to, size| calls::get_device_info(dev, query, to, size, (&mut written).into()));
    Ok(Reply::new(status).and(&written).and_bytes(&bytes[..written as usize]))
}

fn of_multiprocessor(command: Command, [dev, sm]: [u32; 2]) -> Reply {
    match command {
        Command::ReadBrokenWarps => outputs!(read_broken_warps(dev, sm), mask: u64),
        Command::ReadValidWarps => outputs!(read_valid_warps(dev, sm), mask: u64),
        _ => outputs!(read_sm_exception(dev, sm), exception: u32, pc: u64, is_valid: bool),
    }
}

fn of_warp(command: Command, [dev, sm, wp]: [u32; 3]) -> Reply {
    match command {
        Command::ReadValidLanes => outputs!(read_valid_lanes(dev, sm, wp), mask: u32),
        Command::ReadActiveLanes => outputs!(read_active_lanes(dev, sm, wp), mask: u32),
        Command::GetBlockDim => outputs!(get_block_dim(dev, sm, wp), dimensions: Dim3),
        Command::GetTid => outputs!(get_tid(dev, sm, wp), thread: u32),
        Command::ReadBlockIdx => outputs!(read_block_idx(dev, sm, wp), index: Dim3),
        Command::GetGridDim => outputs!(get_grid_dim(dev, sm, wp), dimensions: Dim3),
        Command::ReadGridId => outputs!(read_grid_id(dev, sm, wp), grid: u64),
        Command::ReadErrorPc => outputs!(read_error_pc(dev, sm, wp), pc: u64, is_valid: bool),
        Command::ReadWarpState60 => outputs!(read_warp_state60(dev, sm, wp), state: [u8; WarpState::BYTES_60]),
        Command::ReadWarpState120 => outputs!(read_warp_state120(dev, sm, wp), state: [u8; WarpState::BYTES_120]),
        Command::ReadWarpState127 => outputs!(read_warp_state127(dev, sm, wp), state: [u8; WarpState::BYTES_127]),
        Command::ReadClusterIdx => outputs!(read_cluster_idx(dev, sm, wp), index: Dim3),
        Command::GetClusterDim => outputs!(get_cluster_dim(dev, sm, wp), dimensions: Dim3),
        Command::GetClusterExceptionTargetBlock => {
            outputs!(get_cluster_exception_target_block(dev, sm, wp), block: Dim3, is_valid: bool)
        }
        _ => outputs!(read_warp_resources(dev, sm, wp), resources: WarpResources),
    }
}

fn of_lane(command: Command, [dev, sm, wp, ln]: [u32; 4]) -> Reply {
    match command {
        Command::ReadThreadIdx => outputs!(read_thread_idx(dev, sm, wp, ln), index: Dim3),
        Command::ReadPc => outputs!(read_pc(dev, sm, wp, ln), pc: u64),
        Command::ReadVirtualPc => outputs!(read_virtual_pc(dev, sm, wp, ln), pc: u64),
        Command::ReadLaneStatus => outputs!(read_lane_status(dev, sm, wp, ln), has_failed: bool),
        Command::ReadLaneException => outputs!(read_lane_exception(dev, sm, wp, ln), exception: u32),
        Command::ReadCallDepth => outputs!(read_call_depth(dev, sm, wp, ln), depth: u32),
        Command::ReadSyscallCallDepth => outputs!(read_syscall_call_depth(dev, sm, wp, ln), depth: u32),
        // There are no nested calls, so no addresses follow.
        _ => outputs!(
            read_all_virtual_return_addresses(dev, sm, wp, ln, ItemsOut::NULL, 0),
            depth: u32,
            system_calls: u32
        ),
    }
}

fn of_grid(command: Command, dev: u32, grid: u64) -> Reply {
    match command {
        Command::GetGridStatus => outputs!(get_grid_status(dev, grid), status: u32),
        Command::GetClusterDim120 => outputs!(get_cluster_dim120(dev, grid), dimensions: Dim3),
        Command::GetGridInfo55 => outputs!(get_grid_info55(dev, grid), info: [u8; GridInfo::BYTES_55]),
        Command::GetGridInfo120 => outputs!(get_grid_info120(dev, grid), info: [u8; GridInfo::BYTES_120]),
        _ => outputs!(get_grid_info(dev, grid), info: [u8; size_of::<GridInfo>()]),
    }
}

fn of_image(command: Command, request: &mut Request) -> Result<Reply, Malformed> {
    let (dev, handle) = (request.u32()?, request.u64()?);
    if command == Command::GetElfImageByHandle {
        let (image_type, size) = (request.u32()?, request.u64()?);
        return Ok(buffer(room(size, 1)?, |to, size| {
            calls::get_elf_image_by_handle(dev, handle, image_type, to, size.into())
        }));
    }
    let start = if command == Command::GetLoadedFunctionInfo { request.u32()? } else { 0 };
    let count = request.u32()?;
    Ok(buffer(room(count.into(), size_of::<LoadedFunctionInfo>())?, |to, count| {
        calls::get_loaded_function_info(dev, handle, to, start, count)
    }))
}

fn read_memory(command: Command, request: &mut Request) -> Result<Reply, Malformed> {
    Ok(match command {
        Command::ReadConstMemory => {
            let (dev, address, size) = (request.u32()?, request.u64()?, request.u32()?);
            buffer(room(size.into(), 1)?, |to, size| calls::read_device_memory(dev, address, to, size))
        }
        Command::ReadGenericMemory => {
            let ([dev, sm, wp, ln], address, size) = (request.u32s()?, request.u64()?, request.u32()?);
            buffer(room(size.into(), 1)?, |to, size| calls::read_generic_memory(dev, sm, wp, ln, address, to, size))
        }
        _ => {
            let (address, size) = (request.u64()?, request.u32()?);
            buffer(room(size.into(), 1)?, |to, size| calls::read_global_memory(address, to, size))
        }
    })
}

fn write_memory(command: Command, request: &mut Request) -> Result<Reply, Malformed> {
    let place = if command == Command::WriteGenericMemory { Some(request.u32s()?) } else { None };
    let (address, size) = (request.u64()?, request.u32()?);
    let data = Bytes::from(request.bytes(size)?);
    let status = match place {
        Some([dev, sm, wp, ln]) => calls::write_generic_memory(dev, sm, wp, ln, address, data, size),
        None => calls::write_global_memory(address, data, size),
    };
    Ok(Reply::new(status))
}

/// Answers a command for something that no operator has. All outputs are zeros.
fn unsupported(command: Command, request: &mut Request) -> Result<Reply, Malformed> {
    use Command as C;
    // The bytes of arguments before the number of outputs; the bytes of outputs that have no such number; the size of
    // each output.
    let (before, fixed, each) = match command {
        C::ReadCodeMemory => (12, 0, 1),
        C::ReadPinnedMemory => (8, 0, 1),
        C::ReadParamMemory | C::ReadSharedMemory => (20, 0, 1),
        C::ReadLocalMemory => (24, 0, 1),
        C::ReadPredicates => (16, 0, 4),
        C::ReadUniformRegisterRange => (16, 0, 4),
        C::ReadUniformPredicates => (12, 0, 4),
        C::GetHostAddrFromDeviceAddr | C::GetConstBankAddress123 => (0, 8, 0),
        C::MemcheckReadErrorAddress | C::GetConstBankAddress => (0, 12, 0),
        C::ReadCcRegister => (0, 4, 0),
        _ => (0, 0, 0),
    };
    let count = if each > 0 {
        request.bytes(before)?;
        request.u32()?
    } else {
        0
    };
    Ok(Reply::new(Status::NotSupported).and_bytes(&[0; 12][..fixed]).and_bytes(&room(count.into(), each)?))
}
