use std::ffi::{c_char, c_void};
use std::ptr;

use opscope::dump::{Io, Origin, Piece, Stream};
use opscope::model::Iteration;
use opscope_border::sized;

use crate::border::KeptText;
use crate::records::opscope_path_level_t;
use crate::tensor::dtype_code;

/// Whether a tensor is an operator's input or output.
#[repr(C)]
pub enum opscope_io_t {
    /// An output of the operator.
    OPSCOPE_OUTPUT = 0,
    /// An input of the operator.
    OPSCOPE_INPUT = 1,
}

/// Stands for no run in place of a run's number. A tensor of no run is the same in every run, because it was computed
/// when the model was loaded. For `opscope_attachment_pause` it stands for all runs.
pub const OPSCOPE_NO_RUN: u64 = u64::MAX;

/// A tensor on its way to a sink: what is known before its first piece. It is valid until the callback returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_stream_t {
    /// `sizeof(opscope_stream_t)` in the library.
    pub size: usize,
    /// The number of the run, which each session counts from 0, or `OPSCOPE_NO_RUN`.
    pub run: u64,
    /// The operator's name in the file.
    pub operator_name: *const c_char,
    /// The operator's type.
    pub operator_type: *const c_char,
    /// The name of the value in the file.
    pub value: *const c_char,
    /// The sizes of its dimensions. NULL if `rank` is 0.
    pub dims: *const usize,
    /// The bytes of all pieces in total.
    pub bytes: u64,
    /// The number of its dimensions.
    pub rank: u32,
    /// The type of its elements, an `opscope_dtype_t`.
    pub dtype: u32,
    /// The operator's id: its position in the order of execution.
    pub operator_id: u32,
    /// An `opscope_io_t`.
    pub io: u32,
    /// The operator's input or output slot.
    pub slot: u32,
    /// How many tensors of this operator were selected in this run, and in this iteration of a body, including this
    /// one.
    pub siblings: u32,
    /// For an operator in the body of an `If`, `Loop` or `Scan`: the iterations that it was executed in, outermost
    /// first. NULL if `path_length` is 0.
    pub path: *const opscope_path_level_t,
    /// The number of `path`.
    pub path_length: usize,
}

sized!(opscope_stream_t, 80);

/// A slice of a tensor: whole elements, little-endian and row-major. It is valid until the callback returns.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct opscope_piece_t {
    /// `sizeof(opscope_piece_t)` in the library.
    pub size: usize,
    /// Its offset in the tensor, in bytes.
    pub offset: u64,
    /// The data.
    pub data: *const c_void,
    /// The number of bytes of `data`. It is 0 only for a tensor without elements.
    pub bytes: usize,
    /// 1 for the last piece of the tensor, else 0.
    pub last: u32,
    /// 0.
    pub reserved: u32,
}

/// The origin of a tensor, with texts for C.
pub(super) struct OriginForC {
    operator_name: KeptText,
    operator_type: KeptText,
    value: KeptText,
    run: u64,
    operator_id: u32,
    io: u32,
    slot: u32,
    path: Box<[opscope_path_level_t]>,
}

impl OriginForC {
    pub fn new(origin: &Origin) -> Self {
        let operator = origin.operator();
        Self {
            operator_name: KeptText::new(&operator.name),
            operator_type: KeptText::new(&operator.op_type),
            value: KeptText::new(origin.value_name()),
            run: origin.run.map_or(OPSCOPE_NO_RUN, |run| run.0),
            operator_id: origin.operator.index() as u32,
            io: match origin.io {
                Io::Output => opscope_io_t::OPSCOPE_OUTPUT as u32,
                Io::Input => opscope_io_t::OPSCOPE_INPUT as u32,
            },
            slot: origin.slot as u32,
            path: origin.path.iter().map(level).collect(),
        }
    }

    /// Describes a stream of this origin. The pointers are valid as long as both live.
    pub fn stream(&self, stream: &Stream) -> opscope_stream_t {
        opscope_stream_t {
            dims: if stream.shape.is_empty() { ptr::null() } else { stream.shape.as_ptr() },
            bytes: stream.bytes,
            rank: stream.shape.len() as u32,
            dtype: dtype_code(stream.dtype),
            siblings: stream.siblings as u32,
            ..self.alone()
        }
    }

    /// Describes a tensor of which only the origin is known.
    pub fn alone(&self) -> opscope_stream_t {
        opscope_stream_t {
            size: size_of::<opscope_stream_t>(),
            run: self.run,
            operator_name: self.operator_name.as_ptr(),
            operator_type: self.operator_type.as_ptr(),
            value: self.value.as_ptr(),
            dims: ptr::null(),
            bytes: 0,
            rank: 0,
            dtype: 0,
            operator_id: self.operator_id,
            io: self.io,
            slot: self.slot,
            siblings: 0,
            path: if self.path.is_empty() { ptr::null() } else { self.path.as_ptr() },
            path_length: self.path.len(),
        }
    }
}

fn level(level: &Iteration) -> opscope_path_level_t {
    opscope_path_level_t { operator_id: level.operator.index() as u32, iteration: level.index }
}

/// Describes a piece for C.
pub(super) fn piece_for_c(piece: Piece<'_>) -> opscope_piece_t {
    opscope_piece_t {
        size: size_of::<opscope_piece_t>(),
        offset: piece.offset,
        data: piece.bytes.as_ptr().cast(),
        bytes: piece.bytes.len(),
        last: u32::from(piece.last),
        reserved: 0,
    }
}

#[cfg(test)]
#[allow(unsafe_code, reason = "a test reads what a C program gets")]
mod tests {
    use std::sync::{Arc, Mutex};

    use opscope::dump::{Answer, Delivery, Dumper, Request};
    use opscope_model::testing::looping;

    use super::*;

    #[test]
    fn a_tensor_of_a_body_has_its_iterations() {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&seen);
        let sink = move |stream: &Stream, _: Piece<'_>| {
            let origin = OriginForC::new(&stream.origin);
            let for_c = origin.stream(stream);
            let path = match for_c.path.is_null() {
                true => &[][..],
                // SAFETY: there are this many levels, and `origin` still has them.
                false => unsafe { std::slice::from_raw_parts(for_c.path, for_c.path_length) },
            };
            let path: Vec<_> = path.iter().map(|level| (level.operator_id, level.iteration)).collect();
            keep.lock().expect("no check fails").push((for_c.operator_id, for_c.siblings, path));
            Answer::Continue
        };
        let dumper = Dumper::new();
        let request = Request { delivery: Some(Delivery::Direct), ..Request::default() };
        dumper.subscribe(Box::new(sink), request).expect("the sink is taken");
        let plan = looping(2);
        dumper.add_plan(&plan, &plan).expect("its constants can be read");
        plan.run_with(&dumper, 0).expect("no kernel fails");
        dumper.finish().expect("nothing is lost");
        let found = seen.lock().expect("no check fails").clone();
        let add = |iteration| (2, 1, vec![(1, iteration)]);
        let negate = |iteration| (4, 1, vec![(1, iteration), (3, 0)]);
        let choose = |iteration| (3, 1, vec![(1, iteration)]);
        let (first, last) = ((0, 1, vec![]), (1, 1, vec![]));
        assert_eq!(found, [first, add(0), negate(0), choose(0), add(1), negate(1), choose(1), last]);
    }
}
