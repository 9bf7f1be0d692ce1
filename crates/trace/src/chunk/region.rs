use super::{Chunk, Geometry};

/// The memory of one buffer.
#[cfg(not(loom))]
#[derive(Debug)]
pub(crate) struct Region {
    geometry: Geometry,
    map: memmap2::MmapRaw,
    /// Where the first chunk starts in the mapping.
    offset: usize,
}

#[cfg(not(loom))]
impl Region {
    /// Memory of the process, the part of it that is always used brought in already.
    pub(crate) fn anonymous(geometry: Geometry) -> std::io::Result<Self> {
        let map = memmap2::MmapOptions::new().len(geometry.bytes()).map_anon()?.into();
        let region = Self { geometry, map, offset: 0 };
        region.prepare();
        Ok(region)
    }

    /// A shared mapping of a whole file, in which the chunks start at `offset`, a multiple of the page's size.
    pub(crate) fn of_file(geometry: Geometry, file: &std::fs::File, offset: usize) -> std::io::Result<Self> {
        let map = memmap2::MmapOptions::new().len(offset + geometry.bytes()).map_raw(file)?;
        let region = Self { geometry, map, offset };
        region.prepare();
        Ok(region)
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn chunk(&self, index: usize) -> Chunk {
        assert!(index < self.geometry.count, "a chunk's index comes from the buffer's own lists");
        let start = self.map.as_mut_ptr().wrapping_add(self.offset + index * self.geometry.stride);
        let start = std::ptr::NonNull::new(start).expect("a mapping does not start at address 0");
        // SAFETY: the index is within the mapping, which is aligned to a page as the offset is, and strides are multiples
        // of 64. The mapping lives as long as the region.
        unsafe { Chunk::at(start) }
    }

    /// A word before the first chunk, in the head of a file.
    pub(crate) fn head_word(&self, offset: usize) -> Option<&std::sync::atomic::AtomicU64> {
        let within = offset.is_multiple_of(8) && offset + 8 <= self.offset;
        // SAFETY: the word lies in the mapping before the chunks, aligned, and is accessed as an atomic only.
        within.then(|| unsafe { std::sync::atomic::AtomicU64::from_ptr(self.map.as_mut_ptr().add(offset).cast()) })
    }

    /// Brings in the pages of every chunk's share, so that no emit pays for a page fault. Advice only: where the kernel
    /// does not know it, the pages come when they are touched.
    fn prepare(&self) {
        const PAGE: usize = 4096;
        // Huge pages would make the part of a stride that is hardly ever touched resident.
        let _ = self.map.advise(memmap2::Advice::NoHugePage);
        let Geometry { size, share, stride, .. } = self.geometry;
        for index in 0..size.div_ceil(share) {
            let start = self.offset + index * stride;
            let end = start + super::START + share;
            let page = start / PAGE * PAGE;
            let _ = self.map.advise_range(memmap2::Advice::PopulateWrite, page, end - page);
        }
    }
}

/// The memory of one buffer in a model.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Region {
    geometry: Geometry,
    chunks: Vec<Chunk>,
}

#[cfg(loom)]
impl Region {
    pub(crate) fn anonymous(geometry: Geometry) -> std::io::Result<Self> {
        let chunks = (0..geometry.count).map(|_| Chunk::with_bytes(geometry.stride)).collect();
        Ok(Self { geometry, chunks })
    }

    /// A model has no files.
    pub(crate) fn of_file(_: Geometry, _: &std::fs::File, _: usize) -> std::io::Result<Self> {
        Err(std::io::ErrorKind::Unsupported.into())
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn chunk(&self, index: usize) -> Chunk {
        self.chunks[index]
    }

    pub(crate) fn head_word(&self, _offset: usize) -> Option<&loom::sync::atomic::AtomicU64> {
        None
    }
}
