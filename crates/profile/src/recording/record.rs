//! Records in the file: a head of 8 bytes (category, 0, kind, length, all little-endian), and then the payload, padded
//! to a multiple of 8.

use opscope_trace::{Category, DispatchRecord, Header, Kind};

use super::fact::Fact;

const HEAD: usize = 8;

/// Returns the size of a record in the file.
pub(crate) fn stored_length(payload: usize) -> usize {
    HEAD + payload.next_multiple_of(8)
}

/// Adds a record to the bytes of a frame.
pub(crate) fn store(header: Header, payload: &[u8], into: &mut Vec<u8>) {
    into.extend_from_slice(&[header.category.0, 0]);
    into.extend_from_slice(&header.kind.to_le_bytes());
    into.extend_from_slice(&header.length.to_le_bytes());
    into.extend_from_slice(&[0; 2]);
    into.extend_from_slice(payload);
    into.resize(into.len().next_multiple_of(8), 0);
}

/// Returns the complete records of a frame, each with its head.
pub(crate) fn stored(frame: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = frame;
    std::iter::from_fn(move || {
        let length = u16::from_le_bytes(rest.get(4..6)?.try_into().ok()?);
        let (record, behind) = rest.split_at_checked(stored_length(usize::from(length)))?;
        rest = behind;
        Some(record)
    })
}

/// An iterator over the records of a frame. It ends at the first one that reaches past the end.
pub(crate) struct StoredRecords {
    bytes: Vec<u8>,
    position: usize,
}

impl StoredRecords {
    pub(crate) fn new(bytes: Vec<u8>) -> Self {
        Self { bytes, position: 0 }
    }

    /// Returns the fact in the next record that this version knows. Other records are skipped.
    pub(crate) fn next(&mut self) -> Option<Fact> {
        loop {
            let (kind, payload) = self.next_payload()?;
            if let Some(fact) = kind.and_then(|kind| Fact::read(kind, payload)) {
                return Some(fact);
            }
        }
    }

    /// Returns whether one of the remaining records is a dispatch with a path.
    pub(crate) fn has_path(mut self) -> bool {
        while let Some((kind, payload)) = self.next_payload() {
            if kind == Some(Kind::OperatorDispatch) && payload.len() > size_of::<DispatchRecord>() {
                return true;
            }
        }
        false
    }

    /// Returns the payload of the next record, and its kind if it is one of opscope's own.
    fn next_payload(&mut self) -> Option<(Option<Kind>, &[u8])> {
        let rest = &self.bytes[self.position..];
        let head: [u8; HEAD] = rest.get(..HEAD)?.try_into().ok()?;
        let length = usize::from(u16::from_le_bytes([head[4], head[5]]));
        let payload = rest.get(HEAD..HEAD + length)?;
        self.position = (self.position + stored_length(length)).min(self.bytes.len());
        let is_ours = Category(head[0]) == Category::TRACING;
        let kind = Kind::from_raw(u16::from_le_bytes([head[2], head[3]])).filter(|_| is_ours);
        Some((kind, payload))
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::Iteration;
    use opscope_onnx::OperatorId;
    use opscope_trace::{PathLevel, Record};
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;

    /// Reads a frame with these payloads of dispatches. Returns whether any has a path, and their paths.
    fn paths(payloads: &[Vec<u8>]) -> (bool, Vec<Box<[Iteration]>>) {
        let mut frame = Vec::new();
        for payload in payloads {
            let kind = DispatchRecord::KIND.as_raw();
            store(Header { category: Category::TRACING, kind, length: payload.len() as u16 }, payload, &mut frame);
        }
        let has_path = StoredRecords::new(frame.clone()).has_path();
        let mut records = StoredRecords::new(frame);
        let facts = std::iter::from_fn(|| records.next()).map(|fact| match fact {
            Fact::Dispatch(dispatch) => dispatch.path,
            other => panic!("{other:?}"),
        });
        (has_path, facts.collect())
    }

    proptest! {
        #[test]
        fn every_stored_path_is_read_and_odd_lengths_are_stepped_over(
            records in prop::collection::vec((prop::collection::vec(any::<(u32, u32)>(), 0..30), 0usize..80), 0..20)
        ) {
            let mut expected = Vec::new();
            let mut payloads = Vec::new();
            for (path, cut) in &records {
                let levels = path.iter().map(|&(operator, iteration)| PathLevel { operator, iteration });
                let mut payload = DispatchRecord::default().as_bytes().to_vec();
                levels.for_each(|level| payload.extend_from_slice(level.as_bytes()));
                payload.truncate(payload.len().saturating_sub(*cut));
                if payload.len() >= 64 && payload.len() % 8 == 0 {
                    let left = path[..(payload.len() - 64) / 8].iter();
                    let iteration = |&(operator, index)| Iteration { operator: OperatorId::new(operator), index };
                    expected.push(left.map(iteration).collect::<Box<[_]>>());
                }
                payloads.push(payload);
            }
            let (has_path, found) = paths(&payloads);
            prop_assert_eq!(has_path, payloads.iter().any(|payload| payload.len() > 64));
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn a_dispatch_without_a_path_takes_the_bytes_that_it_took_before_there_were_paths() {
        let mut frame = Vec::new();
        let (kind, category) = (DispatchRecord::KIND.as_raw(), Category::TRACING);
        let payload = DispatchRecord::default();
        store(Header { category, kind, length: 64 }, payload.as_bytes(), &mut frame);
        assert_eq!(frame[..8], [1, 0, 1, 0, 64, 0, 0, 0]);
        assert_eq!(frame.len(), 72);
        let level = PathLevel { operator: 0x0102, iteration: 3 };
        let payload = [payload.as_bytes(), level.as_bytes()].concat();
        store(Header { category, kind, length: 72 }, &payload, &mut frame);
        assert_eq!(frame[72..80], [1, 0, 1, 0, 72, 0, 0, 0]);
        assert_eq!(frame[144..], [2, 1, 0, 0, 3, 0, 0, 0]);
    }
}
