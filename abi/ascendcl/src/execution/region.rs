use std::ffi::c_void;
use std::ptr::copy_nonoverlapping;
use std::sync::Arc;

use crate::border::{Failure, codes};
use crate::data::Place;
use crate::memory::{self, Range};

/// How many bytes a program may have left out of a buffer's size, where the allocation has them: what is added to a piece when a block
/// is cut.
const PADDING: usize = 64;

/// What a tensor is to the model.
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

/// The memory of a data buffer, as it was when the run was asked for.
pub struct Region {
    side: Side,
    name: String,
    place: Place,
    was_allocated: bool,
}

impl Region {
    pub fn new(side: Side, name: &str, place: Place) -> Self {
        let was_allocated = memory::room_at(place.address).is_some();
        Self { side, name: name.to_owned(), place, was_allocated }
    }

    /// Returns whether it is the empty buffer.
    pub fn is_empty(&self) -> bool {
        self.place.address.is_null() && self.place.size == 0
    }

    /// Checks that a tensor lies in the buffer, or in the allocation behind a buffer that is a padding too small.
    pub fn check(&self, bytes: usize) -> Result<(), Failure> {
        let Place { address, size } = self.place;
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

    /// Copies so many bytes out of the memory.
    pub fn read(&self, bytes: usize) -> Result<Arc<[u8]>, Failure> {
        // A size that no memory has is the program's mistake, and not the end of it.
        if Vec::<u8>::new().try_reserve_exact(bytes).is_err() {
            let (side, name) = (self.side.name(), &self.name);
            let text = format!("there is no memory for a copy of {side} '{name}', which has {bytes} bytes");
            return Err(Failure::new(codes::RT_MEMORY_ALLOCATION, "EE1003", text));
        }
        let mut copy = Arc::new_uninit_slice(bytes);
        let to: *mut u8 = Arc::get_mut(&mut copy).expect("nothing else has it").as_mut_ptr().cast();
        // SAFETY: the memory has so many bytes, which `with` checks, and so has the copy.
        self.with(bytes, |from| unsafe { copy_nonoverlapping(from.cast::<u8>(), to, bytes) })?;
        // SAFETY: all bytes were written.
        Ok(unsafe { copy.assume_init() })
    }

    /// Copies these bytes into the memory.
    pub fn write(&self, bytes: &[u8]) -> Result<(), Failure> {
        // SAFETY: the memory has so many bytes, which `with` checks; what is written is the engine's own.
        self.with(bytes.len(), |to| unsafe { copy_nonoverlapping(bytes.as_ptr(), to.cast::<u8>(), bytes.len()) })
    }

    /// Uses so many bytes of the memory, which is not freed meanwhile if it is an allocation of this library. That memory of the program
    /// has the size that it says is the program's promise.
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
