use std::collections::HashMap;
use std::path::Path;

use crate::DumpError;
use crate::csv;

/// Pairs of tensors that belong together although their names differ.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Mapping {
    pairs: HashMap<String, String>,
}

/// The largest file that is read, in bytes.
const LARGEST: u64 = 256 << 20;

impl Mapping {
    /// Reads a mapping file. It is a table of two comma-separated columns: the name of a value (or `operator:output0`)
    /// and its name in the reference. Names with a comma or a quote are written in quotes. Empty lines and lines that
    /// begin with `#` are skipped.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read, a row does not have two columns, or a name is mapped twice.
    pub fn read(path: &Path) -> Result<Self, DumpError> {
        let text = opscope_files::read_text(path, LARGEST).map_err(|error| DumpError::file(path, error))?;
        Self::parse(&text).map_err(|error| DumpError::file(path, error))
    }

    /// Parses the text of a mapping file.
    ///
    /// # Errors
    /// Returns an error if a row does not have two columns, or a name is mapped twice.
    pub fn parse(text: &str) -> Result<Self, DumpError> {
        let mut pairs = HashMap::new();
        for (index, row) in csv::read(text)?.into_iter().enumerate() {
            let wrong = |reason: String| DumpError::Table { row: index + 1, reason };
            let counts = row.len() > 1 || row.iter().any(|field| !field.is_empty());
            if !counts || row[0].starts_with('#') {
                continue;
            }
            let columns = row.len();
            let Ok([name, reference]) = <[String; 2]>::try_from(row) else {
                return Err(wrong(format!("it has {columns} columns; a name and its name in the reference are right")));
            };
            if let Some(other) = pairs.insert(name.clone(), reference) {
                return Err(wrong(format!("'{name}' was mapped before, to '{other}'")));
            }
        }
        Ok(Self { pairs })
    }

    /// Returns the name in the reference, or `None` if the name is not mapped.
    pub fn of(&self, name: &str) -> Option<&str> {
        self.pairs.get(name).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_quoted_and_comments_do_not_count() {
        let mapping = Mapping::parse("# mine,golden\na,b\r\n\"x,y\",\"say \"\"z\"\"\"\n\nlast,one").unwrap();
        assert_eq!(
            (mapping.of("a"), mapping.of("x,y"), mapping.of("last")),
            (Some("b"), Some("say \"z\""), Some("one"))
        );
        assert_eq!(mapping.of("# mine"), None);
        assert!(Mapping::parse("\"\"\na,b").is_ok(), "a row of nothing is none");
        assert_eq!(Mapping::parse(",").unwrap().of(""), Some(""), "and a comma makes two columns");
    }

    #[test]
    fn a_row_that_is_wrong_is_named() {
        assert!(Mapping::parse("a,b\nc").unwrap_err().to_string().contains("row 2"));
        assert!(Mapping::parse("a,b\na,c").unwrap_err().to_string().contains("mapped before, to 'b'"));
        assert!(Mapping::parse("a,b,c").is_err());
    }

    #[test]
    fn a_mapping_has_256_mib_at_most() {
        // A file of this size is too large for a test.
        assert_eq!(LARGEST, 268_435_456);
    }
}
