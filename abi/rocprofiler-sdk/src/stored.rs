//! How records lie in a buffer: their categories, and their times, which are raw ticks until they are delivered.

/// The category of the records that this library makes.
pub const TRACING: u8 = 1;
/// The number of categories that a tool may use.
pub const MOST_CATEGORIES: u8 = 200;
/// Added to the number of a category, so that no record here has a category of opscope's own.
pub const CATEGORY_OFFSET: u8 = 16;

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
