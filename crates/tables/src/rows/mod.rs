//! The tables, each with its row and its columns. Tables that refer to each other are in one file.

pub(crate) mod dispatches;
pub(crate) mod marks;
pub(crate) mod runs;
pub(crate) mod tensors;

#[cfg(test)]
mod tests {
    use crate::table::{ColumnSpec, Row};

    use super::*;

    /// Returns the columns that the documentation lists for a table: name and type.
    fn documented(table: &str) -> Vec<(String, String)> {
        let page = include_str!("../../../../docs/tables.md");
        let section = page.split("\n## ").find(|section| section.lines().next() == Some(table)).unwrap_or_default();
        let cells = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
        cells.map(|(name, rest)| (name.to_owned(), rest.split(" |").next().unwrap_or_default().to_owned())).collect()
    }

    fn check<R: Row>() {
        let described = |spec: &ColumnSpec| {
            let null = if spec.optional { " or null" } else { "" };
            (spec.name.to_owned(), format!("{}{null}", spec.kind.name()))
        };
        let columns: Vec<_> = R::COLUMNS.iter().map(described).collect();
        assert_eq!(columns, documented(R::TABLE), "{}", R::TABLE);
    }

    #[test]
    fn the_documentation_lists_every_column_with_its_type() {
        check::<runs::RecordingRow<'_>>();
        check::<runs::Run<'_>>();
        check::<dispatches::Dispatch<'_>>();
        check::<dispatches::Operator<'_>>();
        check::<marks::Counter<'_>>();
        check::<marks::Mark<'_>>();
        check::<tensors::Tensor<'_>>();
    }
}
