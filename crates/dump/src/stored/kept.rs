use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::{DumpKind, Location, StoredDump, StoredOrigin, StoredTensor};
use crate::{Answer, Delivery, Origin, Piece, Sink, Stream};

/// Keeps the tensors of runs, to compare later ones with them: in memory up to a cap, beyond it in a file without a
/// name.
pub struct KeepSink {
    kept: Arc<Mutex<StoredDump>>,
    cap: u64,
    spill_in: PathBuf,
    in_memory: u64,
    spill: Option<(Arc<File>, u64)>,
    current: Vec<u8>,
}

/// What a [`KeepSink`] has kept.
pub struct Keeper {
    kept: Arc<Mutex<StoredDump>>,
}

impl KeepSink {
    /// Returns a sink that keeps up to `cap` bytes in memory and the rest in the directory `spill_in`; and what it
    /// keeps.
    pub fn new(cap: u64, spill_in: PathBuf) -> (Self, Keeper) {
        let kept = Arc::new(Mutex::new(StoredDump { kind: DumpKind::Kept, ..StoredDump::default() }));
        let sink = Self { kept: Arc::clone(&kept), cap, spill_in, in_memory: 0, spill: None, current: Vec::new() };
        (sink, Keeper { kept })
    }

    fn spill(&mut self) -> std::io::Result<&mut (Arc<File>, u64)> {
        match &mut self.spill {
            Some(spill) => Ok(spill),
            none => Ok(none.insert((Arc::new(tempfile::tempfile_in(&self.spill_in)?), 0))),
        }
    }

    /// Returns where a piece goes: all of a tensor goes to the same place.
    fn keep(&mut self, stream: &Stream, piece: Piece<'_>) -> std::io::Result<()> {
        let in_memory = stream.bytes <= self.cap - self.in_memory;
        if in_memory {
            self.current.extend_from_slice(piece.bytes);
        } else {
            let (file, end) = self.spill()?;
            file.write_all_at(piece.bytes, *end + piece.offset)?;
        }
        if piece.last {
            let location = if in_memory {
                self.in_memory += stream.bytes;
                Location::Memory(std::mem::take(&mut self.current).into())
            } else {
                let (file, end) = self.spill()?;
                let location = Location::Unnamed(Arc::clone(file), *end);
                *end += stream.bytes;
                location
            };
            let (place, dtype, shape) = (StoredOrigin::of(&stream.origin), Some(stream.dtype), stream.shape.clone());
            let tensor = StoredTensor { place, dtype, shape, bytes: stream.bytes, noted: None, location };
            self.kept.lock().unwrap_or_else(PoisonError::into_inner).tensors.push(tensor);
        }
        Ok(())
    }
}

impl Sink for KeepSink {
    /// It only copies; a queue would do that, too.
    fn delivery(&self) -> Delivery {
        Delivery::Direct
    }

    fn begin(&mut self, _stream: &Stream) -> Answer {
        self.current.clear();
        Answer::Continue
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        match self.keep(stream, piece) {
            Ok(()) => Answer::Continue,
            Err(error) => Answer::Stop(format!("a tensor could not be kept: {error}")),
        }
    }
}

impl Keeper {
    /// Returns what was kept so far, as a dump.
    pub fn dump(&self) -> StoredDump {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl StoredOrigin {
    /// Returns the place of a tensor that is on its way.
    pub fn of(origin: &Origin) -> Self {
        let operator = origin.operator();
        Self {
            run: origin.run.map(|run| run.0),
            operator: Some(operator.name.clone()),
            op_type: Some(operator.op_type.clone()),
            io: Some(origin.io),
            slot: Some(origin.slot),
            value: Some(origin.value_name().into()),
            position: Some(origin.operator.index()),
            iterations: origin.iterations(),
            // Whoever runs a model has its graph, which says so.
            code: None,
        }
    }
}
