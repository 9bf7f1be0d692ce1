use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use opscope_clock::{ClockPair, Ticks};
use opscope_trace::{Batch, Kind, KindStatistics, MarkerRecord, NameId, Statistics, ThreadId};

use super::frame::{FRAME_MAX, FrameWriter};
use super::manifest::Manifest;
use super::names_file::{Mentions, NamesFile, new_file};
use super::record::{store, stored_length};
use crate::ProfileError;
use crate::load::Load;

/// The records file.
pub(crate) const RECORDS: &str = "records.bin";

/// The file in which records wait if they must survive the process.
pub(crate) const BUFFER: &str = "buffer.bin";

/// A file that reserves space for the last manifest, so that a recording can report a full disk.
pub(crate) const RESERVE: &str = ".reserve";
const RESERVED_BYTES: usize = 16 << 10;

/// Why a recording that is still open is not complete.
const STILL_OPEN: &str = "it was not closed: the process was killed, or still writes";

/// A recording that is being written.
pub(crate) struct RecordingWriter {
    directory: PathBuf,
    manifest: Manifest,
    names: Arc<NamesFile>,
}

/// The records file, which is written batch by batch. If a write fails, no more batches are written, and the complete
/// frames are kept.
pub(crate) struct RecordsFile {
    frames: FrameWriter<File>,
    payload: Vec<u8>,
    mentions: Mentions,
    written: Arc<RecordsSize>,
    /// The number of runs in the payload.
    runs: u64,
    delivered: u64,
    failure: Option<String>,
    /// The ranges that were written, if they are being collected.
    ended_ranges: Option<HashSet<RangeKey>>,
}

/// The current size of the records file, which decides whether another run is recorded.
#[derive(Debug, Default)]
pub(crate) struct RecordsSize {
    bytes: AtomicU64,
    runs: AtomicU64,
}

impl RecordsSize {
    /// Returns the size of the file in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes per run, including all of its records; `None` before a run was written.
    pub(crate) fn bytes_per_run(&self) -> Option<f64> {
        let runs = self.runs.load(Ordering::Relaxed);
        (runs > 0).then(|| self.bytes() as f64 / runs as f64)
    }
}

/// The numbers of records that never reached a buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LostRecords {
    /// Records that the buffer could not take.
    pub refused: u64,
    /// Dispatches whose times the engine lost.
    pub untimed: u64,
    /// Runs that were not recorded because the recording had reached its budget.
    pub runs_beyond_budget: u64,
}

/// The outcome of the records file.
#[derive(Debug, Clone, Default)]
pub(crate) struct RecordsEnd {
    pub delivered: u64,
    pub bytes: u64,
    pub frames: u64,
    pub failure: Option<String>,
}

impl RecordingWriter {
    /// Creates the directory and its files. The manifest says that the recording is incomplete until it is closed.
    pub(crate) fn create(directory: &Path, mut manifest: Manifest) -> Result<(Self, RecordsFile), ProfileError> {
        match fs::create_dir(directory) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ProfileError::Exists(directory.to_owned()));
            }
            Err(error) => return Err(ProfileError::io("create", directory)(error)),
        }
        manifest.complete = false;
        manifest.incomplete_because = vec![STILL_OPEN.to_owned()];
        Self::begin(directory, manifest).inspect_err(|_| remove(directory))
    }

    fn begin(directory: &Path, manifest: Manifest) -> Result<(Self, RecordsFile), ProfileError> {
        manifest.write(directory)?;
        let reserve = directory.join(RESERVE);
        new_file(&reserve)?.write_all(&[0; RESERVED_BYTES]).map_err(ProfileError::io("write", &reserve))?;
        let names = Arc::new(NamesFile::create(directory)?);
        let records_path = directory.join(RECORDS);
        let frames = FrameWriter::new(new_file(&records_path)?).map_err(ProfileError::io("write", &records_path))?;
        let (payload, mentions) = (Vec::with_capacity(FRAME_MAX), Mentions::new(Arc::clone(&names)));
        let (written, runs) = (Arc::default(), 0);
        let records =
            RecordsFile { frames, payload, mentions, written, runs, delivered: 0, failure: None, ended_ranges: None };
        Ok((Self { directory: directory.to_owned(), manifest, names }, records))
    }

    /// Returns the names file.
    pub(crate) fn names(&self) -> &NamesFile {
        &self.names
    }

    /// Writes the last manifest, which is complete if nothing is missing.
    pub(crate) fn close(
        mut self,
        statistics: &Statistics,
        never: LostRecords,
        end: RecordsEnd,
        shortfalls: Vec<String>,
        notes: Vec<String>,
        load: Option<Load>,
    ) -> Result<Manifest, ProfileError> {
        let KindStatistics { emitted, dropped, .. } = statistics.total();
        let LostRecords { refused, untimed, runs_beyond_budget } = never;
        let (emitted, dropped) = (emitted + refused, dropped + refused);
        let lost = emitted.saturating_sub(end.delivered + dropped);
        let mut reasons = shortfalls;
        reasons.extend(self.names.failure().into_iter().chain(end.failure));
        if dropped > 0 {
            reasons.push(format!("{dropped} records were dropped because the memory for records was full"));
        }
        if untimed > 0 {
            reasons.push(format!("the engine lost the times of {untimed} dispatches"));
        }
        if lost > 0 {
            reasons.push(format!("{lost} records were not written"));
        }
        self.manifest.complete = reasons.is_empty();
        self.manifest.incomplete_because = reasons;
        self.manifest.notes = notes;
        self.manifest.load = load.unwrap_or_else(|| self.manifest.load.until_now());
        self.manifest.clock.end = Some(ClockPair::now().into());
        self.manifest.records = Some(super::RecordCounts {
            emitted: emitted + untimed,
            delivered: end.delivered,
            dropped: dropped + untimed,
            bytes: end.bytes,
            frames: end.frames,
            stalls: statistics.stalls,
            longest_stall_ns: statistics.longest_stall.as_nanos() as u64,
            runs_beyond_budget,
        });
        self.replace_manifest(&self.manifest)?;
        Ok(self.manifest)
    }

    /// Writes the last manifest, and removes what is only there while the recording is open.
    pub(crate) fn replace_manifest(&self, manifest: &Manifest) -> Result<(), ProfileError> {
        for file in [RESERVE, BUFFER] {
            // A failure does not matter as long as the disk has space.
            let _ = fs::remove_file(self.directory.join(file));
        }
        manifest.write(&self.directory)
    }
}

/// A range of the user's code: its thread, its name, and when it began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct RangeKey(ThreadId, NameId, Ticks);

impl RangeKey {
    pub(crate) fn of(range: &MarkerRecord) -> Self {
        Self(range.thread, range.name, range.start)
    }
}

impl RecordsFile {
    /// Returns the file itself, for records that come in no batches.
    pub(crate) fn into_frames(self) -> FrameWriter<File> {
        self.frames
    }

    /// Returns the size of the file, which is updated as it grows.
    pub(crate) fn written(&self) -> Arc<RecordsSize> {
        Arc::clone(&self.written)
    }

    /// Begins to collect the ranges that are written.
    pub(crate) fn collect_ended_ranges(&mut self) {
        self.ended_ranges = Some(HashSet::new());
    }

    /// Returns the ranges that were written since [`collect_ended_ranges`](Self::collect_ended_ranges).
    pub(crate) fn take_ended_ranges(&mut self) -> HashSet<RangeKey> {
        self.ended_ranges.take().unwrap_or_default()
    }

    /// Writes a batch, in as few frames as possible.
    pub(crate) fn write(&mut self, batch: &Batch<'_>) {
        let mut pending = 0;
        for record in batch.records() {
            if self.payload.len() + stored_length(record.payload().len()) > FRAME_MAX {
                self.write_frame(pending, batch.dropped());
                pending = 0;
            }
            self.mentions.record(&record);
            self.runs += u64::from(record.kind() == Some(Kind::Run));
            if let Some(ended) = &mut self.ended_ranges {
                ended.extend(record.get::<MarkerRecord>().map(RangeKey::of));
            }
            store(record.header(), record.payload(), &mut self.payload);
            pending += 1;
        }
        self.write_frame(pending, batch.dropped());
    }

    /// Returns the outcome.
    pub(crate) fn end(&self) -> RecordsEnd {
        RecordsEnd {
            delivered: self.delivered,
            bytes: self.frames.bytes(),
            frames: self.frames.frames(),
            failure: self.failure.clone(),
        }
    }

    fn write_frame(&mut self, records: u64, dropped: u64) {
        if records > 0 && self.failure.is_none() {
            match self.frames.write(&self.payload, dropped, ClockPair::now()) {
                Ok(()) => {
                    self.delivered += records;
                    self.written.bytes.store(self.frames.bytes(), Ordering::Relaxed);
                    self.written.runs.fetch_add(self.runs, Ordering::Relaxed);
                }
                Err(error) => self.failure = Some(format!("{RECORDS} could not be written: {error}")),
            }
        }
        self.payload.clear();
        self.runs = 0;
    }
}

/// Removes a directory that was just created, because its files could not be.
pub(crate) fn remove(directory: &Path) {
    // The caller reports the error that led here.
    let _ = fs::remove_dir_all(directory);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_takes_its_share_of_the_file_and_there_is_no_share_before_the_first_run() {
        let size = RecordsSize::default();
        size.bytes.store(64, Ordering::Relaxed);
        assert_eq!((size.bytes(), size.bytes_per_run()), (64, None));
        size.runs.store(1, Ordering::Relaxed);
        assert_eq!(size.bytes_per_run(), Some(64.0));
        size.bytes.store(300, Ordering::Relaxed);
        size.runs.store(8, Ordering::Relaxed);
        assert_eq!(size.bytes_per_run(), Some(37.5));
    }
}
