/// Defines the commands, which are numbered from 0 in their order.
macro_rules! commands {
    ($($name:ident)*) => {
        /// The commands of cuda-gdb. They have their own numbers, which are not those of the table: functions that
        /// cuda-gdb does not call have none. Later versions only add commands at the end.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(clippy::enum_variant_names, reason = "they have the names of the functions of the table")]
        pub enum Command {
            $($name,)*
        }

        impl Command {
            /// All commands, by their numbers.
            pub const ALL: &[Self] = &[$(Self::$name),*];
        }
    };
}

commands! {
    GetApi GetApiVersion Initialize Finalize SuspendDevice ResumeDevice ReadThreadIdx ReadBrokenWarps ReadValidWarps ReadValidLanes
    ReadActiveLanes ReadCodeMemory ReadConstMemory ReadParamMemory ReadSharedMemory ReadLocalMemory ReadRegister ReadPc ReadVirtualPc
    ReadLaneStatus WriteParamMemory WriteSharedMemory WriteLocalMemory WriteRegister GetBlockDim GetTid GetDeviceType GetSmType
    GetNumDevices GetNumSms GetNumWarps GetNumLanes GetNumRegisters Disassemble LookupDeviceCodeSymbol GetGridAttribute
    GetGridAttributes ReadLaneException ReadPinnedMemory WritePinnedMemory SetBreakpoint UnsetBreakpoint ReadTextureMemory ReadBlockIdx
    GetGridDim ReadCallDepth ReadReturnAddress ReadVirtualReturnAddress GetHostAddrFromDeviceAddr SingleStepWarp41
    SetNotifyNewEventCallback ReadSyscallCallDepth ReadTextureMemoryBindless ClearAttachState MemcheckReadErrorAddress
    AcknowledgeSyncEvents InitializeAttachStub GetGridInfo55 ReadGridId GetGridStatus SetKernelLaunchNotificationMode
    GetDevicePciBusInfo ReadDeviceExceptionState80 GetAdjustedCodeAddress ReadErrorPc GetNextEvent GetElfImageByHandle
    ResumeWarpsUntilPc ReadWarpState60 ReadRegisterRange ReadGenericMemory WriteGenericMemory ReadGlobalMemory WriteGlobalMemory
    GetManagedMemoryRegionInfo IsDeviceCodeAddress RequestCleanupOnDetach ReadPredicates WritePredicates GetNumPredicates
    ReadCcRegister WriteCcRegister GetDeviceName SingleStepWarp65 ReadDeviceExceptionState GetNumUniformRegisters
    ReadUniformRegisterRange WriteUniformRegister GetNumUniformPredicates ReadUniformPredicates WriteUniformPredicates
    GetLoadedFunctionInfo118 GetGridInfo120 GetClusterDim120 ReadWarpState120 ReadClusterIdx GetErrorStringEx GetLoadedFunctionInfo
    GenerateCoredump GetConstBankAddress123 GetDeviceInfoSizes GetDeviceInfo GetConstBankAddress SingleStepWarp
    ReadAllVirtualReturnAddresses GetSupportedDebuggerCapabilities ReadSmException ExecuteInternalCommand GetGridInfo GetClusterDim
    ReadWarpState127 GetClusterExceptionTargetBlock ReadWarpResources
}

impl Command {
    /// Returns the command with this number.
    pub fn of(number: u32) -> Option<Self> {
        Self::ALL.get(usize::try_from(number).ok()?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::Command;

    #[test]
    fn commands_have_the_numbers_that_cuda_gdb_sends() {
        for (number, command) in [
            (2, Command::Initialize),
            (18, Command::ReadVirtualPc),
            (40, Command::SetBreakpoint),
            (57, Command::GetGridInfo55),
            (65, Command::GetNextEvent),
            (83, Command::SingleStepWarp65),
            (91, Command::GetLoadedFunctionInfo118),
            (112, Command::ReadWarpResources),
        ] {
            assert_eq!(Command::of(number), Some(command));
        }
        assert_eq!((Command::of(113), Command::of(u32::MAX), Command::ALL.len()), (None, None, 113));
    }
}
