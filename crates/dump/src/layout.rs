//! Text for terminals.

use opscope_onnx::shown_text;

/// The widest column, in characters; what is longer loses its middle.
const WIDEST: usize = 48;

/// A table: names over columns that are as wide as they have to be. The first columns of words are to the left,
/// numbers to the right.
pub(crate) fn columns(head: Vec<String>, lines: Vec<Vec<String>>) -> String {
    let all: Vec<Vec<String>> =
        std::iter::once(head).chain(lines).map(|line| line.iter().map(|cell| clipped(cell)).collect()).collect();
    let count = all.iter().map(Vec::len).max().unwrap_or(0);
    let cells = |column: usize| all.iter().filter_map(move |line| line.get(column));
    let widths: Vec<usize> =
        (0..count).map(|column| cells(column).map(|cell| cell.chars().count()).max().unwrap_or(0)).collect();
    let numeric = |cell: &String| cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
    let right: Vec<bool> = (0..count).map(|column| cells(column).skip(1).all(numeric)).collect();
    let mut text = String::new();
    for line in &all {
        let mut row = String::new();
        for (column, cell) in line.iter().enumerate() {
            let width = widths[column];
            row += &if right[column] { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

/// A number with four digits, short enough for a table.
pub(crate) fn short(number: f64) -> String {
    let magnitude = number.abs();
    if number == 0.0 {
        "0".into()
    } else if number.is_finite() && !(1e-3..1e5).contains(&magnitude) {
        format!("{number:.3e}")
    } else {
        let decimals = (3.0 - magnitude.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{number:.decimals$}")
    }
}

/// A number as JSON can hold it.
pub(crate) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

/// A count of bytes with its unit.
pub(crate) fn bytes(bytes: u64) -> String {
    let units = ["KiB", "MiB", "GiB", "TiB"];
    let mut size = bytes as f64 / 1024.0;
    for unit in units {
        if size < 1024.0 || unit == "TiB" {
            return if bytes < 1024 { format!("{bytes} B") } else { format!("{} {unit}", short(size)) };
        }
        size /= 1024.0;
    }
    unreachable!("the last unit takes every size")
}

fn clipped(cell: &str) -> String {
    let printable: Vec<char> = shown_text(cell).chars().collect();
    if printable.len() <= WIDEST {
        return printable.iter().collect();
    }
    let half = (WIDEST - 3) / 2;
    let (begin, end) = (&printable[..half], &printable[printable.len() - half..]);
    begin.iter().chain(&['.', '.', '.']).chain(end).collect()
}
