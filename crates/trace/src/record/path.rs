use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

use super::DispatchRecord;

/// An iteration of the body of an operator (`If`, `Loop` or `Scan`) that a kernel was executed in: 8 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
pub struct PathLevel {
    /// The operator, by its position in the model's graph.
    pub operator: u32,
    /// The iteration, from 0. Always 0 for `If`.
    pub iteration: u32,
}

const _: () = assert!(size_of::<PathLevel>() == 8);

/// Payloads up to this length, with eight levels, are built on the stack.
const SHORT: usize = 128;

impl DispatchRecord {
    /// Calls `act` with the payload of this record, followed by a path.
    pub(crate) fn with_payload<T>(
        &self,
        path: impl ExactSizeIterator<Item = PathLevel>,
        act: impl FnOnce(&[u8]) -> T,
    ) -> T {
        let length = size_of::<Self>() + path.len() * size_of::<PathLevel>();
        let (mut short, mut long) = ([0; SHORT], Vec::new());
        let payload = match short.get_mut(..length) {
            Some(payload) => payload,
            None => {
                long.resize(length, 0);
                &mut long[..]
            }
        };
        let (record, levels) = payload.split_at_mut(size_of::<Self>());
        record.copy_from_slice(self.as_bytes());
        for (place, level) in levels.chunks_exact_mut(size_of::<PathLevel>()).zip(path) {
            place.copy_from_slice(level.as_bytes());
        }
        act(payload)
    }
}
