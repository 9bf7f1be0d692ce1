/// Counts of what was delivered since the library was loaded, or since the process was forked.
#[derive(Clone, Copy)]
pub struct Counts {
    /// Files whose last chunk was delivered.
    pub files: u64,
    /// Files that were begun, but will get no last chunk.
    pub incomplete_files: u64,
    pub chunks: u64,
    /// Bytes of data in these chunks.
    pub bytes: u64,
    /// Chunks that reached neither a callback nor a file.
    pub lost_chunks: u64,
}

impl Counts {
    pub const fn new() -> Self {
        Self { files: 0, incomplete_files: 0, chunks: 0, bytes: 0, lost_chunks: 0 }
    }

    /// Adds other counts.
    pub fn add(&mut self, other: Self) {
        self.files += other.files;
        self.incomplete_files += other.incomplete_files;
        self.chunks += other.chunks;
        self.bytes += other.bytes;
        self.lost_chunks += other.lost_chunks;
    }
}
