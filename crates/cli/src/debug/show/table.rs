use opscope::text::{Column, TextTable};

/// Aligns rows in columns, with two spaces between them and none at the ends of lines.
pub fn table<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let mut table = TextTable::new([Column::Words(""); N]).without_titles();
    rows.into_iter().for_each(|row| table.row(row));
    table.text().trim_end_matches('\n').to_owned()
}
