//! XXH3 of a stream of bytes, with vector instructions that are chosen at run time. The `xxhash-rust` crate chooses
//! them at compile time, which gives SSE2. The algorithm is that of the xxHash specification: 64 bits, no seed, default
//! secret.

#[cfg(target_arch = "x86_64")]
mod wide;

use xxhash_rust::xxh3::Xxh3Default;

/// XXH3 (64 bit, no seed) of all bytes so far.
pub(crate) enum Hash {
    #[cfg(target_arch = "x86_64")]
    Wide(Box<wide::Wide>),
    Narrow(Box<Xxh3Default>),
}

impl Hash {
    pub fn new() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(wide) = wide::Wide::new() {
            return Self::Wide(Box::new(wide));
        }
        Self::Narrow(Box::default())
    }

    /// Adds the next bytes, of any length. `follows` promises that more will come, which saves a copy of the last
    /// block.
    #[cfg_attr(not(target_arch = "x86_64"), expect(unused_variables))]
    pub fn update(&mut self, bytes: &[u8], follows: bool) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Wide(wide) => wide.update(bytes, follows),
            Self::Narrow(narrow) => narrow.update(bytes),
        }
    }

    pub fn digest(&self) -> u64 {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Wide(wide) => wide.digest(),
            Self::Narrow(narrow) => narrow.digest(),
        }
    }
}
