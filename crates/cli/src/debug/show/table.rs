/// Aligns rows in columns, with two spaces between them and none at the ends of lines.
pub fn table<const N: usize>(rows: impl IntoIterator<Item = [String; N]>) -> String {
    let rows: Vec<[String; N]> = rows.into_iter().collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |row: &[String; N]| {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:<width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}
