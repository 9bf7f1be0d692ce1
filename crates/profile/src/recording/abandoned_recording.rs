//! Closes a recording in place of a process that ended before it could.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use opscope_clock::{ClockPair, Ticks};
use opscope_files::{PART, open_regular, open_to_append};
use opscope_trace::{Category, CorrelationId, Kind, RecordRef, RecoverError, Recovered, recover};

use super::fact::Fact;
use super::frame::{FILE_HEADER, FRAME_MAX, FrameReader, FrameWriter};
use super::manifest::Manifest;
use super::names_file::{Mentions, NamesFile};
use super::record::{store, stored};
use super::writer::{BUFFER, RECORDS, RESERVE};
use crate::ProfileError;

/// Closes the recording of a process that ended early: adds the records that its buffer's file still holds, and writes
/// the manifest, with `reason` as the reason why the recording is not complete. If the recording was already closed,
/// this only removes incomplete exports.
///
/// # Errors
/// Returns an error if there is no recording, or a file cannot be read or written.
pub fn close_abandoned(directory: &Path, reason: &str) -> Result<Manifest, ProfileError> {
    let mut manifest = Manifest::read(directory)?;
    remove_parts(directory);
    if manifest.records.is_none() {
        manifest.incomplete_because = vec![reason.to_owned()];
        let buffer = directory.join(BUFFER);
        match recover(&buffer) {
            Ok(recovered) => {
                append(directory, &recovered)?;
                if !recovered.recovery.damage.is_empty() {
                    manifest.incomplete_because.push(format!("parts of {BUFFER} are damaged"));
                }
            }
            Err(RecoverError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => manifest.incomplete_because.push(format!("what waited in {BUFFER} is lost: {error}")),
        }
        manifest.clock.end = Some(ClockPair::now().into());
        manifest.write(directory)?;
        for file in [BUFFER, RESERVE] {
            // The recording does not need these files.
            let _ = fs::remove_file(directory.join(file));
        }
    }
    Ok(manifest)
}

/// Adds the records that were not written, after the last complete frame.
fn append(directory: &Path, recovered: &Recovered) -> Result<(), ProfileError> {
    let path = directory.join(RECORDS);
    let mut frames = open_regular(&path).and_then(FrameReader::new).map_err(ProfileError::io("read", &path))?;
    // If a callback had written its batch but not returned, its records are in both files.
    let (mut position, mut next, mut end) = (0, 0, FILE_HEADER);
    let mut written_twice: HashMap<Vec<u8>, u64> = HashMap::new();
    while let Some(frame) = frames.next().map_err(ProfileError::io("read", &path))? {
        for record in stored(&frame.payload) {
            position += 1;
            if position > recovered.recovery.delivered {
                *written_twice.entry(record.to_vec()).or_default() += 1;
            }
        }
        (next, end) = (frame.sequence + 1, frames.position());
    }
    let file = open_to_append(&path).map_err(ProfileError::io("write", &path))?;
    file.set_len(end).map_err(ProfileError::io("write", &path))?;
    let mut writer = FrameWriter::longer(file, next, end);
    let names = Arc::new(NamesFile::longer(directory)?);
    let mut mentions = Mentions::of_ended_process(names, recovered.recovery.names.clone());
    let mut frame = Vec::with_capacity(FRAME_MAX);
    let mut write = |frame: &mut Vec<u8>| {
        let written = writer.write(frame, recovered.recovery.dropped, ClockPair::now());
        frame.clear();
        written.map_err(ProfileError::io("write", &path))
    };
    for record in in_order(recovered) {
        let mut bytes = Vec::new();
        store(record.header(), record.payload(), &mut bytes);
        if let Some(copies) = written_twice.get_mut(&bytes).filter(|copies| **copies > 0) {
            *copies -= 1;
            continue;
        }
        mentions.record(&record);
        if frame.len() + bytes.len() > FRAME_MAX {
            write(&mut frame)?;
        }
        frame.extend_from_slice(&bytes);
    }
    if frame.is_empty() { Ok(()) } else { write(&mut frame) }
}

/// Returns the records in the order in which each thread emitted them. A thread that finds no free chunk writes into
/// the shared one, so the chunks are not in the order of their records. But each record contains the moment at which it
/// is emitted, except that a run's record is emitted just before its id is retired.
fn in_order(recovered: &Recovered) -> Vec<RecordRef<'_>> {
    let records: Vec<(RecordRef<'_>, Option<Fact>)> = recovered
        .records()
        .map(|record| {
            let kind = Kind::from_raw(record.header().kind).filter(|_| record.header().category == Category::TRACING);
            (record, kind.and_then(|kind| Fact::read(kind, record.payload())))
        })
        .collect();
    let retired: HashMap<CorrelationId, Ticks> = records
        .iter()
        .filter_map(|(_, fact)| {
            let Some(Fact::Retirement(retirement)) = fact else { return None };
            Some((retirement.correlation, retirement.at))
        })
        .collect();
    let mut last = Ticks::default();
    let mut ordered: Vec<(Ticks, bool, RecordRef<'_>)> = Vec::with_capacity(records.len());
    for (record, fact) in records {
        last = match &fact {
            Some(fact @ Fact::Run(run)) => retired.get(&run.correlation.internal).copied().unwrap_or(fact.end()),
            Some(fact) => fact.end(),
            // A record that this version does not know keeps its place after the preceding one.
            None => last,
        };
        ordered.push((last, matches!(fact, Some(Fact::Retirement(_))), record));
    }
    ordered.sort_by_key(|(at, is_retirement, _)| (*at, *is_retirement));
    ordered.into_iter().map(|(_, _, record)| record).collect()
}

/// Removes files that were being written under a temporary name: an export, or a manifest.
fn remove_parts(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.file_name().to_string_lossy().ends_with(PART) {
            let _ = fs::remove_file(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_trace::{Buffer, BufferOptions, Bytes};

    use super::*;
    use crate::Recording;
    use crate::recording::test_recording;

    /// Returns how many records are added to a recording whose buffer has delivered some records and holds others. Both
    /// are given by their positions in the recording, which has each record once.
    fn added(delivered: &[usize], waiting: &[usize]) -> usize {
        let root = tempfile::tempdir().expect("a directory");
        let directory = root.path().join("recording");
        fs::create_dir(&directory).expect("a new directory");
        test_recording::write(&directory);
        let facts =
            || Recording::open(&directory).and_then(|recording| Ok(recording.facts()?.count())).expect("records");
        let before = facts();
        let mut manifest = Manifest::read(&directory).expect("a manifest");
        manifest.records = None;
        manifest.write(&directory).expect("the disk has room");
        let frames = test_recording::frames();
        let records: Vec<&[u8]> = frames.iter().flat_map(|frame| stored(frame)).collect();
        let file = root.path().join("buffer");
        let size = Bytes::kib(64);
        let options = BufferOptions { size, watermark: size, file: Some(file.clone()), ..BufferOptions::default() };
        let buffer = Buffer::create(options, |_| ()).expect("a new file");
        let emit = |place: &usize| {
            let (head, payload) = records[*place].split_at(8);
            let [kind, length] = [2, 4].map(|at| u16::from_le_bytes([head[at], head[at + 1]]));
            buffer.emit_bytes(Category(head[0]), kind, &payload[..usize::from(length)]).expect("there is room");
        };
        delivered.iter().for_each(emit);
        buffer.flush().expect("no callback is in the way");
        waiting.iter().for_each(emit);
        // This is the state that a process leaves if it is killed now.
        fs::copy(&file, directory.join(BUFFER)).expect("the disk has room");
        let closed = close_abandoned(&directory, "it was killed").expect("a recording");
        assert_eq!(closed.incomplete_because, ["it was killed"]);
        assert!(!directory.join(BUFFER).exists());
        facts() - before
    }

    #[test]
    fn a_record_that_waits_and_was_written_is_there_once_and_one_that_was_delivered_does_not_count() {
        assert_eq!(added(&[], &[]), 0);
        assert_eq!(added(&[], &[2]), 0);
        assert_eq!(added(&[], &[2, 2, 2]), 2, "it was written once");
        // The first records of the file were delivered, so the waiting one is a different record.
        assert_eq!(added(&[0, 1], &[2]), 0);
        assert_eq!(added(&[0, 1, 2], &[2]), 1);
    }

    /// Returns how many frames are added to a recording whose buffer holds this many records of 8 bytes.
    fn added_frames(records: u64) -> usize {
        let root = tempfile::tempdir().expect("a directory");
        let directory = root.path().join("recording");
        fs::create_dir(&directory).expect("a new directory");
        test_recording::write(&directory);
        let frames = || {
            let mut reader = open_regular(&directory.join(RECORDS)).and_then(FrameReader::new).expect("records");
            std::iter::from_fn(|| reader.next().expect("whole frames")).count()
        };
        let before = frames();
        let file = root.path().join("buffer");
        let size = Bytes::kib(128);
        let options = BufferOptions { size, watermark: size, file: Some(file.clone()), ..BufferOptions::default() };
        let buffer = Buffer::create(options, |_| ()).expect("a new file");
        for number in 0..records {
            buffer.emit_bytes(Category(77), 1, &number.to_le_bytes()).expect("there is room");
        }
        // A callback of the test has received nothing, so no record is taken for one that was written.
        append(&directory, &recover(&file).expect("the file of a buffer")).expect("the disk has room");
        frames() - before
    }

    #[test]
    fn records_that_fill_a_frame_to_its_last_byte_are_one_frame() {
        // With its head a record has 16 bytes, and a frame has 131,072.
        assert_eq!(added_frames(0), 0);
        assert_eq!(added_frames(8_192), 1);
        assert_eq!(added_frames(8_193), 2);
    }
}
