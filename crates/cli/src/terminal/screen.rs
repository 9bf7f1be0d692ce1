//! The size and abilities of the terminal that shows a result.

use std::env::var;
use std::io;

use opscope::text::BarStyle;
use rustix::termios::tcgetwinsize;

/// A smaller width is ignored, because no result fits into it.
const LEAST: usize = 40;

/// Returns how many columns a line of stdout may take: the environment variable `COLUMNS`, or the terminal's width.
/// Without either, as in a pipe or a file, a line may have any length, and nothing has to be cut.
pub fn width() -> usize {
    let said = var("COLUMNS").ok().and_then(|columns| columns.trim().parse().ok()).filter(|columns| *columns > 0);
    let of_terminal =
        || tcgetwinsize(io::stdout()).ok().map(|size| usize::from(size.ws_col)).filter(|width| *width > 0);
    said.or_else(of_terminal).map_or(usize::MAX, |columns: usize| columns.max(LEAST))
}

/// Returns how many columns a table may take: as many as a line of stdout, or 80 in a pipe or a file.
pub fn table_width() -> usize {
    match width() {
        usize::MAX => 80,
        width => width,
    }
}

/// Returns how bars are drawn: with block characters if the locale uses UTF-8.
pub fn bars() -> BarStyle {
    // The first variable that is set decides, as in POSIX.
    let set = |name: &&&str| var(name).is_ok_and(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find(set).and_then(|name| var(name).ok()).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    if locale.contains("utf-8") || locale.contains("utf8") { BarStyle::Blocks } else { BarStyle::Ascii }
}
