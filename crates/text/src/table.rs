use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::shown_text;

/// The default width of a table in columns of a terminal.
const WIDTH: usize = 80;
/// The number of blanks between columns.
const GAP: usize = 2;
/// The minimum width of a column of names or lists.
const LEAST: usize = 8;
/// The minimum width of such a column before a spare column is omitted.
const COMFORTABLE: usize = 12;
/// The same for the first such column, which identifies the row.
const COMFORTABLE_FIRST: usize = 24;

/// A column of a [`TextTable`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// Words, aligned to the left. They are never shortened.
    Words(&'static str),
    /// Numbers, aligned to the right. They are never shortened.
    Numbers(&'static str),
    /// Names whose ends are kept if there is not enough space, because operators differ in the ends of their paths.
    Ends(&'static str),
    /// Names that lose their middle if there is not enough space.
    Middles(&'static str),
    /// Lists whose beginnings are kept if there is not enough space. They are shortened before names.
    Beginnings(&'static str),
}

/// A table for a terminal of 80 columns, with two blanks between columns and none at the end of a line.
///
/// Every cell is shown on one line (see [`shown_text`]). If the table is too wide, spare columns are omitted, and lists
/// and names are shortened.
///
/// It does not use a library such as comfy-table, which wraps long text or cuts its end, and has no rows that end with
/// a sentence. Where to cut, what to omit, and all widths would still have to be decided here. The library would only
/// do the padding.
#[derive(Debug, Clone)]
pub struct TextTable {
    columns: Vec<Column>,
    spare: &'static [&'static str],
    has_titles: bool,
    has_rule: bool,
    width: usize,
    rows: Vec<Row>,
}

#[derive(Debug, Clone)]
struct Row {
    /// The cells; if a sentence follows, only those of the first columns.
    cells: Vec<String>,
    sentence: Option<String>,
}

impl TextTable {
    /// Creates a table without rows.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        Self { columns: columns.into(), spare: &[], has_titles: true, has_rule: true, width: WIDTH, rows: Vec::new() }
    }

    /// Allows the columns with these titles to be omitted if there is not enough space, in this order.
    pub fn with_spare(self, spare: &'static [&'static str]) -> Self {
        Self { spare, ..self }
    }

    /// Sets the maximum width in columns of the terminal. The default is 80.
    pub fn within(self, width: usize) -> Self {
        Self { width, ..self }
    }

    /// Omits the rule below the titles.
    pub fn without_rule(self) -> Self {
        Self { has_rule: false, ..self }
    }

    /// Omits everything except the rows.
    pub fn without_titles(self) -> Self {
        Self { has_titles: false, has_rule: false, ..self }
    }

    /// Adds a row. If it has fewer cells than the table has columns, the last cell is a sentence, which ends the row
    /// and is never shortened.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        let mut cells: Vec<String> = cells.into_iter().map(|cell| shown_text(&cell).into_owned()).collect();
        let sentence = if cells.len() < self.columns.len() { cells.pop() } else { None };
        self.rows.push(Row { cells, sentence });
    }

    /// Returns the lines, each with its end: the columns' titles, a rule and the rows.
    pub fn text(&self) -> String {
        let titles =
            Row { cells: self.columns.iter().map(|column| column.title().to_owned()).collect(), sentence: None };
        let mut columns = self.fitted(&titles);
        narrow(&mut columns, self.width);
        let mut text = String::new();
        if self.has_titles {
            text += &line(&columns, &titles);
        }
        if self.has_rule {
            text += &format!("{}\n", "─".repeat(total(columns.iter().map(|column| column.width))));
        }
        text.extend(self.rows.iter().map(|row| line(&columns, row)));
        text
    }

    /// Returns the columns that are shown, with their widths.
    fn fitted(&self, titles: &Row) -> Vec<Fitted> {
        let title = self.has_titles.then_some(titles);
        let fitted = |(at, &column): (usize, &Column)| {
            let cells = self.rows.iter().chain(title).filter_map(|row| row.cells.get(at));
            Fitted { at, column, width: cells.map(|cell| cell.width()).max().unwrap_or(0) }
        };
        let mut columns: Vec<Fitted> = self.columns.iter().enumerate().map(fitted).collect();
        for name in self.spare {
            let first = columns.iter().position(|column| column.column.is_cut());
            let least = columns.iter().enumerate().map(|(at, column)| match column.column.is_cut() {
                true if Some(at) == first => column.width.min(COMFORTABLE_FIRST),
                true => column.width.min(COMFORTABLE),
                false => column.width,
            });
            if total(least) > self.width {
                columns.retain(|column| column.column.title() != *name);
            }
        }
        columns
    }
}

/// A column that is shown.
struct Fitted {
    /// Its index in the table.
    at: usize,
    column: Column,
    width: usize,
}

/// Narrows columns of lists, and then columns of names, until the table fits.
fn narrow(columns: &mut [Fitted], width: usize) {
    for is_cut in [Column::is_list, Column::is_name] {
        while total(columns.iter().map(|column| column.width)) > width {
            let cut = columns.iter_mut().filter(|column| is_cut(column.column) && column.width > LEAST);
            let Some(widest) = cut.max_by_key(|column| column.width) else { break };
            widest.width -= 1;
        }
    }
}

fn line(columns: &[Fitted], row: &Row) -> String {
    let cell = |column: &Fitted| Some(column.column.cell(row.cells.get(column.at)?, column.width));
    let cells: Vec<String> = columns.iter().filter_map(cell).chain(row.sentence.clone()).collect();
    format!("{}\n", cells.join(&" ".repeat(GAP)).trim_end())
}

fn total(widths: impl Iterator<Item = usize>) -> usize {
    widths.map(|width| width + GAP).sum::<usize>().saturating_sub(GAP)
}

impl Column {
    fn title(self) -> &'static str {
        let (Self::Words(title)
        | Self::Numbers(title)
        | Self::Ends(title)
        | Self::Middles(title)
        | Self::Beginnings(title)) = self;
        title
    }

    fn is_list(self) -> bool {
        matches!(self, Self::Beginnings(_))
    }

    fn is_name(self) -> bool {
        matches!(self, Self::Ends(_) | Self::Middles(_))
    }

    fn is_cut(self) -> bool {
        self.is_list() || self.is_name()
    }

    fn cell(self, text: &str, width: usize) -> String {
        let cut = if text.width() <= width { text.to_owned() } else { self.cut(text, width) };
        let padding = " ".repeat(width.saturating_sub(cut.width()));
        match self {
            Self::Numbers(_) => padding + &cut,
            _ => cut + &padding,
        }
    }

    /// Returns the shortened form of a text that is too long.
    fn cut(self, text: &str, width: usize) -> String {
        match self {
            Self::Ends(_) => cut(text, width, 0),
            Self::Middles(_) => shortened(text, width),
            _ => cut(text, width, width - 1),
        }
    }
}

/// Returns the width of a text in columns of a terminal.
pub fn display_width(text: &str) -> usize {
    text.width()
}

/// Returns a text that takes at most `width` columns of a terminal. A longer text loses its middle.
pub fn shortened(text: &str, width: usize) -> String {
    // The end of a name has more information than its beginning.
    if text.width() <= width { text.to_owned() } else { cut(text, width, width.saturating_sub(1) / 3) }
}

/// Returns `begin` columns of the beginning of a text, a mark, and as much of its end as fits.
fn cut(text: &str, width: usize, begin: usize) -> String {
    let first = fitting(text.chars(), begin);
    let last = fitting(text.chars().rev(), width.saturating_sub(1 + begin));
    first.iter().chain(&['…']).chain(last.iter().rev()).collect()
}

/// Returns as many of the first characters as fit.
fn fitting(characters: impl Iterator<Item = char>, room: usize) -> Vec<char> {
    let within = |used: &mut usize, character: char| {
        *used += character.width().unwrap_or(0);
        (*used <= room).then_some(character)
    };
    characters.scan(0, within).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Column::{Beginnings, Ends, Middles, Numbers, Words};
    use super::*;

    #[test]
    fn what_is_too_long_for_a_column_is_cut_and_marked() {
        let cut = |column: fn(&'static str) -> Column, text: &str, width| column("").cell(text, width);
        assert_eq!((cut(Beginnings, "abcd", 4), cut(Beginnings, "abcde", 4)), ("abcd".into(), "abc…".into()));
        assert_eq!((cut(Ends, "äbcd", 4), cut(Ends, "xäbcd", 4)), ("äbcd".into(), "…bcd".into()));
        assert_eq!(cut(Middles, "/begin/layer/end", 10), "/be…er/end");
        assert_eq!(cut(Ends, "卷积/卷积", 6), "…/卷积", "a character may take two columns of a terminal");
        assert_eq!(cut(Ends, "卷积卷积", 6), "…卷积 ");
    }

    /// Returns a table of tensors. The first one has this name.
    fn tensors(name: &str) -> String {
        let columns = [
            Middles("tensor"),
            Middles("operator"),
            Words("type"),
            Numbers("cosine"),
            Numbers("max abs"),
            Numbers("ulp"),
        ];
        let mut table = TextTable::new(columns).without_rule().with_spare(&["operator"]);
        for line in [
            &[name, "Conv", "float32", "1.000000", "4.768e-7", "12"][..],
            &["b", "Relu", "float32", "-", "NaN", "-"],
            &["c", "Relu", "not there"],
        ] {
            table.row(line.iter().map(ToString::to_string));
        }
        table.text()
    }

    #[test]
    fn a_table_that_has_room_shows_every_column_and_every_letter() {
        let expected = "\
tensor  operator  type       cosine   max abs  ulp
a       Conv      float32  1.000000  4.768e-7   12
b       Relu      float32         -       NaN    -
c       Relu      not there
";
        assert_eq!(tensors("a"), expected);
    }

    #[test]
    fn a_spare_column_is_left_out_before_names_become_too_short() {
        let text = tensors(&format!("/begin{}/end", "/layer".repeat(20)));
        assert!(text.lines().all(|line| line.width() <= WIDTH), "{text}");
        assert!(text.contains("…") && text.contains("/end  ") && text.contains("1.000000  4.768e-7   12"), "{text}");
        assert!(text.contains("operator") && text.contains("Relu      not there"), "both have room: {text}");

        let mut table = TextTable::new([Middles("name"), Ends("spare"), Numbers("number")]).with_spare(&["spare"]);
        table.row(["n".repeat(40), "x".repeat(40), "1".repeat(42)]);
        table.row(["n".to_owned(), "x".to_owned(), "2".to_owned()]);
        table.row(["n".to_owned(), "is not there".to_owned()]);
        let text = table.text();
        assert!(!text.contains("spare") && !text.contains('x'), "{text}");
        let last = text.lines().last().map(|line| line.split_whitespace().collect::<Vec<_>>());
        assert_eq!(last.unwrap(), ["n", "is", "not", "there"]);
    }

    #[test]
    fn what_is_not_seen_in_a_cell_is_escaped_and_a_table_may_be_nothing_but_rows() {
        let mut table = TextTable::new([Words(""), Words("")]).without_titles();
        table.row(["a\nb".to_owned(), "1".to_owned()]);
        table.row(["卷积".to_owned(), "2".to_owned()]);
        assert_eq!(table.text(), "a\\u{a}b  1\n卷积     2\n");
    }

    proptest! {
        #[test]
        fn a_table_with_long_names_fits_a_terminal_and_no_line_ends_with_a_blank(
            cells in prop::collection::vec(("[a-z/]{0,120}", "[A-Z]{1,10}", 0u32.., "[a-z, ]{0,150}"), 0..6)
        ) {
            let mut table = TextTable::new([Ends("name"), Words("type"), Numbers("time"), Beginnings("kernels")]);
            for (name, kind, time, kernels) in cells.clone() {
                table.row([name, kind, time.to_string(), kernels]);
            }
            let text = table.text();
            prop_assert_eq!(text.lines().count(), cells.len() + 2);
            for line in text.lines() {
                prop_assert!(line.width() <= WIDTH && !line.ends_with(' '), "{line:?}");
            }
            for (name, _, time, _) in cells {
                prop_assert!(text.contains(&time.to_string()) && text.contains(&name[name.len().saturating_sub(7)..]));
            }
        }
    }
}
