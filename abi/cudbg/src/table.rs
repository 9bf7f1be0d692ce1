//! The table of functions, in the order of the interface. A function never changes its place; new ones are appended.

use std::ffi::c_void;

use opscope_border::Answer;

use crate::border::{Failure, Status, for_events};
use crate::layout::device::Function;
use crate::{calls, session};

/// How many functions there are.
pub const SLOTS: usize = 164;

/// The table that `cudbgGetAPI` returns.
#[repr(C)]
pub struct Table([Function; SLOTS]);

/// Makes the table. A name without a function here gets one that returns `NotSupported`.
macro_rules! table {
    ($( $name:ident $(= $function:ident)?, )*) => {
        /// The names of the functions, as the interface has them.
        #[cfg(test)]
        const NAMES: [&str; SLOTS] = [$(stringify!($name)),*];

        pub static TABLE: Table = Table([$(table!(@slot $name $($function)?)),*]);
    };
    (@slot $name:ident $function:ident) => { Function::new(calls::$function as *const c_void) };
    (@slot $name:ident) => {{
        /// Ignores its arguments. In the C calling convention, the caller removes them.
        extern "C" fn unsupported() -> Status {
            not_supported(stringify!($name))
        }
        Function::new(unsupported as *const c_void)
    }};
}

fn not_supported(name: &str) -> Status {
    let answer = || {
        session::current()?;
        Err(Failure::new(Status::NotSupported, format!("{name} is not supported: an operator has nothing of the kind")))
    };
    // The callbacks of clients since 13.0 may take logs as well as events.
    if name == "consumeCudaLogs" { for_events(answer) } else { Answer::answer(answer) }
}

table! {
    initialize = initialize,
    finalize = finalize,
    suspendDevice = suspend_device,
    resumeDevice = resume_device,
    singleStepWarp40 = single_step_warp40,
    setBreakpoint31 = set_breakpoint31,
    unsetBreakpoint31 = unset_breakpoint31,
    readGridId50 = read_grid_id50,
    readBlockIdx32 = read_block_idx32,
    readThreadIdx = read_thread_idx,
    readBrokenWarps = read_broken_warps,
    readValidWarps = read_valid_warps,
    readValidLanes = read_valid_lanes,
    readActiveLanes = read_active_lanes,
    readCodeMemory,
    readConstMemory129 = read_device_memory,
    readGlobalMemory31 = read_device_memory,
    readParamMemory,
    readSharedMemory,
    readLocalMemory,
    readRegister = read_register,
    readPC = read_pc,
    readVirtualPC = read_virtual_pc,
    readLaneStatus = read_lane_status,
    writeGlobalMemory31 = write_device_memory,
    writeParamMemory,
    writeSharedMemory,
    writeLocalMemory,
    writeRegister,
    getGridDim32 = get_grid_dim32,
    getBlockDim = get_block_dim,
    getTID = get_tid,
    getElfImage32 = get_elf_image32,
    getDeviceType = get_device_type,
    getSmType = get_sm_type,
    getNumDevices = get_num_devices,
    getNumSMs = get_num_sms,
    getNumWarps = get_num_warps,
    getNumLanes = get_num_lanes,
    getNumRegisters = get_num_registers,
    getPhysicalRegister30,
    disassemble = disassemble,
    isDeviceCodeAddress55 = is_device_code_address,
    lookupDeviceCodeSymbol = lookup_device_code_symbol,
    setNotifyNewEventCallback31 = set_notify_new_event_callback31,
    getNextEvent30 = get_next_event30,
    acknowledgeEvent30 = acknowledge_event30,
    getGridAttribute = get_grid_attribute,
    getGridAttributes = get_grid_attributes,
    getPhysicalRegister40,
    readLaneException = read_lane_exception,
    getNextEvent32 = get_next_event32,
    acknowledgeEvents42 = acknowledge_events42,
    readCallDepth32 = read_call_depth32,
    readReturnAddress32 = read_return_address32,
    readVirtualReturnAddress32 = read_virtual_return_address32,
    readGlobalMemory55 = read_generic_memory,
    writeGlobalMemory55 = write_generic_memory,
    readPinnedMemory,
    writePinnedMemory,
    setBreakpoint = set_breakpoint,
    unsetBreakpoint = unset_breakpoint,
    setNotifyNewEventCallback40 = set_notify_new_event_callback40,
    getNextEvent42 = get_next_event42,
    readTextureMemory,
    readBlockIdx = read_block_idx,
    getGridDim = get_grid_dim,
    readCallDepth = read_call_depth,
    readReturnAddress = read_return_address,
    readVirtualReturnAddress = read_virtual_return_address,
    getElfImage = get_elf_image,
    getHostAddrFromDeviceAddr,
    singleStepWarp41 = single_step_warp41,
    setNotifyNewEventCallback41 = set_notify_new_event_callback41,
    readSyscallCallDepth = read_syscall_call_depth,
    readTextureMemoryBindless,
    clearAttachState = clear_attach_state,
    getNextSyncEvent50 = get_next_sync_event50,
    memcheckReadErrorAddress,
    acknowledgeSyncEvents = acknowledge_sync_events,
    getNextAsyncEvent50 = get_next_async_event50,
    requestCleanupOnDetach55 = request_cleanup_on_detach55,
    initializeAttachStub = initialize_attach_stub,
    getGridStatus50 = get_grid_status50,
    getNextSyncEvent55 = get_next_sync_event55,
    getNextAsyncEvent55 = get_next_async_event55,
    getGridInfo55 = get_grid_info55,
    readGridId = read_grid_id,
    getGridStatus = get_grid_status,
    setKernelLaunchNotificationMode = set_kernel_launch_notification_mode,
    getDevicePCIBusInfo = get_device_pci_bus_info,
    readDeviceExceptionState80 = read_device_exception_state80,
    getAdjustedCodeAddress = get_adjusted_code_address,
    readErrorPC = read_error_pc,
    getNextEvent = get_next_event,
    getElfImageByHandle = get_elf_image_by_handle,
    resumeWarpsUntilPC60 = resume_warps_until_pc60,
    readWarpState60 = read_warp_state60,
    readRegisterRange60 = read_register_range60,
    readGenericMemory = read_generic_memory,
    writeGenericMemory = write_generic_memory,
    readGlobalMemory = read_global_memory,
    writeGlobalMemory = write_global_memory,
    getManagedMemoryRegionInfo = get_managed_memory_region_info,
    isDeviceCodeAddress = is_device_code_address,
    requestCleanupOnDetach = request_cleanup_on_detach,
    readPredicates,
    writePredicates,
    getNumPredicates = get_num_predicates,
    readCCRegister,
    writeCCRegister,
    getDeviceName = get_device_name,
    singleStepWarp65 = single_step_warp65,
    readDeviceExceptionState = read_device_exception_state,
    getNumUniformRegisters = get_num_uniform_registers,
    readUniformRegisterRange,
    writeUniformRegister,
    getNumUniformPredicates = get_num_uniform_predicates,
    readUniformPredicates,
    writeUniformPredicates,
    getLoadedFunctionInfo118 = get_loaded_function_info118,
    getGridInfo120 = get_grid_info120,
    getClusterDim120 = get_cluster_dim120,
    readWarpState120 = read_warp_state120,
    readClusterIdx = read_cluster_idx,
    getErrorStringEx = get_error_string_ex,
    getLoadedFunctionInfo = get_loaded_function_info,
    generateCoredump,
    getConstBankAddress123,
    getDeviceInfoSizes = get_device_info_sizes,
    getDeviceInfo = get_device_info,
    getConstBankAddress,
    singleStepWarp = single_step_warp,
    readAllVirtualReturnAddresses = read_all_virtual_return_addresses,
    getSupportedDebuggerCapabilities = get_supported_debugger_capabilities,
    readSmException = read_sm_exception,
    executeInternalCommand,
    getGridInfo = get_grid_info,
    getClusterDim = get_cluster_dim,
    readWarpState127 = read_warp_state127,
    getClusterExceptionTargetBlock = get_cluster_exception_target_block,
    readWarpResources = read_warp_resources,
    getCbuWarpState,
    readWarpState = read_warp_state,
    consumeCudaLogs129,
    readCPUCallStack,
    getCudaExceptionString = get_cuda_exception_string,
    setNotifyNewEventCallback = set_notify_new_event_callback,
    getHardwareBarrierInfo,
    readRegisterRange = read_register_range,
    insertBreakpoint = insert_breakpoint,
    removeBreakpoint = remove_breakpoint,
    enableBreakpoint = enable_breakpoint,
    disableBreakpoint = disable_breakpoint,
    isBreakpointEnabled = is_breakpoint_enabled,
    getWarpHitBreakpoint = get_warp_hit_breakpoint,
    resumeWarpsUntilPC = resume_warps_until_pc,
    suspendAllDevices = suspend_all_devices,
    resumeAllDevices = resume_all_devices,
    getBindlessConstAddress,
    setCudaLogRules,
    consumeCudaLogs,
    readRpcRegisters,
    writeRpcRegisters,
}

#[cfg(test)]
mod tests {
    use super::{NAMES, SLOTS, TABLE};

    #[test]
    fn the_table_has_the_functions_of_the_header_in_its_order_and_none_is_missing() {
        let header = include_str!("../include/cudadebugger.h");
        let (_, fields) = header.split_once("struct CUDBGAPI_st {").expect("the table");
        let (fields, _) = fields.split_once("\n};").expect("its end");
        let declared: Vec<&str> =
            fields.split("(*").skip(1).map(|field| field.split_once(')').expect("a name").0).collect();
        assert_eq!(declared, NAMES);
        assert_eq!(size_of_val(&TABLE), SLOTS * 8);
        assert!(TABLE.0.iter().all(|function| !function.is_null()));
    }
}
