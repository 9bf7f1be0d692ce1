//! The dump's own format: a directory of `.npy` files with an index and a manifest.

mod csv;
mod file_name;

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, IoSlice, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;

use opscope_model::RunId;
use opscope_tensor::{Accumulator, Digest, Histogram, Statistics, npy};
use opscope_text::counted;

use super::create;
use crate::index::{INDEX, IndexLine, State};
use crate::manifest::{DumpInfo, RawEntry};
use crate::sinks::manifest_file::ManifestFile;
use crate::stream::outcome::Ending;
use crate::{Answer, Closed, Delivery, DumpError, Flow, Piece, Sink, Stream};
pub(crate) use csv::{HISTOGRAMS, STATISTICS};

/// Writes a dump as a directory: `manifest.json`, `index.jsonl`, and a file per tensor in `run-0000/`, `constants/`.
///
/// A line of the index is written together with its tensor, so the directory can be read at any moment, even after the
/// process was killed. The lines of tensors that arrive as statistics alone are written when their run ends.
pub struct DirectorySink {
    root: PathBuf,
    contents: Contents,
    model: Digest,
    /// The other models whose tensors were left out.
    others: HashSet<Digest>,
    manifest: ManifestFile,
    index: File,
    /// The directory that was created last. Streams of a run mostly follow each other.
    made: String,
    current: Option<Current>,
    csv: Option<csv::Table>,
    histograms: Option<csv::Lines>,
    summaries: Summaries,
    errors: Vec<String>,
}

/// The lines that are not written yet, of tensors that arrived as statistics alone: all at once when a run ends.
#[derive(Default)]
struct Summaries {
    lines: Vec<u8>,
    /// The sizes of their tensors.
    bytes: Vec<u64>,
}

/// What a dump stores of each tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Contents {
    /// All of it.
    Tensors,
    /// Its statistics, in the index and in `statistics.csv`.
    Statistics,
}

/// The maximum number of bytes that wait for their statistics: a few of the largest tensors that are common in models.
const STATISTICS_CAP: usize = 64 << 20;

/// If the waiting lines are as large as this, they are written before the run has ended.
const LINES: usize = 64 << 10;

/// A tensor that is being written.
struct Current {
    /// `None` if only statistics are stored.
    file: Option<Open>,
    statistics: Accumulator,
    histogram: Option<Histogram>,
}

struct Open {
    file: File,
    /// The path, relative to the root.
    path: String,
    /// The header of the file, until it is written.
    header: Vec<u8>,
    raw: bool,
}

impl DirectorySink {
    /// Creates the directory, with a manifest of an incomplete dump.
    ///
    /// # Errors
    /// Returns an error if the directory exists, or cannot be made or written.
    pub fn create(root: &Path, contents: Contents, info: &DumpInfo) -> Result<Self, DumpError> {
        let name = match contents {
            Contents::Tensors => "tensors",
            Contents::Statistics => "statistics",
        };
        let manifest = ManifestFile::create(root, info, name)?;
        let index = root.join(INDEX);
        let index = create::file(&index).map_err(DumpError::io(&index, "the index could not be made"))?;
        Ok(Self {
            root: root.to_path_buf(),
            contents,
            model: info.model.xxh3,
            others: HashSet::new(),
            manifest,
            index,
            made: String::new(),
            current: None,
            csv: None,
            histograms: None,
            summaries: Summaries::default(),
            errors: Vec::new(),
        })
    }

    /// Also writes `histograms.jsonl`, which counts every tensor's elements by powers of two.
    ///
    /// # Errors
    /// Returns an error if the file cannot be made.
    pub fn with_histograms(mut self) -> Result<Self, DumpError> {
        self.histograms = Some(csv::Lines::create(&self.root)?);
        Ok(self)
    }

    /// Returns whether a tensor is of another model than the dump. The first tensor of each such model is an error.
    fn is_of_another_model(&mut self, stream: &Stream) -> bool {
        let source = &stream.origin.graph.source;
        if source.xxh3 == self.model {
            return false;
        }
        if self.others.insert(source.xxh3) {
            let (path, origin) = (source.path.display(), &stream.origin);
            self.errors
                .push(format!("{path} is another model than the dump's; its tensors are left out, first {origin}"));
        }
        true
    }

    fn open(&mut self, stream: &Stream) -> io::Result<Option<Open>> {
        if self.contents == Contents::Statistics {
            return Ok(None);
        }
        let directory = file_name::directory(&stream.origin);
        if directory != self.made {
            create::directory(&self.root, Path::new(&directory))?;
            self.made.clone_from(&directory);
        }
        let header = npy::header(stream.dtype, &stream.shape);
        let (raw, extension) = if header.is_ok() { (false, "npy") } else { (true, "bin") };
        let path = format!("{directory}/{}.{extension}", file_name::stem(&stream.origin));
        let file = create::file(&self.root.join(&path))?;
        Ok(Some(Open { file, path, header: header.unwrap_or_default(), raw }))
    }

    fn complete(&mut self, stream: &Stream, current: Current) -> io::Result<()> {
        let statistics = current.statistics.finish();
        let state = match &current.file {
            None => State::Statistics,
            Some(open) if open.raw => State::Raw,
            Some(_) => State::Complete,
        };
        let line = IndexLine::new(&stream.origin, stream.dtype, &stream.shape, stream.bytes, state);
        let mut line = line.with_statistics(&statistics);
        if let Some(open) = current.file {
            if open.raw {
                let (dtype, value) = (line.dtype, line.value.clone());
                self.manifest.manifest.raw.push(RawEntry { file: open.path.clone(), dtype, value });
            }
            line.file = Some(open.path);
        } else {
            self.csv()?.add(stream, &statistics, true)?.flush()?;
        }
        if let Some((lines, histogram)) = self.histograms.as_mut().zip(current.histogram) {
            lines.add(&stream.origin, &histogram)?;
        }
        self.write_line(&line)?;
        self.manifest.manifest.tensors += 1;
        self.manifest.manifest.bytes += stream.bytes;
        Ok(())
    }

    fn csv(&mut self) -> io::Result<&mut csv::Table> {
        Ok(match &mut self.csv {
            Some(table) => table,
            none => none.insert(csv::Table::create(&self.root)?),
        })
    }

    fn summarise(&mut self, stream: &Stream, statistics: &Statistics) -> io::Result<()> {
        let line = IndexLine::new(&stream.origin, stream.dtype, &stream.shape, stream.bytes, State::Statistics);
        let line = line.with_statistics(statistics);
        self.csv()?.add(stream, statistics, line.xxh3.is_some())?;
        serde_json::to_writer(&mut self.summaries.lines, &line)?;
        self.summaries.lines.push(b'\n');
        self.summaries.bytes.push(stream.bytes);
        if self.summaries.lines.len() < LINES { Ok(()) } else { self.write_summaries() }
    }

    /// Writes the waiting lines with a single write. If the disk becomes full, the lines that it still took count.
    fn write_summaries(&mut self) -> io::Result<()> {
        let Summaries { lines, bytes } = std::mem::take(&mut self.summaries);
        if lines.is_empty() {
            return Ok(());
        }
        let written = self.csv.as_mut().map_or(Ok(()), csv::Table::flush);
        let begin = self.index.stream_position()?;
        let written = written.and_then(|()| self.index.write_all(&lines));
        let whole = match &written {
            Ok(()) => bytes.len(),
            Err(_) => {
                let end = self.index.stream_position()? - begin;
                let length = usize::try_from(end).unwrap_or(usize::MAX).min(lines.len());
                lines[..length].iter().filter(|byte| **byte == b'\n').count()
            }
        };
        self.manifest.manifest.tensors += whole as u64;
        self.manifest.manifest.bytes += bytes[..whole].iter().sum::<u64>();
        if written.is_err() {
            let lost = counted(bytes.len() - whole, "tensor");
            self.errors.push(format!("the statistics of {lost} could not be written"));
        }
        written
    }

    /// Writes a line of the index with a single write, so that a reader sees an incomplete line only if the disk is
    /// full.
    fn write_line(&mut self, line: &IndexLine) -> io::Result<()> {
        self.write_summaries()?;
        let mut text = serde_json::to_vec(line)?;
        text.push(b'\n');
        self.index.write_all(&text)
    }

    /// Keeps the beginning of a tensor, under a name that marks it as partial.
    fn keep_partial(&mut self, stream: &Stream, open: Open) {
        let partial = format!("{}.partial", open.path);
        let renamed = fs::rename(self.root.join(&open.path), self.root.join(&partial));
        let mut line = IndexLine::new(&stream.origin, stream.dtype, &stream.shape, stream.bytes, State::Partial);
        line.file = Some(if renamed.is_ok() { partial } else { open.path });
        // The manifest lists the tensor as missing in any case.
        let _ = self.write_line(&line);
    }

    fn stop(&mut self, stream: &Stream, source: io::Error) -> Answer {
        if let Some(Current { file: Some(open), .. }) = self.current.take() {
            self.keep_partial(stream, open);
        }
        Err(DumpError::Write { path: self.root.clone(), source }).into()
    }
}

impl Sink for DirectorySink {
    /// Files are written and statistics computed on another thread, because that takes longer than to pass a tensor on.
    /// On a single processor, a queue would only add to the costs.
    fn delivery(&self) -> Delivery {
        let is_alone = || thread::available_parallelism().is_ok_and(|processors| processors.get() == 1);
        match self.contents {
            Contents::Tensors => Delivery::default(),
            Contents::Statistics if is_alone() => Delivery::Direct,
            Contents::Statistics => Delivery::Queued(Flow { cap: STATISTICS_CAP, ..Flow::default() }),
        }
    }

    /// A line is written only with the last piece.
    fn reads_in_place(&self) -> bool {
        self.contents == Contents::Statistics
    }

    fn begin(&mut self, stream: &Stream) -> Answer {
        if self.is_of_another_model(stream) {
            return Answer::Skip;
        }
        let Ok(statistics) = Accumulator::new(stream.dtype, stream.shape.iter().product()) else {
            return Answer::Skip;
        };
        match self.open(stream) {
            Ok(file) => {
                let histogram = self.histograms.is_some().then(Histogram::default);
                self.current = Some(Current { file, statistics, histogram });
                Answer::Continue
            }
            Err(error) => self.stop(stream, error),
        }
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        let Some(current) = &mut self.current else { return Answer::Skip };
        current.statistics.update(piece.bytes);
        if let Some(histogram) = &mut current.histogram {
            let before = stream.dtype.elements_in(piece.offset as usize).unwrap_or(0);
            let all: usize = stream.shape.iter().product();
            histogram.update(stream.dtype, piece.bytes, all - before);
        }
        let mut written = Ok(());
        if let Some(open) = &mut current.file {
            written = write_both(&mut open.file, &std::mem::take(&mut open.header), piece.bytes);
        }
        if written.is_ok() && piece.last {
            written = match self.current.take() {
                Some(current) => self.complete(stream, current),
                None => Ok(()),
            };
        }
        match written {
            Ok(()) => Answer::Continue,
            Err(error) => self.stop(stream, error),
        }
    }

    fn summary(&mut self, stream: &Stream, statistics: &Statistics) -> Option<Answer> {
        if self.contents == Contents::Tensors || self.histograms.is_some() {
            return None;
        }
        if self.is_of_another_model(stream) {
            return Some(Answer::Skip);
        }
        Some(self.summarise(stream, statistics).map_or_else(|error| self.stop(stream, error), |()| Answer::Continue))
    }

    fn run_ended(&mut self, _run: RunId) -> Answer {
        self.write_summaries().map_err(|source| DumpError::Write { path: self.root.clone(), source }).into()
    }

    fn broken(&mut self, stream: &Stream, _reason: &str) {
        if let Some(Current { file: Some(open), .. }) = self.current.take() {
            self.keep_partial(stream, open);
        }
    }

    fn close(&mut self, ending: &Ending) -> Closed {
        let written = self.write_summaries();
        let mut errors = std::mem::take(&mut self.errors);
        let failed = |source| DumpError::Write { path: self.root.clone(), source }.to_string();
        errors.extend(written.err().map(failed));
        errors.extend(self.manifest.close(ending, &errors));
        Closed { directory: Some(self.root.clone()), errors }
    }
}

/// Writes header and data with one system call, if it accepts both.
fn write_both(file: &mut File, header: &[u8], data: &[u8]) -> io::Result<()> {
    if header.is_empty() {
        return file.write_all(data);
    }
    let written = file.write_vectored(&[IoSlice::new(header), IoSlice::new(data)])?;
    file.write_all(&header[written.min(header.len())..])?;
    file.write_all(&data[written.saturating_sub(header.len())..])
}
