//! The border to memory that other programs own or read: the only unsafe code of the package.
//!
//! | file | what crosses it |
//! |---|---|
//! | `dlpack` | tensors in both directions, by DLPack |
//! | `exchange` | tensors of PyTorch's, where they lie |
//! | `interface` | arrays of numpy, by their `__array_interface__` |
//! | `arrow` | tables, by Arrow's C data interface |
//! | `mapped` | files of dumps |
//! | `released` | waiting without the interpreter |

pub mod arrow;
pub mod dlpack;
pub mod exchange;
pub mod interface;
pub mod mapped;
pub mod released;

use std::slice;

/// Memory of another owner, which is dropped with it.
struct Lent<O> {
    address: *const u8,
    length: usize,
    /// Keeps the memory.
    _owner: O,
}

// SAFETY: the memory is only read, and the owner may be dropped on any thread.
unsafe impl<O: Send + Sync> Send for Lent<O> {}
// SAFETY: as above.
unsafe impl<O: Send + Sync> Sync for Lent<O> {}

impl<O> Lent<O> {
    /// # Safety
    /// `length` bytes at `address` can be read as long as the owner exists, and nothing writes to them while they are read.
    unsafe fn new(address: *const u8, length: usize, owner: O) -> Self {
        Self { address, length, _owner: owner }
    }
}

impl<O> AsRef<[u8]> for Lent<O> {
    fn as_ref(&self) -> &[u8] {
        if self.length == 0 {
            // The address may be null.
            return &[];
        }
        // SAFETY: by the contract of `new`.
        unsafe { slice::from_raw_parts(self.address, self.length) }
    }
}
