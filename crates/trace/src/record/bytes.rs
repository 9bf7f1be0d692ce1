use std::fmt;

/// A number of bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Bytes(u64);

impl Bytes {
    /// Makes a number of bytes.
    pub const fn new(bytes: u64) -> Self {
        Self(bytes)
    }

    /// Makes a number of bytes from a number of KiB (1024 bytes).
    pub const fn kib(kib: u64) -> Self {
        Self(kib << 10)
    }

    /// Makes a number of bytes from a number of MiB (1024 KiB).
    pub const fn mib(mib: u64) -> Self {
        Self(mib << 20)
    }

    /// Returns the number.
    pub const fn get(self) -> u64 {
        self.0
    }

    pub(crate) fn add(&mut self, bytes: usize) {
        self.0 += bytes as u64;
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", self.0)
    }
}
