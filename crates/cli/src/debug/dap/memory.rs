//! The bytes of a tensor, as an editor reads memory: little-endian, row-major, two 4-bit elements to a byte.

use anyhow::{Context, Result, bail};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use opscope::debug::Sequence;
use opscope::debug::expression::TensorPart;
use serde_json::{Value, json};

use super::messages::ReadMemory;
use super::program::Program;

/// How many bytes are read at once: 256 rows of 256 elements of the largest type.
const MOST: u64 = 1 << 20;

/// Returns bytes of a tensor in base64. Bytes before its beginning and behind its end are reported as unreadable.
///
/// # Errors
/// Returns an error if too many bytes are requested, the elements have no byte form, or the tensor cannot be read.
pub fn read(program: &Program, stop: Sequence, part: &TensorPart, asked: &ReadMemory) -> Result<Value> {
    if asked.count > MOST {
        bail!("at most {MOST} bytes are read at once, not {}", asked.count);
    }
    let Ok(offset) = u64::try_from(asked.offset) else {
        return Ok(json!({ "address": "0x0", "unreadableBytes": asked.count.min(asked.offset.unsigned_abs()) }));
    };
    let form = program.client.tensor(stop, part, 0, 0)?;
    // A multiple of all sizes, so that the first byte is the first one of an element.
    const ALIGN: u64 = 16;
    let (first, last) = (offset / ALIGN * ALIGN, offset.saturating_add(asked.count));
    let elements =
        |bytes: u64| form.dtype.elements_in(usize::try_from(bytes).unwrap_or(usize::MAX)).map(|many| many as u64);
    let (Some(start), Some(end)) = (elements(first), elements(last.next_multiple_of(ALIGN))) else {
        bail!("{part} has elements of type {}, which have no bytes", form.dtype);
    };
    let page = program.client.tensor(stop, part, start.min(form.elements), end.saturating_sub(start))?;
    let skipped = usize::try_from(offset - first).context("the offset")?;
    let bytes = page.bytes.get(skipped..).unwrap_or_default();
    let bytes = &bytes[..bytes.len().min(usize::try_from(asked.count)?)];
    Ok(json!({
        "address": format!("{offset:#x}"),
        "data": STANDARD.encode(bytes),
        "unreadableBytes": asked.count - bytes.len() as u64,
    }))
}
