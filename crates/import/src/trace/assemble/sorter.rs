//! Sorts more rows than fit into memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use zerocopy::{FromBytes, Immutable, IntoBytes};

/// A row that can be sorted and stored.
pub(crate) trait Row: Copy + FromBytes + IntoBytes + Immutable {
    /// What rows are sorted by. Rows with equal keys keep the order in which they came.
    type Key: Ord;

    fn key(&self) -> Self::Key;
}

/// The memory for the rows of one sorter, in bytes. A part of this size is sorted and written to a file, so a trace of
/// any size takes no more.
const PART_BYTES: usize = 24 << 20;

/// The bytes that are read at once from each part.
const READ_BYTES: usize = 64 << 10;

/// Takes rows in any order and returns them sorted.
pub(crate) struct Sorter<R> {
    scratch: PathBuf,
    rows: Vec<R>,
    file: Option<BufWriter<File>>,
    /// The number of rows of each part that was written.
    parts: Vec<u64>,
}

/// The rows in order.
pub(crate) struct Sorted<R: Row> {
    file: Option<File>,
    parts: Vec<Part<R>>,
    /// The next row of each part, the least first.
    heads: BinaryHeap<Reverse<Head<R>>>,
    rows: std::vec::IntoIter<R>,
}

/// A sorted part of the file.
struct Part<R> {
    position: u64,
    end: u64,
    read: std::vec::IntoIter<R>,
}

struct Head<R: Row> {
    key: R::Key,
    part: usize,
    row: R,
}

impl<R: Row> Sorter<R> {
    /// Makes a sorter whose file lies, without a name, in this directory.
    pub fn new(scratch: &Path) -> Self {
        Self { scratch: scratch.to_owned(), rows: Vec::new(), file: None, parts: Vec::new() }
    }

    /// Takes a row.
    pub fn push(&mut self, row: R) -> io::Result<()> {
        if self.rows.len() >= PART_BYTES / size_of::<R>() {
            self.write_part()?;
        }
        self.rows.push(row);
        Ok(())
    }

    /// Returns the rows in order.
    pub fn sorted(mut self) -> io::Result<Sorted<R>> {
        if self.parts.is_empty() {
            self.rows.sort_by_key(Row::key);
            let rows = self.rows.into_iter();
            return Ok(Sorted { file: None, parts: Vec::new(), heads: BinaryHeap::new(), rows });
        }
        self.write_part()?;
        self.rows = Vec::new();
        let Some(writer) = self.file else { return Err(io::Error::other("parts without a file")) };
        let file = writer.into_inner().map_err(|error| error.into_error())?;
        let mut sorted =
            Sorted { file: Some(file), parts: Vec::new(), heads: BinaryHeap::new(), rows: Vec::new().into_iter() };
        let mut position = 0;
        for rows in self.parts {
            let end = position + rows * size_of::<R>() as u64;
            sorted.parts.push(Part { position, end, read: Vec::new().into_iter() });
            position = end;
        }
        for part in 0..sorted.parts.len() {
            sorted.refill(part)?;
        }
        Ok(sorted)
    }

    fn write_part(&mut self) -> io::Result<()> {
        self.rows.sort_by_key(Row::key);
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(BufWriter::new(tempfile::tempfile_in(&self.scratch)?)),
        };
        file.write_all(self.rows.as_bytes())?;
        self.parts.push(self.rows.len() as u64);
        self.rows.clear();
        Ok(())
    }
}

impl<R: Row> Sorted<R> {
    /// Puts the next row of a part among the heads.
    fn refill(&mut self, index: usize) -> io::Result<()> {
        let part = &mut self.parts[index];
        if part.read.len() == 0 && part.position < part.end {
            let most = (READ_BYTES / size_of::<R>() * size_of::<R>()) as u64;
            let mut bytes = vec![0; most.min(part.end - part.position) as usize];
            let Some(file) = &self.file else { return Ok(()) };
            file.read_exact_at(&mut bytes, part.position)?;
            part.position += bytes.len() as u64;
            let rows = bytes.chunks_exact(size_of::<R>()).filter_map(|row| R::read_from_bytes(row).ok());
            part.read = rows.collect::<Vec<_>>().into_iter();
        }
        if let Some(row) = part.read.next() {
            self.heads.push(Reverse(Head { key: row.key(), part: index, row }));
        }
        Ok(())
    }
}

impl<R: Row> Iterator for Sorted<R> {
    type Item = io::Result<R>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.file.is_none() {
            return self.rows.next().map(Ok);
        }
        let Reverse(head) = self.heads.pop()?;
        Some(self.refill(head.part).map(|()| head.row))
    }
}

// The parts lie in the file in the order in which their rows came, so of equal rows that of the first part comes first.
impl<R: Row> Ord for Head<R> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.key.cmp(&other.key).then(self.part.cmp(&other.part))
    }
}

impl<R: Row> PartialOrd for Head<R> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl<R: Row> PartialEq for Head<R> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl<R: Row> Eq for Head<R> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Clone, Copy, PartialEq, FromBytes, IntoBytes, Immutable)]
    #[repr(C)]
    struct Numbered {
        key: u64,
        came: u64,
    }

    impl Row for Numbered {
        type Key = u64;

        fn key(&self) -> u64 {
            self.key
        }
    }

    #[test]
    fn more_rows_than_fit_into_memory_come_out_in_order_and_equal_ones_as_they_came() {
        let scratch = tempfile::tempdir().expect("a directory");
        let rows = 3 * (PART_BYTES / size_of::<Numbered>()) as u64 + 17;
        let mut sorter = Sorter::new(scratch.path());
        for came in 0..rows {
            sorter.push(Numbered { key: came.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44, came }).expect("room");
        }
        assert_eq!(sorter.parts.len(), 3);
        let sorted: Vec<Numbered> = sorter.sorted().expect("a file").map(|row| row.expect("a row")).collect();
        assert_eq!(sorted.len() as u64, rows);
        assert!(sorted.is_sorted_by_key(|row| (row.key, row.came)));
    }

    #[test]
    fn few_rows_need_no_file() {
        let mut sorter = Sorter::new(Path::new("/nowhere"));
        for key in [3, 1, 2] {
            sorter.push(Numbered { key, came: 0 }).expect("memory");
        }
        let sorted = sorter.sorted().expect("no file").map(|row| row.expect("a row").key);
        assert_eq!(sorted.collect::<Vec<_>>(), [1, 2, 3]);
    }
}
