//! The packed form of records: the payload of a frame is packed on its way to the file, and unpacked on the way back.
//!
//! A record consists of words of 8 bytes. Most of them can be predicted from the previous record of the same shape, and
//! a time is near the last time. So a packed record has a bit for each word, and a short number for each word that
//! differs from the prediction. Every frame is packed separately. `docs/recording.md` describes the bytes.

use opscope_trace::{Category, Kind};

use super::record::stored_length;

/// The maximum number of bytes of records that are packed together, and that a reader unpacks, whatever a file says.
/// The shapes take some additional MiB if every record has a different one.
pub const MOST_BYTES: usize = 128 << 10;

/// The size of a word, and of a record's head.
const WORD: usize = 8;

/// A shape of records: those that have the same head.
struct Shape {
    head: [u8; WORD],
    /// The number of words after the head.
    words: usize,
    /// A mask of the first 64 words: a bit is set if its word is a time.
    times: u64,
    /// The last record of this shape.
    last: Vec<u64>,
    /// The difference of each word of the last record from the record before it.
    strides: Vec<u64>,
}

/// The context of the next record, which is the same while packing and unpacking.
#[derive(Default)]
struct Context {
    shapes: Vec<Shape>,
    /// The last time of any record.
    now: u64,
}

impl Shape {
    fn new(head: [u8; WORD]) -> Self {
        let is_ours = Category(head[0]) == Category::TRACING;
        let kind = Kind::from_raw(u16::from_le_bytes([head[2], head[3]])).filter(|_| is_ours);
        let words = stored_length(payload_length(head)) / WORD - 1;
        Self { head, words, times: kind.map_or(0, times), last: vec![0; words], strides: vec![0; words] }
    }

    /// Returns the size of a record of this shape in a plain payload.
    fn stored_length(&self) -> usize {
        (self.words + 1) * WORD
    }

    /// Returns the size of the mask of a packed record, which precedes its numbers: a bit for each word.
    fn mask_length(&self) -> usize {
        self.words.div_ceil(8)
    }

    fn is_time(&self, word: usize) -> bool {
        word < 64 && self.times >> word & 1 == 1
    }

    /// Returns the most likely value of a word of the next record.
    fn predicted(&self, word: usize, now: u64) -> u64 {
        if self.is_time(word) { now } else { self.last[word].wrapping_add(self.strides[word]) }
    }

    /// Updates the context with a word of a record.
    fn note(&mut self, word: usize, value: u64, now: &mut u64) {
        if !self.is_time(word) {
            self.strides[word] = value.wrapping_sub(self.last[word]);
            self.last[word] = value;
        } else if value != 0 {
            // Unknown times are 0, and do not count.
            *now = value;
        }
    }
}

/// Returns the length of a record's payload, which is in its head.
fn payload_length(head: [u8; WORD]) -> usize {
    usize::from(u16::from_le_bytes([head[4], head[5]]))
}

/// For each kind of records, a mask of the words that are times. The table is part of the format: existing readers
/// unpack a kind that is not in it like a record of another category, so a new kind of records must not be added here.
const TIMES: [(Kind, u64); 8] = [
    (Kind::OperatorDispatch, 0b1100),
    (Kind::Run, 0b1111_1100),
    (Kind::TensorCopy, 0b110),
    (Kind::TensorAllocation, 0b11),
    (Kind::Marker, 0b11),
    (Kind::Counter, 0b1),
    (Kind::EngineCall, 0b1100),
    (Kind::CorrelationRetirement, 0b1),
];

/// Returns a mask of the words that are times in records of a kind.
fn times(kind: Kind) -> u64 {
    TIMES.iter().find(|(known, _)| *known == kind).map_or(0, |(_, times)| *times)
}

/// Appends the packed records of a frame to `into`. Returns `false`, and leaves `into` unchanged, if they would not
/// become shorter or are not complete.
pub fn pack(payload: &[u8], into: &mut Vec<u8>) -> bool {
    let before = into.len();
    let is_packed = pack_records(payload, into).is_some() && into.len() - before < payload.len();
    if !is_packed {
        into.truncate(before);
    }
    is_packed
}

fn pack_records(payload: &[u8], into: &mut Vec<u8>) -> Option<()> {
    let mut context = Context::default();
    let mut rest = payload;
    while !rest.is_empty() {
        let head = *rest.first_chunk::<WORD>()?;
        let known = context.shapes.iter().position(|shape| shape.head == head);
        // 0 means that a new head follows.
        put_number(known.map_or(0, |known| known as u64 + 1), into);
        let index = known.unwrap_or_else(|| {
            into.extend_from_slice(&head);
            context.shapes.push(Shape::new(head));
            context.shapes.len() - 1
        });
        let shape = &mut context.shapes[index];
        let (length, now) = (shape.stored_length(), &mut context.now);
        let alike = rest.chunks_exact(length).take_while(|record| record.starts_with(&head)).count();
        if alike == 0 {
            return None;
        }
        put_number(alike as u64, into);
        let (records, behind) = rest.split_at(alike * length);
        records.chunks_exact(length).for_each(|record| pack_record(&record[WORD..], shape, now, into));
        rest = behind;
    }
    Some(())
}

fn pack_record(record: &[u8], shape: &mut Shape, now: &mut u64, into: &mut Vec<u8>) {
    let mask = into.len();
    into.resize(mask + shape.mask_length(), 0);
    let (words, _) = record.as_chunks::<WORD>();
    for (word, value) in words.iter().enumerate() {
        let value = u64::from_le_bytes(*value);
        let difference = value.wrapping_sub(shape.predicted(word, *now));
        if difference != 0 {
            into[mask + word / 8] |= 1 << (word % 8);
            put_number(zigzag(difference), into);
        }
        shape.note(word, value, now);
    }
}

/// Returns the unpacked records; `None` if these bytes are not in the form of [`pack`], or stand for more than a frame
/// holds.
pub fn unpack(mut packed: &[u8]) -> Option<Vec<u8>> {
    let mut context = Context::default();
    let mut payload = Vec::with_capacity((packed.len() * 16).min(MOST_BYTES));
    while !packed.is_empty() {
        let room = MOST_BYTES - payload.len();
        let index = match take_number(&mut packed)? {
            0 => {
                let head = *take(&mut packed, WORD)?.first_chunk()?;
                // This is checked before memory is allocated.
                if stored_length(payload_length(head)) > room {
                    return None;
                }
                context.shapes.push(Shape::new(head));
                context.shapes.len() - 1
            }
            known => usize::try_from(known - 1).ok()?,
        };
        let shape = context.shapes.get_mut(index)?;
        let records = usize::try_from(take_number(&mut packed)?).ok()?;
        // If 0 records were allowed, a file could allocate memory repeatedly without containing any records.
        if records == 0 || shape.stored_length().checked_mul(records)? > room {
            return None;
        }
        for _ in 0..records {
            unpack_record(&mut packed, shape, &mut context.now, &mut payload)?;
        }
    }
    Some(payload)
}

fn unpack_record(packed: &mut &[u8], shape: &mut Shape, now: &mut u64, payload: &mut Vec<u8>) -> Option<()> {
    let mask = take(packed, shape.mask_length())?;
    payload.extend_from_slice(&shape.head);
    for word in 0..shape.words {
        let is_as_predicted = mask[word / 8] >> (word % 8) & 1 == 0;
        let difference = if is_as_predicted { 0 } else { unzigzag(take_number(packed)?) };
        let value = shape.predicted(word, *now).wrapping_add(difference);
        payload.extend_from_slice(&value.to_le_bytes());
        shape.note(word, value, now);
    }
    Some(())
}

/// Turns a wrapping difference into a number that is small if the difference is small in either direction.
fn zigzag(difference: u64) -> u64 {
    difference << 1 ^ ((difference as i64) >> 63) as u64
}

fn unzigzag(number: u64) -> u64 {
    number >> 1 ^ (number & 1).wrapping_neg()
}

/// Appends a number as LEB128: seven bits per byte, the lowest first. The highest bit says that another byte follows.
fn put_number(mut number: u64, into: &mut Vec<u8>) {
    while number > 0x7f {
        into.push(number as u8 | 0x80);
        number >>= 7;
    }
    into.push(number as u8);
}

fn take_number(from: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = from.split_first()?;
        *from = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

fn take<'a>(from: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = from.split_at_checked(length)?;
    *from = rest;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use opscope_clock::Ticks;
    use opscope_trace::{
        Correlation, CorrelationId, DispatchRecord, Header, KernelIndex, PlanId, Record, RetirementRecord, RunRecord,
        ThreadId,
    };
    use proptest::prelude::*;
    use zerocopy::IntoBytes;

    use super::*;
    use crate::Recording;
    use crate::recording::record::store;
    use crate::recording::{Fact, test_recording};

    fn header(kind: u16, length: usize) -> Header {
        Header { category: Category::TRACING, kind, length: length as u16 }
    }

    /// A strategy for payloads of any length, with records of every known kind and of unknown kinds, in equal runs and
    /// mixed.
    fn payloads() -> impl Strategy<Value = Vec<u8>> {
        let content = prop_oneof![
            prop::collection::vec(any::<u8>(), 0..200),
            (0usize..2_000).prop_map(|length| vec![0; length]),
            prop::collection::vec(prop_oneof![Just(u64::MAX), Just(0), 0u64..100, any::<u64>()], 8..13)
                .prop_map(|words| words.as_bytes().to_vec()),
        ];
        let record = (any::<bool>(), 0u16..12, content, 1usize..4);
        prop::collection::vec(record, 0..20).prop_map(|records| {
            let mut payload = Vec::new();
            for (is_ours, kind, content, times) in records {
                let category = Category(if is_ours { 1 } else { 77 });
                let header = Header { category, kind, length: content.len() as u16 };
                (0..times).for_each(|_| store(header, &content, &mut payload));
            }
            payload
        })
    }

    proptest! {
        #[test]
        fn whatever_was_packed_comes_back_byte_for_byte(payload in payloads()) {
            let mut packed = b"before".to_vec();
            if pack(&payload, &mut packed) {
                prop_assert!(packed.starts_with(b"before") && packed.len() - 6 < payload.len());
                prop_assert_eq!(unpack(&packed[6..]), Some(payload.clone()));
            } else {
                prop_assert_eq!(packed, b"before");
            }
            // This also covers payloads that do not become shorter.
            let mut packed = Vec::new();
            prop_assert!(pack_records(&payload, &mut packed).is_some());
            prop_assert_eq!(unpack(&packed), Some(payload));
        }

        #[test]
        fn bytes_that_are_no_records_are_not_packed(payload in payloads(), cut in 1usize..8) {
            let kept = payload.len().saturating_sub(cut);
            prop_assume!(kept % 8 != 0);
            prop_assert!(!pack(&payload[..kept], &mut Vec::new()));
        }

        #[test]
        fn foreign_bytes_are_refused_or_give_whole_records_of_at_most_a_frame(
            bytes in prop::collection::vec(any::<u8>(), 0..400)
        ) {
            if let Some(payload) = unpack(&bytes) {
                prop_assert!(payload.len() <= MOST_BYTES && payload.len() % 8 == 0);
            }
        }

        #[test]
        fn a_changed_byte_of_packed_records_never_breaks_a_reader(
            payload in payloads(), place: prop::sample::Index, change in 1u8..
        ) {
            let mut packed = Vec::new();
            prop_assert!(pack_records(&payload, &mut packed).is_some());
            prop_assume!(!packed.is_empty());
            let at = place.index(packed.len());
            packed[at] ^= change;
            prop_assert!(unpack(&packed).is_none_or(|payload| payload.len() <= MOST_BYTES));
        }
    }

    #[test]
    fn a_recording_of_version_2_has_the_same_records() {
        let facts = |directory: &Path| -> Vec<Fact> {
            let recording = Recording::open(directory).unwrap();
            assert_eq!(recording.problems(), [] as [String; 0]);
            recording.facts().unwrap().map(Result::unwrap).collect()
        };
        let directory = tempfile::tempdir().unwrap();
        test_recording::write(directory.path());
        let stored = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recording-2");
        assert_eq!(facts(&stored), facts(directory.path()));
        let bytes = |directory: &Path| std::fs::metadata(directory.join("records.bin")).unwrap().len();
        assert!(bytes(&stored) > 3 * bytes(directory.path()), "{} bytes were", bytes(&stored));
    }

    #[test]
    fn the_records_of_a_recording_come_back_and_are_shorter() {
        for payload in test_recording::frames() {
            let mut packed = Vec::new();
            assert!(pack(&payload, &mut packed));
            assert_eq!(unpack(&packed), Some(payload));
        }
    }

    /// Returns runs of 24 kernels in ticks of a 2 GHz processor. The kernels take 100 ns to 6 µs, with 60 ns between
    /// them.
    fn runs(count: u64) -> Vec<u8> {
        let mut payload = Vec::new();
        let mut now = 1_000_000_000;
        for run in 0..count {
            let correlation = Correlation { internal: CorrelationId(run + 1), ..Correlation::default() };
            let (plan, thread, begin) = (PlanId(0), ThreadId(4_711), now);
            for kernel in 0..24 {
                let start = now + 120 + run % 7;
                now = start + 200 + 500 * u64::from(kernel) + run % 91;
                let (start, end) = (Ticks::from_raw(start), Ticks::from_raw(now));
                let kernel = KernelIndex(kernel);
                let record =
                    DispatchRecord { run, plan, start, end, correlation, kernel, thread, ..DispatchRecord::default() };
                store(header(DispatchRecord::KIND.as_raw(), 64), record.as_bytes(), &mut payload);
            }
            let (start, end) = (Ticks::from_raw(begin), Ticks::from_raw(now));
            let record = RunRecord { run, plan, start, end, correlation, thread, ..RunRecord::default() };
            store(header(RunRecord::KIND.as_raw(), 96), record.as_bytes(), &mut payload);
            let record = RetirementRecord { time: end, correlation: correlation.internal };
            store(header(RetirementRecord::KIND.as_raw(), 16), record.as_bytes(), &mut payload);
        }
        payload
    }

    #[test]
    fn a_dispatch_of_a_plan_that_is_repeated_takes_few_bytes() {
        let payload = runs(60);
        let mut packed = Vec::new();
        assert!(payload.len() <= MOST_BYTES && pack(&payload, &mut packed));
        let per_dispatch = packed.len() as f64 / (60.0 * 24.0);
        assert!(per_dispatch < 8.0, "{per_dispatch} bytes a dispatch");
        assert_eq!(unpack(&packed), Some(payload));
    }

    #[test]
    fn the_packed_form_stays_as_docs_recording_md_describes_it() {
        let mut payload = Vec::new();
        for time in [300u64, 302] {
            let record = RetirementRecord { time: Ticks::from_raw(time), correlation: CorrelationId(1) };
            store(header(8, 16), record.as_bytes(), &mut payload);
        }
        let mut packed = Vec::new();
        assert!(pack(&payload, &mut packed));
        // A new head, two records: 300 after 0 and 1 after 0; 2 after 300 and 1 instead of 2.
        assert_eq!(packed, [0, 1, 0, 8, 0, 16, 0, 0, 0, 2, 0b11, 0xd8, 4, 2, 0b11, 4, 1]);
    }

    #[test]
    fn a_frame_is_unpacked_up_to_its_last_byte_and_no_further() {
        // A head and a word are 16 bytes, and a frame holds 8192 such records.
        let records = |kind: u16, words: usize, count: usize| {
            let mut payload = Vec::new();
            (0..count).for_each(|_| store(header(kind, words * WORD), &vec![0; words * WORD], &mut payload));
            payload
        };
        let unpacked = |payload: &[u8]| {
            let mut packed = Vec::new();
            pack_records(payload, &mut packed).expect("they are whole");
            unpack(&packed)
        };
        let full = records(900, 1, 8_192);
        assert_eq!(full.len(), MOST_BYTES);
        assert_eq!(unpacked(&full), Some(full));
        assert_eq!(unpacked(&records(900, 1, 8_193)), None);
        // The last record has a head of its own.
        let full = [records(900, 1, 8_191), records(901, 1, 1)].concat();
        assert_eq!(unpacked(&full), Some(full));
        assert_eq!(unpacked(&[records(900, 1, 8_191), records(901, 2, 1)].concat()), None);
        assert_eq!(unpacked(&[records(900, 1, 8_192), records(901, 0, 1)].concat()), None);
        assert_eq!(unpack(&[0, 1, 0, 8, 0, 16, 0, 0, 0, 0]), None, "no record of a new head");
    }

    #[test]
    fn numbers_that_do_not_end_are_refused() {
        assert_eq!(take_number(&mut &[0x80; 20][..]), None);
        assert_eq!(unpack(&[0xff; 3]), None);
        for number in [0, 1, 127, 128, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(number, &mut bytes);
            assert_eq!(take_number(&mut &bytes[..]), Some(number));
            assert_eq!(unzigzag(zigzag(number)), number);
        }
    }
}
