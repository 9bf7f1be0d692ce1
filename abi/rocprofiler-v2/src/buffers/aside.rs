use std::sync::{Mutex, PoisonError};

use opscope_trace::TraceError;

/// Records that callbacks put into a full buffer where only their return could have made room. They are delivered behind the next
/// batch, which has what the callback's thread put into the buffer before them.
#[derive(Default)]
pub struct Aside(Mutex<Vec<(u16, Vec<u64>)>>);

impl Aside {
    /// Keeps the bytes of a record, by its form, if `request` can request the delivery that is to take it.
    pub fn keep(
        &self,
        form: u16,
        bytes: &[u8],
        request: impl FnOnce() -> Result<(), TraceError>,
    ) -> Result<(), TraceError> {
        let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_ne_bytes);
        let words = bytes.chunks_exact(8).map(word).collect();
        // Under the lock, so that no delivery comes between the two.
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        request()?;
        records.push((form, words));
        Ok(())
    }

    /// Returns whether it has no records.
    pub fn is_empty(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Takes the records.
    pub fn take(&self) -> Vec<(u16, Vec<u64>)> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
