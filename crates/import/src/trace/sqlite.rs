//! A database of someone else, read as tables of rows. Nothing of it is run: no view, no trigger, no function of its
//! schema.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use foldhash::HashMap;
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{CachedStatement, Connection, ErrorCode, OpenFlags};

use super::assemble::Assembler;
use crate::ImportError;

/// The first bytes of every database.
pub(super) const MAGIC: &[u8] = b"SQLite format 3\0";

/// The longest text or row that is read. A demangled name of a template has a few kilobytes.
const LONGEST_ROW: i32 = 4 << 20;
/// The pages that SQLite keeps, in kibibytes (negative, as the pragma wants it).
const CACHE_KIB: i32 = -16_384;
/// The steps of SQLite's machine after which it asks whether the import was cancelled.
const STEPS_PER_QUESTION: i32 = 10_000;
/// The bytes of texts that a lookup keeps.
const KEPT_TEXTS: usize = 32 << 20;

/// A database that is open for reading.
pub(super) struct Database {
    connection: Connection,
    path: PathBuf,
    /// The columns of each table.
    tables: BTreeMap<String, BTreeSet<String>>,
    cancel: Arc<AtomicBool>,
}

impl Database {
    /// Opens a database and reads which tables it has. Views and virtual tables are left out, because reading them
    /// runs what the file says.
    pub fn open(path: &Path, cancel: Arc<AtomicBool>) -> Result<Self, ImportError> {
        // Refuses pipes and devices; SQLite itself would open them.
        drop(opscope_files::open_regular(path).map_err(ImportError::io("read", path))?);
        let absolute = std::path::absolute(path).map_err(ImportError::io("read", path))?;
        let connection = connect(&absolute, Arc::clone(&cancel)).map_err(|error| refused(path, &error))?;
        let tables = read_tables(&connection).map_err(|error| match cancel.load(Ordering::Relaxed) {
            true => ImportError::Cancelled,
            false => refused(path, &error),
        })?;
        Ok(Self { connection, path: path.to_owned(), tables, cancel })
    }

    /// Returns the tables with their columns.
    pub fn tables(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.tables
    }

    /// Returns whether there is a table of this name.
    pub fn has(&self, table: &str) -> bool {
        self.tables.contains_key(table)
    }

    /// Notes what lies in a write-ahead log beside the file: it is not read, because the database is opened as one
    /// that nobody changes.
    pub fn note_write_ahead_log(&self, into: &mut Assembler) {
        let mut beside = self.path.as_os_str().to_owned();
        beside.push("-wal");
        let bytes = std::fs::metadata(&beside).map_or(0, |file| file.len());
        if bytes > 0 {
            into.damaged(format!(
                "{}: its last changes are in a write-ahead log beside it ({bytes} bytes), which is not read; open and \
                 close it once with sqlite3 to move them into the file",
                self.path.display()
            ));
        }
    }

    /// Hands each row of a table to `take`, in the order in which they lie in the file. A column that the table lacks
    /// is empty in every row. Returns without a row if there is no such table, or if it lacks a needed column, which
    /// is noted and the rows counted. Damage ends the table, and is noted.
    pub fn rows(
        &self,
        columns: &Columns<'_>,
        into: &mut Assembler,
        mut take: impl FnMut(&Row<'_>, &mut Assembler) -> Result<(), ImportError>,
    ) -> Result<(), ImportError> {
        let table = columns.table;
        let Some(known) = self.tables.get(table) else { return Ok(()) };
        let missing: Vec<&str> = columns.needed.iter().copied().filter(|column| !known.contains(*column)).collect();
        if !missing.is_empty() {
            let missing = missing.join(", ");
            into.about.notes.push(format!("The table {table} has no column {missing}, so none of its rows is read."));
            return self.count_unread("table without a needed column", table, into);
        }
        let select = self.select(columns, known);
        let mut row_number = 0_u64;
        let failed = match self.connection.prepare(&select).and_then(|mut statement| {
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                row_number += 1;
                if let Err(error) = take(&Row { row }, into) {
                    return Ok(Err(error));
                }
            }
            Ok(Ok(()))
        }) {
            Ok(taken) => return taken,
            Err(error) => error,
        };
        self.damage(table, row_number, &failed, into)
    }

    /// Counts the rows of a table that is not read.
    pub fn count_unread(&self, kind: &str, table: &str, into: &mut Assembler) -> Result<(), ImportError> {
        let counted = self
            .connection
            .query_row(&format!("SELECT COUNT(*) FROM {}", quoted(table)), [], |row| row.get::<_, i64>(0));
        match counted {
            Ok(rows) => {
                into.not_imported_times(kind, table, u64::try_from(rows).unwrap_or(0));
                Ok(())
            }
            Err(error) => self.damage(table, 0, &error, into),
        }
    }

    /// Begins looking rows up by their number in a column.
    pub fn lookup(&self, table: &str, key: &str, columns: &[&str]) -> Option<Lookup<'_>> {
        let known = self.tables.get(table)?;
        if !known.contains(key) {
            return None;
        }
        let asked = Columns { table, needed: &[], optional: columns };
        let statement = self
            .connection
            .prepare_cached(&format!("{} WHERE {} = ?1", self.select(&asked, known), quoted(key)))
            .ok()?;
        Some(Lookup { statement, columns: columns.len(), kept: HashMap::default(), bytes: 0 })
    }

    fn select(&self, columns: &Columns<'_>, known: &BTreeSet<String>) -> String {
        let mut text = "SELECT ".to_owned();
        for (place, column) in columns.needed.iter().chain(columns.optional).enumerate() {
            text.push_str(if place > 0 { ", " } else { "" });
            match known.contains(*column) {
                true => text.push_str(&quoted(column)),
                false => text.push_str("NULL"),
            }
        }
        let _ = write!(text, " FROM {}", quoted(columns.table));
        text
    }

    fn damage(&self, table: &str, row: u64, error: &rusqlite::Error, into: &mut Assembler) -> Result<(), ImportError> {
        if self.cancel.load(Ordering::Relaxed) || error.sqlite_error_code() == Some(ErrorCode::OperationInterrupted) {
            return Err(ImportError::Cancelled);
        }
        let path = self.path.display();
        into.damaged(format!("{path}: the table {table} can be read up to its row {row} only: {error}"));
        Ok(())
    }
}

/// Which columns of a table are read, in this order: those without which a row means nothing, then the others.
pub(super) struct Columns<'a> {
    pub table: &'a str,
    pub needed: &'a [&'a str],
    pub optional: &'a [&'a str],
}

/// A row. Its columns are counted from 0, in the order in which they were asked for.
pub(super) struct Row<'a> {
    row: &'a rusqlite::Row<'a>,
}

impl Row<'_> {
    /// Returns a whole number, also if it is written as text.
    pub fn int(&self, column: usize) -> Option<i64> {
        match self.row.get_ref(column).ok()? {
            ValueRef::Integer(value) => Some(value),
            ValueRef::Text(text) => std::str::from_utf8(text).ok()?.trim().parse().ok(),
            _ => None,
        }
    }

    /// Returns a number.
    pub fn real(&self, column: usize) -> Option<f64> {
        match self.row.get_ref(column).ok()? {
            ValueRef::Integer(value) => Some(value as f64),
            ValueRef::Real(value) => Some(value),
            _ => None,
        }
    }

    /// Returns a text that is not empty.
    pub fn text(&self, column: usize) -> Option<Cow<'_, str>> {
        text_of(self.row.get_ref(column).ok()?)
    }

    /// Returns a begin and a duration in nanoseconds, if the row has both and they are in order.
    pub fn span(&self, start: usize, end: usize) -> Option<(u64, u64)> {
        let (start, end) = (u64::try_from(self.int(start)?).ok()?, u64::try_from(self.int(end)?).ok()?);
        Some((start, end.checked_sub(start)?))
    }
}

/// Looks rows up by a number, and keeps the last ones.
pub(super) struct Lookup<'a> {
    statement: CachedStatement<'a>,
    columns: usize,
    kept: HashMap<i64, Option<Arc<Found>>>,
    bytes: usize,
}

/// What was found. A column without a value is empty.
pub(super) type Found = Vec<Option<Box<str>>>;

impl Lookup<'_> {
    /// Returns the columns of the row with this number, as texts.
    pub fn find(&mut self, number: i64) -> Option<Arc<Found>> {
        if let Some(found) = self.kept.get(&number) {
            return found.clone();
        }
        let columns = self.columns;
        let found = self.statement.query_row([number], |row| {
            let columns = (0..columns).map(|column| Ok(row.get_ref(column).ok().and_then(text_of).map(Box::from)));
            columns.collect::<rusqlite::Result<Found>>()
        });
        let found = found.ok().map(Arc::new);
        self.bytes += 64 + found.iter().flat_map(|found| found.iter().flatten()).map(|text| text.len()).sum::<usize>();
        if self.bytes > KEPT_TEXTS {
            self.kept.clear();
            self.bytes = 0;
        }
        self.kept.insert(number, found.clone());
        found
    }

    /// Returns a column of the row with this number.
    pub fn text(&mut self, number: i64, column: usize) -> Option<String> {
        self.find(number)?.get(column)?.as_deref().map(str::to_owned)
    }
}

fn text_of(value: ValueRef<'_>) -> Option<Cow<'_, str>> {
    match value {
        ValueRef::Text([]) | ValueRef::Null => None,
        ValueRef::Text(text) => Some(String::from_utf8_lossy(text)),
        ValueRef::Integer(value) => Some(Cow::Owned(value.to_string())),
        ValueRef::Real(value) => Some(Cow::Owned(value.to_string())),
        // Some writers bind texts as blobs.
        ValueRef::Blob(bytes) => std::str::from_utf8(bytes).ok().map(Cow::Borrowed),
    }
}

fn connect(path: &Path, cancel: Arc<AtomicBool>) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let connection = Connection::open_with_flags(uri(path), flags)?;
    connection.progress_handler(STEPS_PER_QUESTION, Some(move || cancel.load(Ordering::Relaxed)));
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, LONGEST_ROW)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    for (switch, on) in [
        (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
        (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
        (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
    ] {
        connection.set_db_config(switch, on)?;
    }
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "cell_size_check", true)?;
    connection.pragma_update(None, "mmap_size", 0)?;
    connection.pragma_update(None, "cache_size", CACHE_KIB)?;
    Ok(connection)
}

/// Returns the address of a file for SQLite, as one that nobody changes: no lock, no log, no file beside it is used.
fn uri(path: &Path) -> String {
    let mut text = "file:".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' => text.push(char::from(byte)),
            _ => {
                let _ = write!(text, "%{byte:02X}");
            }
        }
    }
    text + "?mode=ro&immutable=1"
}

fn read_tables(connection: &Connection) -> rusqlite::Result<BTreeMap<String, BTreeSet<String>>> {
    // Virtual tables have no page of their own.
    let mut statement = connection.prepare("SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0")?;
    let names: Vec<String> = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let mut columns_of = connection.prepare("SELECT name FROM pragma_table_info(?1)")?;
    let mut tables = BTreeMap::new();
    for name in names {
        let columns = columns_of.query_map([&name], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
        tables.insert(name, columns);
    }
    Ok(tables)
}

fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

fn refused(path: &Path, error: &rusqlite::Error) -> ImportError {
    match error.sqlite_error_code() {
        Some(ErrorCode::CannotOpen | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure) => {
            ImportError::io("read", path)(io::Error::other(error.to_string()))
        }
        _ => {
            ImportError::unknown(path, format!("it begins like an SQLite database, but cannot be read as one: {error}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_addresses_that_name_the_same_file() {
        assert_eq!(uri(Path::new("/a b/c?d#e%.db")), "file:/a%20b/c%3Fd%23e%25.db?mode=ro&immutable=1");
    }

    #[test]
    fn a_table_with_a_name_of_any_kind_is_read_and_views_are_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("odd ?name#.db");
        let made = Connection::open(&path).unwrap();
        made.execute_batch(
            r#"CREATE TABLE "a ""b" (start, "end"); INSERT INTO "a ""b" VALUES (1, 3), ('5', '9'), (NULL, 2), (4, 2);
               CREATE VIEW v AS SELECT * FROM "a ""b";"#,
        )
        .unwrap();
        drop(made);
        let database = Database::open(&path, Arc::default()).unwrap();
        assert_eq!(database.tables().keys().collect::<Vec<_>>(), ["a \"b"]);
        let mut into = Assembler::new(directory.path(), Arc::default());
        let mut spans = Vec::new();
        let columns = Columns { table: "a \"b", needed: &["start", "end"], optional: &["none"] };
        database
            .rows(&columns, &mut into, |row, _| {
                assert_eq!(row.text(2), None);
                spans.push(row.span(0, 1));
                Ok(())
            })
            .unwrap();
        assert_eq!(spans, [Some((1, 2)), Some((5, 4)), None, None]);
    }

    /// A database that these statements make.
    fn made(sql: &str) -> (tempfile::TempDir, Database, Arc<AtomicBool>) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        let cancel = Arc::new(AtomicBool::new(false));
        let database = Database::open(&path, Arc::clone(&cancel)).unwrap();
        (directory, database, cancel)
    }

    /// Its third row is longer than what is read.
    const TOO_LONG: &str = "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (zeroblob(5 << 20)), (4)";

    #[test]
    fn a_table_is_read_up_to_the_row_that_cannot_be_read() {
        let (directory, database, cancel) = made(TOO_LONG);
        let columns = Columns { table: "t", needed: &["a"], optional: &[] };
        let mut into = Assembler::new(directory.path(), Arc::default());
        let mut seen = Vec::new();
        database
            .rows(&columns, &mut into, |row, _| {
                seen.push(row.int(0));
                Ok(())
            })
            .unwrap();
        assert_eq!(seen, [Some(1), Some(2)]);
        let [damage] = into.damage() else { panic!("{:?}", into.damage()) };
        assert!(damage.contains("the table t can be read up to its row 2 only"), "{damage}");
        // An import that was cancelled says so, whatever ends the table then.
        let cancelling = database.rows(&columns, &mut into, |row, _| {
            cancel.store(row.int(0) == Some(2), Ordering::Relaxed);
            Ok(())
        });
        assert!(matches!(cancelling, Err(ImportError::Cancelled)));
        assert_eq!(into.damage().len(), 1);
    }

    #[test]
    fn a_write_ahead_log_with_something_in_it_is_named() {
        let (directory, database, _) = made("CREATE TABLE t (a)");
        for (bytes, told) in [(0, None), (5, Some("(5 bytes)"))] {
            std::fs::write(directory.path().join("a.db-wal"), vec![0; bytes]).unwrap();
            let mut into = Assembler::new(directory.path(), Arc::default());
            database.note_write_ahead_log(&mut into);
            assert_eq!(into.damage().len(), usize::from(told.is_some()));
            assert!(told.is_none_or(|told| into.damage()[0].contains(told)), "{:?}", into.damage());
        }
    }

    #[test]
    fn a_lookup_keeps_texts_up_to_a_number_of_bytes() {
        let (_directory, database, _) =
            made("CREATE TABLE t (id, a, b); INSERT INTO t VALUES (1, 'xyz', 'u'), (2, 7, NULL)");
        let mut lookup = database.lookup("t", "id", &["a", "b"]).unwrap();
        assert_eq!((lookup.text(1, 0).as_deref(), lookup.text(1, 1).as_deref()), (Some("xyz"), Some("u")));
        assert_eq!((lookup.text(2, 0).as_deref(), lookup.text(2, 1), lookup.find(3)), (Some("7"), None, None));
        // 64 each, and the four bytes of the first and the one of the second.
        assert_eq!((lookup.bytes, lookup.kept.len()), (3 * 64 + 5, 3));
        lookup.bytes = KEPT_TEXTS - 64;
        assert_eq!(lookup.find(4), None);
        assert_eq!((lookup.bytes, lookup.kept.len()), (KEPT_TEXTS, 4));
        assert_eq!(lookup.find(5), None);
        assert_eq!((lookup.bytes, lookup.kept.len()), (0, 1));
    }

    #[test]
    fn an_endless_query_ends_when_the_import_is_cancelled() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.db");
        let made = Connection::open(&path).unwrap();
        made.execute_batch(
            "CREATE TABLE t (start INT); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 100000)
             INSERT INTO t SELECT i FROM n",
        )
        .unwrap();
        drop(made);
        let cancel = Arc::new(AtomicBool::new(false));
        let database = Database::open(&path, Arc::clone(&cancel)).unwrap();
        cancel.store(true, Ordering::Relaxed);
        let mut into = Assembler::new(directory.path(), cancel);
        let columns = Columns { table: "t", needed: &["start"], optional: &[] };
        let result = database.rows(&columns, &mut into, |_, _| Ok(()));
        assert!(matches!(result, Err(ImportError::Cancelled)));
    }
}
