use std::collections::HashMap;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use opscope_model::{Iteration, LoopIteration, RunId};
use opscope_onnx::OperatorId;
use opscope_tensor::DType;
use tempfile::SpooledTempFile;

use super::proto::{DumpData, FORMAT_ND, OpInput, OpOutput, OriginalOp, OwnField, OwnIteration, OwnTensor, Shape};
use super::{FileName, data_type, directory, overflow};
use crate::stream::outcome::Ending;
use crate::{Answer, Closed, DumpError, Io, Origin, Piece, Sink, Stream};

/// Converts streams to AscendCL's dump files, one per operator, run and iteration of a loop, and passes them to a
/// target in chunks.
///
/// A file begins with the sizes of all its tensors. So if several tensors of an operator were selected, they are
/// collected until all are there: up to 4 MiB in memory, beyond that in an unnamed file.
pub struct AscendSink<T> {
    target: T,
    waiting: HashMap<Key, Group>,
    /// A tensor that is alone in its file, and is written at once.
    alone: Option<Alone>,
    chunk: usize,
    clock: Clock,
    /// The time of the last file of an operator in a body.
    last_time: u64,
    /// If set, only operators that overflowed are sent. This is the number of their model.
    overflowed_of: Option<u32>,
}

/// Returns the microseconds since the epoch, for the name and the header of a file.
type Clock = fn() -> u64;

struct Alone {
    path: PathBuf,
    /// The header, until it is sent.
    header: Vec<u8>,
}

/// A target for chunks of files.
pub trait ChunkTarget: Send {
    /// Takes the next chunk of a file. It is never empty, and the chunks of a file come in order. `path` is relative to
    /// the dump's directory: `<device>/<model name>/<model id>/<data index>/<file>`.
    ///
    /// # Errors
    /// Returns why it could not be taken. No more chunks follow then.
    fn chunk(&mut self, path: &Path, bytes: &[u8], last: bool) -> Result<(), DumpError>;

    /// Returns the stream in which the run takes place, for the names of its files.
    fn stream(&self) -> u64 {
        0
    }

    /// Called if the current file gets no last chunk.
    fn broken(&mut self, _path: &Path) {}

    /// Called when no more chunks follow.
    fn close(&mut self, _ending: &Ending) -> Closed {
        Closed::default()
    }
}

/// A target that is a function.
pub struct Chunks<F>(pub F);

impl<F: FnMut(&Path, &[u8], bool) -> Result<(), DumpError> + Send> ChunkTarget for Chunks<F> {
    fn chunk(&mut self, path: &Path, bytes: &[u8], last: bool) -> Result<(), DumpError> {
        (self.0)(path, bytes, last)
    }
}

/// The plan, the run, the operator, and the iterations of bodies.
type Key = (usize, Option<RunId>, OperatorId, Box<[Iteration]>);

/// The tensors of an operator that have been delivered so far.
struct Group {
    tensors: Vec<Arrived>,
    data: SpooledTempFile,
    length: u64,
    has_overflowed: bool,
}

struct Arrived {
    origin: Origin,
    dtype: DType,
    shape: Vec<usize>,
    offset: u64,
    bytes: u64,
}

const IN_MEMORY: usize = 4 << 20;

/// Up to this size, a header and a tensor are copied into one chunk.
const SMALL: usize = 1 << 20;

impl<T: ChunkTarget> AscendSink<T> {
    /// The largest chunk that AscendCL's devices send.
    pub const LARGEST_CHUNK: usize = 128 << 20;

    /// Creates a sink that sends chunks of at most this many bytes of tensors, at least 1. The first chunk of a file
    /// also has the header.
    pub fn new(target: T, chunk: usize) -> Self {
        let chunk = chunk.clamp(1, Self::LARGEST_CHUNK);
        Self { target, waiting: HashMap::new(), alone: None, chunk, clock: now, last_time: 0, overflowed_of: None }
    }

    /// Sends only the files of operators that overflowed, which have an output with elements that are NaN or infinite.
    /// Each is followed by an overflow file, with this number of the model. The request must be for inputs and outputs.
    pub fn only_overflowed(self, model: u32) -> Self {
        Self { overflowed_of: Some(model), ..self }
    }

    /// Uses another clock for the times of files.
    #[cfg(test)]
    pub(crate) fn with_clock(self, clock: Clock) -> Self {
        Self { clock, ..self }
    }

    /// Returns the time of a file. It differs between the iterations of an operator, so that the names of their files
    /// differ, too.
    fn time(&mut self, origin: &Origin) -> u64 {
        let time = (self.clock)();
        if origin.path.is_empty() {
            return time;
        }
        self.last_time = time.max(self.last_time + 1);
        self.last_time
    }

    /// Returns the header of a file with these tensors.
    fn header(tensors: &[Arrived], time: u64) -> Vec<u8> {
        let mut data = DumpData { version: "2.0".into(), dump_time: time, ..DumpData::default() };
        let mut own = OwnField::default();
        if let Some(Arrived { origin, .. }) = tensors.first() {
            data.op_name.clone_from(&origin.operator().name);
            own.op_type.clone_from(&origin.operator().op_type);
            let iterations = origin.iterations().into_iter();
            own.iterations =
                iterations.map(|LoopIteration { operator, index }| OwnIteration { operator, index }).collect();
        }
        for tensor in tensors {
            let origin = &tensor.origin;
            let shape = || Some(Shape { dim: tensor.shape.iter().map(|&dim| dim as u64).collect() });
            let (data_type, format) = (data_type(tensor.dtype), FORMAT_ND);
            let own_tensor = OwnTensor {
                slot: origin.slot as u64,
                value: origin.value_name().into(),
                dtype: tensor.dtype.to_string(),
            };
            match origin.io {
                Io::Input => {
                    own.input.push(own_tensor);
                    data.input.push(OpInput {
                        data_type,
                        format,
                        shape: shape(),
                        size: tensor.bytes,
                        original_shape: shape(),
                    });
                }
                Io::Output => {
                    own.output.push(own_tensor);
                    data.output.push(OpOutput {
                        data_type,
                        format,
                        shape: shape(),
                        original_op: Some(OriginalOp {
                            name: origin.operator().name.clone(),
                            output_index: origin.slot as u32,
                            data_type,
                            format,
                        }),
                        size: tensor.bytes,
                        original_shape: shape(),
                    });
                }
            }
        }
        data.own = Some(own);
        data.with_length()
    }

    /// Sends a file with all its tensors: inputs before outputs, each by slot.
    fn send(&mut self, mut group: Group) -> Result<(), DumpError> {
        group.tensors.sort_by_key(|tensor| (tensor.origin.io, tensor.origin.slot));
        let Some(first) = group.tensors.first() else { return Ok(()) };
        if self.overflowed_of.is_some() && !group.has_overflowed {
            return Ok(());
        }
        let origin = first.origin.clone();
        let time = self.time(&origin);
        let name = FileName::new(&origin, self.target.stream(), time);
        let path = directory(&origin).join(name.full());
        let mut chunk = Self::header(&group.tensors, time);
        let mut left_in_chunk = self.chunk;
        let last_tensor = group.tensors.iter().rposition(|tensor| tensor.bytes > 0);
        if last_tensor.is_none() {
            self.target.chunk(&path, &chunk, true)?;
        }
        for (index, tensor) in group.tensors.iter().enumerate() {
            group.data.seek(SeekFrom::Start(tensor.offset)).map_err(DumpError::Stored)?;
            let mut left = tensor.bytes;
            while left > 0 {
                let take = left.min(left_in_chunk as u64);
                (&mut group.data).take(take).read_to_end(&mut chunk).map_err(DumpError::Stored)?;
                left -= take;
                left_in_chunk -= take as usize;
                let last = left == 0 && Some(index) == last_tensor;
                if left_in_chunk == 0 || last {
                    self.target.chunk(&path, &chunk, last)?;
                    chunk.clear();
                    left_in_chunk = self.chunk;
                }
            }
        }
        let Some(model) = self.overflowed_of else { return Ok(()) };
        let (name, content) = overflow::file(name, model);
        let path = directory(&origin).join(name.full());
        let mut parts = content.chunks(self.chunk).peekable();
        while let Some(part) = parts.next() {
            self.target.chunk(&path, part, parts.peek().is_none())?;
        }
        Ok(())
    }

    /// Sends a piece of a tensor that is alone in its file.
    fn pass(&mut self, stream: &Stream, piece: Piece<'_>) -> Result<(), DumpError> {
        let mut alone = match self.alone.take() {
            Some(alone) => alone,
            None => {
                let time = self.time(&stream.origin);
                let tensor = Arrived {
                    origin: stream.origin.clone(),
                    dtype: stream.dtype,
                    shape: stream.shape.clone(),
                    offset: 0,
                    bytes: stream.bytes,
                };
                let name = FileName::new(&stream.origin, self.target.stream(), time);
                let path = directory(&stream.origin).join(name.full());
                Alone { path, header: Self::header(&[tensor], time) }
            }
        };
        let mut chunk = std::mem::take(&mut alone.header);
        // Kept until its last piece, even if a chunk is refused, so that the unfinished file can be reported as broken.
        let Alone { path, .. } = self.alone.insert(alone);
        if !chunk.is_empty() && chunk.len() + piece.bytes.len() <= SMALL.min(self.chunk) {
            chunk.extend_from_slice(piece.bytes);
            self.target.chunk(path, &chunk, piece.last)?;
        } else {
            if !chunk.is_empty() {
                self.target.chunk(path, &chunk, piece.bytes.is_empty())?;
            }
            let mut parts = piece.bytes.chunks(self.chunk).peekable();
            while let Some(part) = parts.next() {
                self.target.chunk(path, part, piece.last && parts.peek().is_none())?;
            }
        }
        if piece.last {
            self.alone = None;
        }
        Ok(())
    }

    fn keep(&mut self, stream: &Stream, piece: Piece<'_>) -> Result<(), DumpError> {
        let origin = &stream.origin;
        let key = (origin.plan, origin.run, origin.operator, origin.path.clone());
        let group = self.waiting.entry(key.clone()).or_insert_with(|| Group {
            tensors: Vec::new(),
            data: SpooledTempFile::new(IN_MEMORY),
            length: 0,
            has_overflowed: false,
        });
        group.has_overflowed |= self.overflowed_of.is_some() && overflow::is_in(stream, piece.bytes);
        let stored = group.data.write_all(piece.bytes);
        stored.map_err(|source| DumpError::Store { directory: std::env::temp_dir(), source })?;
        group.length += piece.bytes.len() as u64;
        if piece.last {
            group.tensors.push(Arrived {
                origin: origin.clone(),
                dtype: stream.dtype,
                shape: stream.shape.clone(),
                offset: group.length - stream.bytes,
                bytes: stream.bytes,
            });
            if group.tensors.len() == stream.siblings
                && let Some(group) = self.waiting.remove(&key)
            {
                return self.send(group);
            }
        }
        Ok(())
    }

    fn send_all(&mut self, of_run: Option<RunId>) -> Result<(), DumpError> {
        let mut keys: Vec<Key> =
            self.waiting.keys().filter(|key| of_run.is_none() || key.1 == of_run).cloned().collect();
        keys.sort();
        keys.iter()
            .filter_map(|key| self.waiting.remove(key))
            .collect::<Vec<_>>()
            .into_iter()
            .try_for_each(|g| self.send(g))
    }
}

impl<T: ChunkTarget> Sink for AscendSink<T> {
    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        let is_alone = stream.siblings == 1 && self.overflowed_of.is_none();
        if is_alone { self.pass(stream, piece) } else { self.keep(stream, piece) }.into()
    }

    fn broken(&mut self, _stream: &Stream, _reason: &str) {
        if let Some(alone) = self.alone.take() {
            self.target.broken(&alone.path);
        }
    }

    fn run_ended(&mut self, run: RunId) -> Answer {
        // Operators with missing tensors are sent with those that are there.
        self.send_all(Some(run)).into()
    }

    fn close(&mut self, ending: &Ending) -> Closed {
        let sent = if ending.stopped.is_none() { self.send_all(None) } else { Ok(()) };
        let failed = sent.err().map(|error| error.to_string());
        let stopped = ending.stopped.clone().or(failed.clone());
        let mut closed = self.target.close(&Ending { stopped, ..ending.clone() });
        closed.errors.extend(failed);
        closed
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}
