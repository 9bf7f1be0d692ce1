//! Records files that were truncated or changed at any position.

use std::fs::File;
use std::io::Write;

use opscope_clock::ClockPair;
use proptest::prelude::*;

use super::Recording;
use super::fact::Fact;
use super::frame::{EARLIER_MAGICS, FrameReader, FrameWriter};
use super::writer::RECORDS;
use super::{names, test_recording};

fn payloads() -> impl Strategy<Value = Vec<Vec<u8>>> {
    // Payloads that contain the magic numbers of frames, in the sizes of small and larger batches.
    let payload = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        Just(b"OBAT".repeat(30)),
        Just(b"OPAK".repeat(30)),
        // These are packed.
        (0usize..2).prop_map(|frame| test_recording::frames().swap_remove(frame)),
        prop::collection::vec(any::<u8>(), 3_000..4_000),
    ];
    prop::collection::vec(payload, 1..8)
}

/// Returns the bytes of a file, and the end of every frame.
fn written(payloads: &[Vec<u8>]) -> (Vec<u8>, Vec<usize>) {
    let mut bytes = Vec::new();
    let mut frames = FrameWriter::new(&mut bytes).expect("memory");
    let mut ends = Vec::new();
    for payload in payloads {
        frames.write(payload, 0, ClockPair::now()).expect("memory");
        ends.push(frames.bytes() as usize);
    }
    (bytes, ends)
}

/// Returns the payloads of all frames that are found, and the number of bytes that were skipped.
fn read(bytes: &[u8]) -> (Vec<Vec<u8>>, u64) {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("the disk has room");
    let mut frames = FrameReader::new(file).expect("a file");
    let mut found = Vec::new();
    while let Some(frame) = frames.next().expect("a file") {
        found.push(frame.payload);
    }
    (found, frames.damage().bytes)
}

proptest! {
    #[test]
    fn a_file_that_was_cut_anywhere_gives_back_every_whole_frame(payloads in payloads(), cut: prop::sample::Index) {
        let (bytes, ends) = written(&payloads);
        let length = cut.index(bytes.len() + 1);
        let (found, left_out) = read(&bytes[..length]);
        let whole = ends.iter().filter(|&&end| end <= length).count();
        prop_assert_eq!(&found[..], &payloads[..whole]);
        let last = ends[..whole].last().copied().unwrap_or(8.min(length));
        prop_assert_eq!(left_out as usize, if length < 8 { length } else { length - last });
    }

    #[test]
    fn a_changed_byte_costs_the_frame_it_lies_in_and_no_other(
        payloads in payloads(), place: prop::sample::Index, change in 1u8..
    ) {
        let (mut bytes, ends) = written(&payloads);
        let place = place.index(bytes.len());
        bytes[place] ^= change;
        let (found, left_out) = read(&bytes);
        let mut expected = payloads.clone();
        if place >= 8 {
            expected.remove(ends.iter().filter(|&&end| end <= place).count());
        }
        prop_assert_eq!(found, expected);
        // Files of earlier versions have plain frames, which are the same.
        prop_assert!(left_out > 0 || EARLIER_MAGICS.iter().any(|magic| bytes.starts_with(magic)));
    }

    #[test]
    fn bytes_that_are_no_file_of_records_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..2_000)) {
        let (_, left_out) = read(&bytes);
        prop_assert!(left_out <= bytes.len() as u64);
    }

    /// The checksum is right here, so that the records themselves are damaged.
    #[test]
    fn damaged_records_and_names_never_break_a_reader(
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)
    ) {
        let directory = tempfile::tempdir().expect("a directory");
        test_recording::write(directory.path());
        let mut frames = test_recording::frames();
        let names_path = directory.path().join(names::NAMES);
        let mut lines = std::fs::read(&names_path).expect("names");
        for (place, change) in &flips {
            let frame = &mut frames[usize::from(change % 2)];
            let at = place.index(frame.len());
            frame[at] ^= change;
            let at = place.index(lines.len());
            lines[at] ^= change;
        }
        std::fs::write(&names_path, lines).expect("the disk has room");
        let mut file = FrameWriter::new(File::create(directory.path().join(RECORDS)).expect("a file")).expect("room");
        for frame in &frames {
            file.write(frame, 0, ClockPair::now()).expect("the disk has room");
        }
        let recording = Recording::open(directory.path()).expect("the manifest is whole");
        let facts: Vec<Fact> = recording.facts().expect("a file").map(|fact| fact.expect("a file")).collect();
        // The smallest record takes 24 bytes: a head and a retirement.
        prop_assert!(facts.len() <= frames.iter().map(|frame| frame.len() / 24).sum());
        let account = recording.account().expect("a file");
        prop_assert!(!account.to_text(5).is_empty());
        for format in crate::Format::ALL {
            recording.export(format, directory.path()).expect("an export");
        }
    }
}

/// Returns how often a reader reads each byte of a file on average, and the number of frames that it finds.
fn effort(bytes: &[u8]) -> (f64, usize) {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(bytes).expect("the disk has room");
    let mut frames = FrameReader::new(file).expect("a file");
    let mut found = 0;
    while frames.next().expect("a file").is_some() {
        found += 1;
    }
    (frames.read() as f64 / bytes.len() as f64, found)
}

#[test]
fn a_file_is_read_a_few_times_over_whatever_its_damage_is() {
    // The file consists of beginnings of possible frames, each of the maximum length.
    for magic in [b"OBAT", b"OPAK"] {
        let beginnings = [&magic[..], &(128u32 << 10).to_le_bytes()].concat().repeat((2 << 20) / 8);
        let (times, _) = effort(&beginnings);
        assert!(times < 20.0, "{times}");
    }
    // There is a foreign byte before every small frame.
    let (whole, ends) = written(&vec![vec![7; 100]; 5_000]);
    let mut damaged = whole[..8].to_vec();
    for range in [8].iter().chain(&ends).zip(&ends) {
        damaged.push(b'x');
        damaged.extend_from_slice(&whole[*range.0..*range.1]);
    }
    let (times, found) = effort(&damaged);
    assert!(times < 6.0 && found == 5_000, "{times}, {found} frames");
    let (times, found) = effort(&whole);
    assert!(times < 1.01 && found == 5_000, "{times}, {found} frames");
}

#[test]
fn a_recording_whose_clocks_show_anything_is_read_and_exported() {
    let directory = tempfile::tempdir().expect("a directory");
    test_recording::write(directory.path());
    let path = directory.path().join("manifest.json");
    let whole: serde_json::Value = serde_json::from_slice(&std::fs::read(&path).expect("a file")).expect("JSON");
    let fields = ["/start_unix_ns", "/start/ticks", "/start/boottime_ns", "/end/ticks", "/end/boottime_ns"];
    for (field, number) in fields.into_iter().flat_map(|field| [0, 1, 1 << 62, 1 << 63, u64::MAX].map(|at| (field, at)))
    {
        let mut manifest = whole.clone();
        *manifest.pointer_mut(&format!("/clock{field}")).expect("a field") = number.into();
        std::fs::write(&path, manifest.to_string()).expect("the disk has room");
        let recording = Recording::open(directory.path()).expect("a recording");
        assert!(!recording.account().expect("an account").to_text(5).is_empty(), "{field} {number}");
        let into = tempfile::tempdir().expect("a directory");
        for format in crate::Format::ALL {
            recording.export(format, into.path()).unwrap_or_else(|error| panic!("{field} {number}: {error}"));
        }
    }
}

#[test]
fn a_recording_with_frames_cut_off_says_so() {
    let directory = tempfile::tempdir().expect("a directory");
    test_recording::write(directory.path());
    let path = directory.path().join(RECORDS);
    let length = std::fs::metadata(&path).expect("a file").len();
    File::options().write(true).open(&path).and_then(|file| file.set_len(length - 1)).expect("a file");
    let problems = Recording::open(directory.path()).expect("a recording").problems().join("; ");
    assert!(problems.contains("belong to no whole frame") && problems.contains("1 frames"), "{problems}");
}
