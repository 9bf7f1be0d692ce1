use std::sync::{Mutex, PoisonError};

/// Records that a buffer's own callback put into it while it was full: only that callback could have made room. They are delivered
/// behind the next batch.
#[derive(Default)]
pub struct Aside(Mutex<Vec<(u16, Vec<u64>)>>);

impl Aside {
    /// Keeps the bytes of a record, by its form.
    pub fn keep(&self, form: u16, bytes: &[u8]) {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        let words = bytes.chunks_exact(8).map(word).collect();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((form, words));
    }

    /// Takes the records.
    pub fn take(&self) -> Vec<(u16, Vec<u64>)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
