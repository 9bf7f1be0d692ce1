//! The trials of a search, one a line in a file, so that a search that was killed goes on where it was.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use opscope_files::{open_to_append, read_text};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The largest journal that is read, in bytes.
const LARGEST: u64 = 1 << 30;

/// One line.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Line {
    /// What is searched for. A journal begins with it.
    Search(Value),
    Order(Order),
    /// A set that was tried.
    Trial(Trial),
}

/// The order in which operators are suspected. It depends on times, so that it is another one in each process.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Order {
    /// The candidates by id, the most suspect first, with their times in ticks of the clock.
    pub candidates: Vec<(u32, u64)>,
    /// The time of all operators.
    pub total: u64,
}

/// A set that was tried.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Trial {
    /// The operators that were kept, by id, ascending.
    pub kept: Vec<u32>,
    /// What was measured; `None` if it could not be.
    pub value: Option<f64>,
    /// Whether the target was met.
    pub met: bool,
    /// Whether all sets of inputs were measured that could be.
    pub whole: bool,
    /// How many whole runs it took, of one set of inputs.
    pub runs: f64,
}

/// The trials of a search so far.
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    order: Option<Order>,
    trials: HashMap<Vec<u32>, Trial>,
}

/// Why a journal cannot be used.
#[derive(Debug)]
pub(super) enum JournalError {
    /// It is of another search.
    Other,
    Io(io::Error),
}

impl From<io::Error> for JournalError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Journal {
    /// Opens the journal of a search, or begins one.
    ///
    /// # Errors
    /// Returns an error if the file is there and belongs to another search, or if it cannot be read or written.
    pub fn open(path: &Path, search: &Value) -> Result<Self, JournalError> {
        let text = match read_text(path, LARGEST) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        // The last line may have been cut short.
        let whole = &text[..text.rfind('\n').map_or(0, |end| end + 1)];
        let mut lines = whole.lines().map(serde_json::from_str::<Line>);
        match lines.next() {
            Some(Ok(Line::Search(found))) if found == *search => {}
            None => {
                opscope_files::replace_whole(path, format!("{}\n", line(&Line::Search(search.clone()))).as_bytes())?;
                return Ok(Self { file: open_to_append(path)?, order: None, trials: HashMap::new() });
            }
            Some(_) => return Err(JournalError::Other),
        }
        let (mut order, mut trials): (_, HashMap<_, _>) = (None, HashMap::new());
        for line in lines {
            match line {
                Ok(Line::Order(found)) => order = Some(found),
                Ok(Line::Trial(trial)) => drop(trials.insert(trial.kept.clone(), trial)),
                Ok(Line::Search(_)) | Err(_) => return Err(JournalError::Other),
            }
        }
        let file = open_to_append(path)?;
        file.set_len(whole.len() as u64)?;
        Ok(Self { file, order, trials })
    }

    /// Returns the order of the candidates, if it is known.
    pub fn order(&self) -> Option<&Order> {
        self.order.as_ref()
    }

    /// Stores the order of the candidates.
    pub fn set_order(&mut self, order: Order) -> io::Result<()> {
        writeln!(self.file, "{}", line(&Line::Order(order.clone())))?;
        self.order = Some(order);
        Ok(())
    }

    /// Returns what was found for a set.
    pub fn trial(&self, kept: &[u32]) -> Option<&Trial> {
        self.trials.get(kept)
    }

    /// Stores what was found for a set.
    pub fn add(&mut self, trial: Trial) -> io::Result<()> {
        writeln!(self.file, "{}", line(&Line::Trial(trial.clone())))?;
        self.trials.insert(trial.kept.clone(), trial);
        Ok(())
    }
}

fn line(line: &Line) -> String {
    serde_json::to_string(line).expect("a line has only texts and numbers")
}

#[cfg(test)]
mod tests {
    use std::fs;

    use serde_json::json;

    use super::*;

    fn trial(kept: &[u32]) -> Trial {
        Trial { kept: kept.to_vec(), value: Some(0.1 + 0.2), met: false, whole: true, runs: 1.5 }
    }

    #[test]
    fn a_journal_that_was_cut_short_has_all_whole_lines_and_goes_on() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trials.jsonl");
        let search = json!({"model": "a"});
        let mut journal = Journal::open(&path, &search).unwrap();
        let order = Order { candidates: vec![(7, 100), (3, 200)], total: 400 };
        journal.set_order(order.clone()).unwrap();
        journal.add(trial(&[3])).unwrap();
        journal.add(trial(&[3, 7])).unwrap();
        drop(journal);
        let whole = fs::read(&path).unwrap();
        for cut in 0..whole.len() {
            fs::write(&path, &whole[..cut]).unwrap();
            let mut journal = Journal::open(&path, &search).unwrap();
            assert!(journal.trial(&[3, 7]).is_none(), "its line has no end");
            journal.add(trial(&[9])).unwrap();
            assert_eq!(Journal::open(&path, &search).unwrap().trial(&[9]), Some(&trial(&[9])));
        }
        fs::write(&path, &whole).unwrap();
        let journal = Journal::open(&path, &search).unwrap();
        assert_eq!(journal.order(), Some(&order));
        assert_eq!((journal.trial(&[3]), journal.trial(&[3, 7])), (Some(&trial(&[3])), Some(&trial(&[3, 7]))));
    }

    #[test]
    fn the_journal_of_another_search_or_another_file_is_refused_and_stays_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("trials.jsonl");
        drop(Journal::open(&path, &json!({"model": "a"})).unwrap());
        let text = fs::read(&path).unwrap();
        assert!(matches!(Journal::open(&path, &json!({"model": "b"})), Err(JournalError::Other)));
        assert_eq!(fs::read(&path).unwrap(), text);
        fs::write(&path, "mine\n").unwrap();
        assert!(matches!(Journal::open(&path, &json!({})), Err(JournalError::Other)));
        assert_eq!(fs::read_to_string(&path).unwrap(), "mine\n");
    }
}
