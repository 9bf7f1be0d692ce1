use opscope_border::Room;

use super::{Failure, Status};

/// The name in messages for the memory that a result is written to.
pub const THE_BUFFER: &str = "the buffer";

/// Writes text with a NUL at its end.
///
/// # Errors
/// Returns an error if the place is NULL, or smaller than the text.
pub fn write_text(text: &str, to: Room<'_, u8>) -> Result<(), Failure> {
    const NAME: &str = "the place for the text";
    if to.is_null() {
        return Err(Failure::null(NAME));
    }
    let (needed, size) = (text.len() + 1, to.count());
    if size < needed {
        let reason = format!("the text has {needed} bytes with its NUL, and there is room for {size}");
        return Err(Failure::new(Status::BufferTooSmall, reason));
    }
    Ok(to.write_text(text.as_bytes(), NAME)?)
}
