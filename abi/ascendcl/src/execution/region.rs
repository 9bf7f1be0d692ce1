use std::ffi::c_void;
use std::ptr::copy_nonoverlapping;
use std::sync::Arc;

use crate::border::{Failure, codes};
use crate::data::MemoryRange;
use crate::memory::{self, Range};

/// How many bytes a buffer may be smaller than its tensor, if the allocation behind it is large enough. Programs that
/// cut a block into pieces add this padding to each piece, but leave it out of the buffer's size.
const PADDING: usize = 64;

/// The side of the model that a tensor is on.
#[derive(Debug, Clone, Copy)]
pub enum Side {
    Input,
    Output,
}

impl Side {
    pub fn name(self) -> &'static str {
        match self {
            Self::Input => "input",
            Self::Output => "output",
        }
    }

    /// Checks the number of buffers in a dataset.
    pub fn check_count(self, found: usize, expected: usize) -> Result<(), Failure> {
        if found == expected {
            return Ok(());
        }
        let side = self.name();
        let text = format!("the {side} dataset has {found} buffers, and the model has {expected} {side}s");
        Err(Failure::new(codes::GE_PARAM_INVALID, "E13025", text))
    }
}

/// The memory of a data buffer, as it was when the run was requested.
pub struct Region {
    side: Side,
    name: String,
    place: MemoryRange,
    was_allocated: bool,
}

impl Region {
    pub fn new(side: Side, name: &str, place: MemoryRange) -> Self {
        let was_allocated = memory::room_at(place.address).is_some();
        Self { side, name: name.to_owned(), place, was_allocated }
    }

    /// Returns whether it is an empty buffer: NULL and 0 bytes.
    pub fn is_empty(&self) -> bool {
        self.place.address.is_null() && self.place.size == 0
    }

    /// Checks that a tensor fits into the buffer. A buffer that is too small by at most the padding is accepted if the
    /// tensor fits into its allocation.
    pub fn check(&self, bytes: usize) -> Result<(), Failure> {
        let MemoryRange { address, size } = self.place;
        let room = memory::room_at(address);
        let covered = match room {
            Some(room) => bytes <= room && bytes <= size.saturating_add(PADDING),
            None => bytes <= size && (!address.is_null() || bytes == 0),
        };
        if covered {
            return Ok(());
        }
        let (side, name) = (self.side.name(), &self.name);
        let behind = room.map_or(String::new(), |room| format!(", with {room} bytes of its allocation from there"));
        let text =
            format!("the buffer of {side} '{name}' has {size} bytes at {address:p}{behind}; the tensor has {bytes}");
        Err(Failure::new(codes::GE_PARAM_INVALID, "E13025", text))
    }

    /// Copies this many bytes out of the memory.
    pub fn read(&self, bytes: usize) -> Result<Arc<[u8]>, Failure> {
        // A size for which there is no memory is the program's mistake. It must not end the process.
        if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            let (side, name) = (self.side.name(), &self.name);
            let text = format!("there is no memory for a copy of {side} '{name}', which has {bytes} bytes");
            return Err(Failure::new(codes::RT_MEMORY_ALLOCATION, "EE1003", text));
        }
        let mut copy = Arc::new_uninit_slice(bytes);
        let to: *mut u8 = Arc::get_mut(&mut copy).expect("nothing else has it").as_mut_ptr().cast();
        // SAFETY: `with` checks that the memory has this many bytes, and the copy was allocated with as many.
        self.with(bytes, |from| unsafe { copy_nonoverlapping(from.cast::<u8>(), to, bytes) })?;
        // SAFETY: all bytes were written.
        Ok(unsafe { copy.assume_init() })
    }

    /// Copies these bytes into the memory.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        // SAFETY: `with` checks that the memory has this many bytes; the source is the engine's own memory.
        self.with(bytes.len(), |to| unsafe { copy_nonoverlapping(bytes.as_ptr(), to.cast::<u8>(), bytes.len()) })
    }

    /// Passes this many bytes of the memory to `body`. An allocation of this library is not freed meanwhile. For other
    /// memory, the program guarantees the size that it declares.
    fn with(&self, bytes: usize, body: impl FnOnce(*mut c_void)) -> Result<(), Failure> {
        if bytes == 0 {
            return Ok(());
        }
        self.check(bytes)?;
        let (name, start, was_allocated) =
            (self.side.name(), self.place.address.expose_provenance(), self.was_allocated);
        memory::with([Range { name, start, size: bytes, was_allocated }], || body(self.place.address))
    }
}
