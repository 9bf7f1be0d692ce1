//! Where times stand in records, as long as these lie in a buffer: raw ticks, which become nanoseconds when they are delivered.

/// The category of the records that this library makes.
pub const TRACING: u8 = 1;

/// Returns which words of a record are ticks. Records of producers have their times in nanoseconds already, and so have a
/// tool's own.
#[inline]
pub fn ticks_of(category: u32, kind: u32) -> &'static [usize] {
    if category != u32::from(TRACING) {
        return &[];
    }
    match kind {
        // MARKER_CORE_API, MARKER_CONTROL_API, MARKER_NAME_API, MARKER_CORE_RANGE_API: start and end.
        7..=9 | 32 => &[5, 6],
        // CORRELATION_ID_RETIREMENT: when.
        13 => &[2],
        _ => &[],
    }
}
