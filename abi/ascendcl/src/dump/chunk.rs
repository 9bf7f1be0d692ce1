use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ffi::c_char;
use std::path::Path;
use std::ptr::NonNull;

use std::os::unix::ffi::OsStrExt;

/// The size of the file's name, with its NUL.
pub const LONGEST_NAME: usize = 4096;

/// A chunk of a dump file, as a program's callback receives it. The data follows `flag` directly, before the end of the
/// struct.
#[repr(C)]
pub struct acldumpChunk {
    pub file_name: [c_char; LONGEST_NAME],
    pub length: u32,
    pub is_last: u32,
    pub offset: i64,
    pub flag: i32,
}

/// The offset of the data.
pub const DATA: usize = 4116;
const SIZE: usize = 4120;

const _: () = assert!(
    size_of::<acldumpChunk>() == SIZE
        && std::mem::offset_of!(acldumpChunk, length) == 4096
        && std::mem::offset_of!(acldumpChunk, is_last) == 4100
        && std::mem::offset_of!(acldumpChunk, offset) == 4104
        && std::mem::offset_of!(acldumpChunk, flag) == 4112
);

/// A chunk with its data in one allocation. The allocation is as large as the struct and the data together.
pub struct Chunk {
    memory: NonNull<u8>,
    layout: Layout,
}

// SAFETY: the memory belongs to the chunk.
unsafe impl Send for Chunk {}

impl Chunk {
    /// Makes a chunk. Returns `None` if there is not enough memory, or the name or the data is too long.
    pub fn new(file: &Path, data: &[u8], is_last: bool) -> Option<Self> {
        let name = file.as_os_str().as_bytes();
        let length = u32::try_from(data.len()).ok()?;
        if name.len() >= LONGEST_NAME {
            return None;
        }
        let layout = Layout::from_size_align(SIZE + data.len(), align_of::<acldumpChunk>()).ok()?;
        // SAFETY: the layout is not empty.
        let memory = NonNull::new(unsafe { alloc_zeroed(layout) })?;
        // SAFETY: the memory is large enough for the struct, and for the data from `DATA` on. It is zeroed, so the name
        // ends with NUL.
        unsafe {
            let chunk = memory.cast::<acldumpChunk>().as_mut();
            std::ptr::copy_nonoverlapping(name.as_ptr(), memory.as_ptr(), name.len());
            (chunk.length, chunk.is_last, chunk.offset, chunk.flag) = (length, is_last.into(), -1, 0);
            std::ptr::copy_nonoverlapping(data.as_ptr(), memory.as_ptr().add(DATA), data.len());
        }
        Some(Self { memory, layout })
    }

    /// Returns the chunk as the callback receives it.
    pub fn head(&self) -> &acldumpChunk {
        // SAFETY: the memory begins with the struct.
        unsafe { self.memory.cast().as_ref() }
    }

    /// Returns the length that the callback receives: the size of the struct and the data in bytes.
    pub fn length(&self) -> i32 {
        i32::try_from(self.layout.size()).unwrap_or(i32::MAX)
    }

    /// Returns the size of its allocation.
    pub fn bytes(&self) -> usize {
        self.layout.size()
    }

    /// Returns the data.
    pub fn data(&self) -> &[u8] {
        // SAFETY: the chunk was made with this many bytes of data there.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr().add(DATA), self.layout.size() - SIZE) }
    }

    /// Returns whether it is the last chunk of its file.
    pub fn is_last(&self) -> bool {
        self.head().is_last != 0
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        // SAFETY: the memory was allocated with this layout, and nothing else uses it.
        unsafe { dealloc(self.memory.as_ptr(), self.layout) };
    }
}
