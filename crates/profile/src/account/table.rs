/// The most columns of a terminal that a table takes.
const WIDTH: usize = 80;
/// What a column is left with at least when it is cut.
const LEAST: usize = 8;
/// Blanks between columns.
const GAP: usize = 2;

/// A column of a [`TextTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Words, to the left.
    Words(&'static str),
    /// Numbers, to the right.
    Numbers(&'static str),
    /// Names, of which the ends are kept where there is not enough room: the end of a path tells operators apart.
    Ends(&'static str),
    /// Lists, of which the beginnings are kept where there is not enough room.
    Beginnings(&'static str),
}

/// A table for a terminal: 80 columns wide at most as far as what may be cut allows it, without blanks at the end of a
/// line.
#[derive(Debug, Clone)]
pub struct TextTable {
    columns: Vec<Column>,
    rows: Vec<Vec<String>>,
}

impl TextTable {
    /// Creates a table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), rows: Vec::new() }
    }

    /// Adds a row with a cell for every column. A cell is one line, as it may be shown.
    pub fn row(&mut self, cells: impl Into<Vec<String>>) {
        self.rows.push(cells.into());
    }

    /// Returns the lines, each with its end: the columns' titles, a rule and the rows.
    pub fn text(&self) -> String {
        let widths = self.widths();
        let line = |cells: &[String]| {
            let cells =
                self.columns.iter().zip(cells).zip(&widths).map(|((column, cell), &width)| column.cell(cell, width));
            format!("{}\n", cells.collect::<Vec<_>>().join(&" ".repeat(GAP)).trim_end())
        };
        let titles: Vec<String> = self.columns.iter().map(|column| column.title().to_owned()).collect();
        let rule = "─".repeat(total(&widths));
        let rows: String = self.rows.iter().map(|row| line(row)).collect();
        format!("{}{rule}\n{rows}", line(&titles))
    }

    /// Returns how wide each column is: as wide as it has to be, or less where it may be cut.
    fn widths(&self) -> Vec<usize> {
        let widest = |(at, column): (usize, &Column)| {
            let cells = self.rows.iter().filter_map(|row| row.get(at)).map(|cell| length(cell));
            cells.chain([length(column.title())]).max().unwrap_or(0)
        };
        let mut widths: Vec<usize> = self.columns.iter().enumerate().map(widest).collect();
        // Lists give way to names.
        for is_cut in [Column::is_list, Column::is_name] {
            let cuttable: Vec<usize> = (0..widths.len()).filter(|&at| is_cut(self.columns[at])).collect();
            while let Some(excess) = total(&widths).checked_sub(WIDTH).filter(|excess| *excess > 0) {
                let Some(&widest) = cuttable.iter().filter(|&&at| widths[at] > LEAST).max_by_key(|&&at| widths[at])
                else {
                    break;
                };
                // Down to the next one, so that none is cut more than others.
                let others = cuttable.iter().map(|&at| widths[at]).filter(|&width| width < widths[widest]);
                let least = others.max().unwrap_or(LEAST).max(LEAST).min(widths[widest] - 1);
                widths[widest] = widths[widest].saturating_sub(excess).max(least);
            }
        }
        widths
    }
}

impl Column {
    fn title(self) -> &'static str {
        let (Self::Words(title) | Self::Numbers(title) | Self::Ends(title) | Self::Beginnings(title)) = self;
        title
    }

    fn is_list(self) -> bool {
        matches!(self, Self::Beginnings(_))
    }

    fn is_name(self) -> bool {
        matches!(self, Self::Ends(_))
    }

    fn cell(self, text: &str, width: usize) -> String {
        match self {
            Self::Numbers(_) => format!("{text:>width$}"),
            Self::Words(_) => format!("{text:<width$}"),
            Self::Ends(_) => format!("{:<width$}", end(text, width)),
            Self::Beginnings(_) => format!("{:<width$}", beginning(text, width)),
        }
    }
}

fn length(text: &str) -> usize {
    text.chars().count()
}

fn total(widths: &[usize]) -> usize {
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

/// Returns the first characters of a text that is too long for a column.
fn beginning(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        Some(_) => text.chars().take(most - 1).chain(['…']).collect(),
        None => text.to_owned(),
    }
}

/// Returns the last characters of a text that is too long for a column.
fn end(text: &str, most: usize) -> String {
    match length(text) {
        length if length <= most => text.to_owned(),
        length => ['…'].into_iter().chain(text.chars().skip(length + 1 - most)).collect(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_too_long_for_a_column_is_cut_and_marked() {
        assert_eq!((beginning("abcd", 4), beginning("abcde", 4)), ("abcd".to_owned(), "abc…".to_owned()));
        assert_eq!((end("äbcd", 4), end("xäbcd", 4)), ("äbcd".to_owned(), "…bcd".to_owned()));
    }

    proptest! {
        #[test]
        fn a_table_with_long_names_fits_a_terminal_and_no_line_ends_with_a_blank(
            cells in prop::collection::vec(("[a-z/]{0,120}", "[A-Z]{1,10}", 0u32.., "[a-z, ]{0,150}"), 0..6)
        ) {
            let columns =
                [Column::Ends("name"), Column::Words("type"), Column::Numbers("time"), Column::Beginnings("kernels")];
            let mut table = TextTable::new(columns);
            for (name, kind, time, kernels) in cells.clone() {
                table.row([name, kind, time.to_string(), kernels]);
            }
            let text = table.text();
            prop_assert_eq!(text.lines().count(), cells.len() + 2);
            for line in text.lines() {
                prop_assert!(length(line) <= WIDTH && !line.ends_with(' '), "{line:?}");
            }
            for (name, _, time, _) in cells {
                prop_assert!(text.contains(&time.to_string()) && text.contains(&name[name.len().saturating_sub(7)..]));
            }
        }
    }
}
