//! The messages. A request is `u64 size, u32 version, u32 command, arguments`, and its answer is `u64 size, u32 result,
//! outputs`. The size is that of the whole message in bytes. Numbers have the machine's byte order, and there is no
//! padding.

use opscope_border::Unpadded;

use crate::border::Status;

/// The largest size of a request, and of an answer's outputs, in bytes.
pub const MOST_BYTES: u64 = 256 << 20;

/// The number of bytes before the arguments.
const HEAD: u64 = 16;

/// The reason why bytes cannot be a debugger's message. The connection cannot be used after that.
#[derive(Debug, PartialEq, Eq)]
pub struct Malformed(pub String);

/// The bytes that were received and not yet taken as messages.
#[derive(Default)]
pub struct Incoming(Vec<u8>);

/// A command and its arguments.
pub struct Request {
    pub command: u32,
    bytes: Vec<u8>,
    /// How many of the bytes were read.
    at: usize,
}

/// An answer.
pub struct Reply(Vec<u8>);

impl Incoming {
    pub fn push(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    /// Takes the first message, if all of it was received.
    ///
    /// # Errors
    /// Returns an error if no message has such a size.
    pub fn take(&mut self) -> Result<Option<Request>, Malformed> {
        let Some(size) = self.0.first_chunk::<8>().map(|bytes| u64::from_ne_bytes(*bytes)) else { return Ok(None) };
        if !(HEAD..=MOST_BYTES).contains(&size) {
            return Err(Malformed(format!(
                "a message says that it has {size} bytes; there are {HEAD} to {MOST_BYTES}"
            )));
        }
        if (self.0.len() as u64) < size {
            return Ok(None);
        }
        let rest = self.0.split_off(size as usize);
        let mut request = Request { command: 0, bytes: std::mem::replace(&mut self.0, rest), at: 8 };
        // The version is skipped, because the first command of a session has it as an argument.
        request.u32()?;
        request.command = request.u32()?;
        Ok(Some(request))
    }
}

impl Request {
    pub fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_ne_bytes)
    }

    /// Takes several numbers.
    pub fn u32s<const N: usize>(&mut self) -> Result<[u32; N], Malformed> {
        let mut numbers = [0; N];
        for number in &mut numbers {
            *number = self.u32()?;
        }
        Ok(numbers)
    }

    pub fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_ne_bytes)
    }

    /// Takes this many bytes.
    pub fn bytes(&mut self, count: u32) -> Result<&[u8], Malformed> {
        let (from, all) = (self.at, self.bytes.len());
        let to = from.checked_add(count as usize).filter(|to| *to <= all).ok_or_else(|| self.is_short())?;
        self.at = to;
        Ok(&self.bytes[from..to])
    }

    fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let found = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>()).copied();
        self.at += N;
        found.ok_or_else(|| self.is_short())
    }

    fn is_short(&self) -> Malformed {
        Malformed(format!("command {} has {} bytes, and its arguments are longer", self.command, self.bytes.len()))
    }
}

impl Reply {
    pub fn new(status: Status) -> Self {
        let mut bytes = vec![0; 8];
        bytes.extend((status as u32).to_ne_bytes());
        Self(bytes)
    }

    /// Adds an output.
    pub fn and<T: Unpadded>(mut self, value: &T) -> Self {
        self.0.extend(value.as_bytes());
        self
    }

    pub fn and_bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    /// Returns the whole message.
    pub fn finish(mut self) -> Vec<u8> {
        let size = self.0.len() as u64;
        self.0[..8].copy_from_slice(&size.to_ne_bytes());
        self.0
    }
}

/// Returns a buffer of zeros for `count` outputs of `each` bytes.
///
/// # Errors
/// Returns an error if the buffer would be larger than [`MOST_BYTES`]. No debugger asks for that, because it needs as
/// much memory itself.
pub fn room(count: u64, each: usize) -> Result<Vec<u8>, Malformed> {
    let bytes = count.checked_mul(each as u64).filter(|bytes| *bytes <= MOST_BYTES);
    let bytes =
        bytes.ok_or_else(|| Malformed(format!("{count} times {each} bytes were asked for; {MOST_BYTES} can be")))?;
    Ok(vec![0; bytes as usize])
}

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
    use super::*;

    fn message(size: u64, rest: &[u8]) -> Vec<u8> {
        [&size.to_ne_bytes()[..], &12u32.to_ne_bytes(), &7u32.to_ne_bytes(), rest].concat()
    }

    #[test]
    fn messages_are_taken_one_by_one_however_their_bytes_come() {
        let both = [message(20, &[1, 0, 0, 0]), message(16, &[])].concat();
        let mut incoming = Incoming::default();
        let mut taken = Vec::new();
        for byte in &both {
            incoming.push(&[*byte]);
            while let Some(request) = incoming.take().expect("messages") {
                taken.push((request.command, request.bytes.len()));
            }
        }
        assert_eq!(taken, [(7, 20), (7, 16)]);
    }

    #[test]
    fn a_size_that_no_message_has_is_refused_before_its_bytes_come() {
        for size in [0, 1, 15, MOST_BYTES + 1, u64::MAX] {
            let mut incoming = Incoming::default();
            incoming.push(&size.to_ne_bytes());
            assert!(incoming.take().is_err(), "{size}");
        }
    }

    #[test]
    fn arguments_end_where_the_message_does() {
        let mut incoming = Incoming::default();
        incoming.push(&message(21, &[2, 0, 0, 0, 9]));
        let mut request = incoming.take().expect("a message").expect("all of it");
        assert_eq!(request.u32(), Ok(2));
        assert!(request.bytes(2).is_err() && request.bytes(u32::MAX).is_err());
        assert_eq!(request.bytes(1), Ok(&[9][..]));
        assert!(request.u32().is_err() && request.u64().is_err() && request.u32().is_err());
    }

    #[test]
    fn room_for_outputs_has_a_limit() {
        assert_eq!(room(3, 4), Ok(vec![0; 12]));
        assert!(room(u64::MAX, 16).is_err() && room(MOST_BYTES + 1, 1).is_err() && room(u64::MAX / 2, 2).is_err());
    }

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
