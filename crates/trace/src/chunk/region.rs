use std::fs::File;
use std::ptr::{self, NonNull};
use std::sync::atomic::AtomicU64;
use std::{io, slice};

use memmap2::{Advice, MmapOptions, MmapRaw};

use super::{Chunk, Geometry, START};

/// The memory of one buffer.
#[derive(Debug)]
pub(crate) struct Region {
    geometry: Geometry,
    map: MmapRaw,
    /// The offset of the first chunk in the mapping.
    offset: usize,
}

impl Region {
    /// Maps anonymous memory and brings in the pages of every chunk's share.
    pub(crate) fn anonymous(geometry: Geometry) -> io::Result<Self> {
        let map = MmapOptions::new().len(geometry.bytes()).map_anon()?.into();
        let region = Self { geometry, map, offset: 0 };
        region.prepare();
        Ok(region)
    }

    /// Maps a whole file as shared memory. Its chunks start at `offset`, a multiple of the page size.
    pub(crate) fn of_file(geometry: Geometry, file: &File, offset: usize) -> io::Result<Self> {
        let map = MmapOptions::new().len(offset + geometry.bytes()).map_raw(file)?;
        let region = Self { geometry, map, offset };
        region.prepare();
        Ok(region)
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// # Panics
    /// When there is no chunk with this index.
    pub(crate) fn chunk(&self, index: usize) -> Chunk<'_> {
        let Geometry { stride, count, .. } = self.geometry;
        assert!(index < count, "a chunk's index comes from the buffer's own lists");
        let start = self.map.as_mut_ptr().wrapping_add(self.offset + index * stride);
        let start = NonNull::new(start).expect("a mapping does not start at address 0");
        // SAFETY: the index is within the mapping. The mapping is aligned to a page, as the offset is, and strides are
        // multiples of 64 and longer than a head. The mapping lives as long as the region.
        unsafe { Chunk::new(start, stride) }
    }

    /// Replaces the memory of a file by private memory with the same content at the same address. This is done in the
    /// child of a fork, because the file belongs to the parent. Anonymous memory is private already.
    pub(crate) fn make_private(&mut self) -> io::Result<()> {
        if self.offset == 0 {
            return Ok(());
        }
        let (start, length) = (self.map.as_mut_ptr(), self.map.len());
        // SAFETY: the mapping is initialised, and `&mut self` keeps this process from writing to it meanwhile. What the
        // parent writes there is not read later.
        let content = unsafe { slice::from_raw_parts(start, length) }.to_vec();
        let flags = libc::MAP_FIXED | libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        // SAFETY: the range is exactly this mapping, which stays mapped, readable and writable.
        let mapped = unsafe { libc::mmap(start.cast(), length, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
        if mapped == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: both ranges have this length, and one of them was just allocated.
        unsafe { ptr::copy_nonoverlapping(content.as_ptr(), start, length) };
        Ok(())
    }

    /// Returns a word before the first chunk, in the head of a file, or `None` if the memory has no head.
    pub(crate) fn head_word(&self, offset: usize) -> Option<&AtomicU64> {
        let within = offset.is_multiple_of(8) && offset + 8 <= self.offset;
        // SAFETY: the word lies in the mapping before the chunks, aligned, and is accessed as an atomic only.
        within.then(|| unsafe { AtomicU64::from_ptr(self.map.as_mut_ptr().add(offset).cast()) })
    }

    /// Brings in the pages of every chunk's share, so that no emit pays for a page fault. This is only advice: if the
    /// kernel does not support it, pages are brought in when they are first touched.
    fn prepare(&self) {
        const PAGE: usize = 4096;
        // With huge pages, the part of a stride that is hardly ever touched would be resident, too.
        let _ = self.map.advise(Advice::NoHugePage);
        let Geometry { size, share, stride, .. } = self.geometry;
        for index in 0..size.div_ceil(share) {
            let start = self.offset + index * stride;
            let end = start + START + share;
            let page = start / PAGE * PAGE;
            let _ = self.map.advise_range(Advice::PopulateWrite, page, end - page);
        }
    }
}
