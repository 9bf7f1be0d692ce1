//! Text for terminals.

use opscope_onnx::shown_text;

/// How wide a table may be, in characters.
const WIDTH: usize = 80;
/// How narrow a column of words may become; what is longer loses its middle.
const LEAST: usize = 12;
/// How narrow the first of them may become before a column is left out.
const LEAST_OF_FIRST: usize = 24;
const GAP: usize = 2;

/// Returns a table of at most 80 columns of characters: names over columns that are as wide as they have to be. Columns
/// of words are to the left, numbers to the right. Where all have no room, those called `spare` are left out, the first
/// of them first; then words lose their middle. A line with fewer cells than the head ends with a sentence, which may
/// be as long as it is.
pub(crate) fn columns(head: &[&str], lines: Vec<Vec<String>>, spare: &[&str]) -> String {
    let mut head: Vec<String> = head.iter().map(ToString::to_string).collect();
    let shown = |line: Vec<String>| line.iter().map(|cell| shown_text(cell).into_owned()).collect();
    let mut lines: Vec<Vec<String>> = lines.into_iter().map(shown).collect();
    for name in spare {
        let least: usize = shape(&head, &lines).iter().enumerate().map(|(at, column)| column.least(at) + GAP).sum();
        let Some(at) = head.iter().position(|head| head == name).filter(|_| least > WIDTH + GAP) else { continue };
        for line in lines.iter_mut().filter(|line| at + 1 < line.len() || line.len() == head.len()) {
            line.remove(at);
        }
        head.remove(at);
    }
    let mut columns = shape(&head, &lines);
    let is_too_wide = |columns: &[Column]| columns.iter().map(|column| column.width + GAP).sum::<usize>() > WIDTH + GAP;
    while is_too_wide(&columns) {
        let words = columns.iter_mut().filter(|column| !column.is_numeric && column.width > LEAST);
        let Some(widest) = words.max_by_key(|column| column.width) else { break };
        widest.width -= 1;
    }
    let mut text = String::new();
    for line in std::iter::once(&head).chain(&lines) {
        let mut row = String::new();
        for (at, (cell, column)) in line.iter().zip(&columns).enumerate() {
            let is_sentence = at + 1 == line.len() && line.len() < head.len();
            let width = if is_sentence { 0 } else { column.width };
            let cell = if is_sentence { cell.clone() } else { clipped(cell, width) };
            row += &if column.is_numeric { format!("{cell:>width$}  ") } else { format!("{cell:<width$}  ") };
        }
        text += row.trim_end();
        text.push('\n');
    }
    text
}

struct Column {
    width: usize,
    is_numeric: bool,
}

impl Column {
    fn least(&self, at: usize) -> usize {
        // The first column of words stands for the row; a mark may be before it.
        let least = if at < 2 { LEAST_OF_FIRST } else { LEAST };
        if self.is_numeric { self.width } else { self.width.min(least) }
    }
}

/// Returns what the columns need. Sentences need nothing.
fn shape(head: &[String], lines: &[Vec<String>]) -> Vec<Column> {
    let column = |(at, name): (usize, &String)| {
        let cells =
            || lines.iter().filter(|line| line.len() == head.len() || at + 1 < line.len()).map(|line| &line[at]);
        let widest = cells().chain([name]).map(|cell| cell.chars().count()).max();
        let is_number = |cell: &String| cell.is_empty() || cell.starts_with(|c: char| c.is_ascii_digit() || c == '-');
        Column { width: widest.unwrap_or(0), is_numeric: cells().all(is_number) }
    };
    head.iter().enumerate().map(column).collect()
}

/// Returns a number with four digits, short enough for a table.
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

/// Returns a number as JSON can hold it.
pub(crate) fn finite(number: f64) -> Option<f64> {
    number.is_finite().then_some(number)
}

fn clipped(cell: &str, width: usize) -> String {
    let letters: Vec<char> = cell.chars().collect();
    if letters.len() <= width {
        return cell.to_owned();
    }
    // The end of a name tells more than its beginning.
    let begin = (width - 1) / 3;
    let end = width - 1 - begin;
    letters[..begin].iter().chain(&['…']).chain(&letters[letters.len() - end..]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(name: &str) -> String {
        let lines = [
            vec![name, "Conv", "float32", "1.000000", "4.768e-7", "12"],
            vec!["b", "Relu", "float32", "1.000000", "4.768e-7", "12"],
            vec!["c", "Relu", "not there"],
        ];
        let lines = lines.map(|line| line.into_iter().map(str::to_owned).collect());
        columns(&["tensor", "operator", "type", "cosine", "max abs", "ulp"], lines.into(), &["operator"])
    }

    #[test]
    fn a_table_that_has_room_shows_every_column_and_every_letter() {
        let expected = "\
tensor  operator  type       cosine   max abs  ulp
a       Conv      float32  1.000000  4.768e-7   12
b       Relu      float32  1.000000  4.768e-7   12
c       Relu      not there
";
        assert_eq!(table("a"), expected);
    }

    #[test]
    fn a_table_without_room_fits_eighty_columns_and_keeps_its_numbers_and_the_ends_of_names() {
        let text = table(&format!("/begin{}/end", "/layer".repeat(20)));
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH && line == line.trim_end()), "{text}");
        assert!(text.contains("…") && text.contains("/end  ") && text.contains("1.000000  4.768e-7   12"), "{text}");
    }
}
