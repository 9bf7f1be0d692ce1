use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::sync::Arc;

use opscope_sys::Mutex;

use super::{DumpKind, Location, StoredDump, StoredOrigin, StoredTensor};
use crate::index::{inputs_of, phase_of};
use crate::{Answer, Delivery, Origin, Piece, Sink, Stream};

/// A sink that keeps the tensors of runs, to compare later runs with them: in memory up to a cap, beyond it in an
/// unnamed file.
pub struct KeepSink {
    kept: Arc<Mutex<StoredDump>>,
    cap: u64,
    spill_in: PathBuf,
    in_memory: u64,
    spill: Option<(Arc<File>, u64)>,
    current: Vec<u8>,
}

/// A handle to the tensors that a [`KeepSink`] has kept.
pub struct Keeper {
    kept: Arc<Mutex<StoredDump>>,
}

impl KeepSink {
    /// Returns a sink that keeps up to `cap` bytes in memory and the rest in the directory `spill_in`, and a handle to
    /// its tensors.
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

    /// Keeps a piece. All pieces of a tensor are kept in the same way.
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
            self.kept.lock().tensors.push(tensor);
        }
        Ok(())
    }
}

impl Sink for KeepSink {
    /// It only copies, as a queue would do, too.
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
    /// Returns the tensors that were kept so far, as a dump.
    pub fn dump(&self) -> StoredDump {
        self.kept.lock().clone()
    }
}

impl StoredOrigin {
    /// Returns the origin of a tensor that is being delivered.
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
            phase: phase_of(operator),
            inputs: inputs_of(origin),
            // A program that runs a model has its graph, which has this information.
            code: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use opscope_model::testing::GraphBuilder;
    use opscope_onnx::{OperatorId, ValueId};
    use opscope_tensor::DType;

    use super::*;
    use crate::Io;

    #[test]
    fn tensors_are_in_memory_up_to_the_last_byte_of_the_cap_and_in_a_file_beyond() {
        let graph =
            GraphBuilder::new("one").input("x", &[1]).operator("op", "Relu", &["x"], &["y"]).output("y").build();
        let graph = Arc::new(graph);
        let directory = tempfile::tempdir().expect("a directory");
        let (mut sink, keeper) = KeepSink::new(1000, directory.path().into());
        // The first of the last three has one byte more than fits.
        let lengths = [600usize, 401, 400, 1, 250];
        for (slot, length) in lengths.into_iter().enumerate() {
            let origin = Origin {
                graph: Arc::clone(&graph),
                plan: 0,
                run: None,
                operator: OperatorId::new(0),
                path: Box::default(),
                io: Io::Output,
                slot,
                value: ValueId::new(1),
            };
            let stream = Stream { origin, dtype: DType::U8, shape: vec![length], bytes: length as u64, siblings: 1 };
            assert_eq!(sink.begin(&stream), Answer::Continue);
            let bytes = vec![slot as u8; length];
            let (begin, end) = bytes.split_at(length / 3);
            for (offset, bytes, last) in [(0, begin, false), (begin.len(), end, true)] {
                let piece = Piece { offset: offset as u64, bytes, last };
                assert_eq!(sink.piece(&stream, piece), Answer::Continue);
            }
        }
        let dump = keeper.dump();
        let in_memory: Vec<bool> =
            dump.tensors.iter().map(|tensor| matches!(tensor.location, Location::Memory(_))).collect();
        assert_eq!(in_memory, [true, false, true, false, false]);
        for (slot, (tensor, length)) in dump.tensors.iter().zip(lengths).enumerate() {
            assert_eq!(tensor.read().expect("it was kept").bytes(), vec![slot as u8; length]);
        }
        let Location::Unnamed(file, _) = &dump.tensors[1].location else { panic!("it is in a file") };
        assert_eq!(file.metadata().expect("a file").len(), 401 + 1 + 250, "they lie back to back");
    }
}
