//! Operators that overflowed. The vendor's device has a flag for that. Here an operator has overflowed if one of its
//! outputs has elements that are NaN or infinite.

use opscope_tensor::{DType, Statistics, TensorView};

use super::proto::{DumpData, FORMAT_ND, OpOutput, Shape};
use super::{FileName, data_type};
use crate::{Io, Stream};

/// The size of the data in an overflow file: the state of each unit of the device, one after the other.
const BYTES: usize = 1048;
/// The offset of the AI Core's part, after those of the units for atomic additions.
const AI_CORE: usize = 256;
/// The offset of its status, the last word.
const STATUS: usize = BYTES - 8;

/// Returns whether a piece of a tensor shows that its operator overflowed.
pub(super) fn is_in(stream: &Stream, bytes: &[u8]) -> bool {
    if stream.origin.io == Io::Input {
        return false;
    }
    let Some(elements) = stream.dtype.elements_in(bytes.len()) else { return false };
    let view = TensorView::new(stream.dtype, vec![elements], bytes);
    view.and_then(|view| Statistics::of(&view)).is_ok_and(|statistics| statistics.has_non_finite())
}

/// Returns the overflow file for the operator of a file: its name and its content. Fields that do not exist on a CPU
/// are 0.
pub(super) fn file(of: FileName, model: u32) -> (FileName, Vec<u8>) {
    let name = FileName { op_type: "Opdebug".into(), op_name: "Node_OpDebug".into(), ..of };
    let shape = || Some(Shape { dim: vec![BYTES as u64] });
    let data = DumpData {
        version: "2.0".into(),
        dump_time: name.time,
        op_name: "Node_OpDebug".into(),
        output: vec![OpOutput {
            data_type: data_type(DType::U8),
            format: FORMAT_ND,
            shape: shape(),
            original_op: None,
            size: BYTES as u64,
            original_shape: shape(),
        }],
        ..DumpData::default()
    };
    let mut content = data.with_length();
    let mut overflow = [0; BYTES];
    let mut put = |at: usize, value: u64| overflow[at..at + 8].copy_from_slice(&value.to_le_bytes());
    for (index, value) in [u64::from(model), name.stream, name.task].into_iter().enumerate() {
        put(AI_CORE + index * 8, value);
    }
    put(STATUS, 1);
    content.extend(overflow);
    (name, content)
}
