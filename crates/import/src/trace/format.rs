//! Which format a trace has, found by its content.

use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use flate2::read::MultiGzDecoder;

use super::sqlite::{self, Database};
use super::{nsys, perfetto, rocpd, rocprof_csv};
use crate::ImportError;

/// The bytes at the begin of a file that are looked at.
const HEAD: u64 = 64 << 10;
/// The first bytes of a file of gzip.
const GZIP: &[u8] = &[0x1F, 0x8B];

/// What can be read, for errors.
const READABLE: &str = "traces that can be read: Chrome trace events and PyTorch's, ONNX Runtime's profiles (JSON, also \
                        with gzip), Nsight Systems' SQLite export, rocprofv3's rocpd and CSV, and Perfetto's protobuf";

/// The formats of traces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    /// JSON, in a file of gzip or not.
    Json { is_gzip: bool },
    /// Nsight Systems' SQLite export.
    Nsys,
    /// rocprofv3's database.
    Rocpd,
    /// rocprofv3's CSV.
    RocprofCsv,
    /// Perfetto's protobuf.
    Perfetto,
}

impl Format {
    /// Finds the format of a file.
    ///
    /// # Errors
    /// Returns an error that says what the file is instead, if it is none of these.
    pub fn of(path: &Path) -> Result<Self, ImportError> {
        let file = opscope_files::open_regular(path).map_err(ImportError::io("read", path))?;
        let mut head = Vec::new();
        file.take(HEAD).read_to_end(&mut head).map_err(ImportError::io("read", path))?;
        let text = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&head).trim_ascii_start();
        match text.first() {
            None => Err(ImportError::unknown(path, format!("the file is empty; {READABLE}"))),
            _ if head.starts_with(sqlite::MAGIC) => Self::of_database(path),
            _ if head.starts_with(GZIP) => Self::of_gzip(path, &head),
            Some(b'{' | b'[') => Ok(Self::Json { is_gzip: false }),
            _ if rocprof_csv::is_rocprof(&head) => Ok(Self::RocprofCsv),
            _ if perfetto::is_perfetto(&head) => Ok(Self::Perfetto),
            _ => Err(ImportError::unknown(path, format!("{}; {READABLE}", what_is(path, &head)))),
        }
    }

    fn of_gzip(path: &Path, head: &[u8]) -> Result<Self, ImportError> {
        let mut first = [0; 64];
        let mut decoder = BufReader::new(MultiGzDecoder::new(head));
        let read = decoder.read(&mut first).unwrap_or(0);
        let text = first[..read].strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&first[..read]).trim_ascii_start();
        match text.first() {
            Some(b'{' | b'[') => Ok(Self::Json { is_gzip: true }),
            None => Err(ImportError::unknown(path, "it is a damaged or empty file of gzip")),
            Some(_) => Err(ImportError::unknown(
                path,
                "it is a file of gzip, but not of JSON; decompress it with gunzip and import what is in it",
            )),
        }
    }

    fn of_database(path: &Path) -> Result<Self, ImportError> {
        let database = Database::open(path, Arc::new(AtomicBool::new(false)))?;
        if nsys::TABLES.iter().any(|table| database.has(table)) {
            return Ok(Self::Nsys);
        }
        if database.tables().keys().any(|table| rocpd::is_table(table)) {
            return Ok(Self::Rocpd);
        }
        let reason = match database.has("rocpd_api") && database.has("rocpd_op") {
            true => "it is a database of rocmProfileData (rpd), not of rocprofv3".to_owned(),
            false => {
                let tables: Vec<&str> = database.tables().keys().take(5).map(String::as_str).collect();
                match tables.is_empty() {
                    true => "it is an SQLite database without a table".to_owned(),
                    false => {
                        format!("it is an SQLite database with tables such as {}", tables.join(", ").escape_debug())
                    }
                }
            }
        };
        Err(ImportError::unknown(path, format!("{reason}; {READABLE}")))
    }
}

/// Returns whether a file is a trace that [`import_trace`](super::import_trace) reads. Of JSON, its beginning must have
/// events of a trace.
pub fn is_foreign_trace(path: &Path) -> bool {
    match Format::of(path) {
        Ok(Format::Json { is_gzip }) => beginning(path, is_gzip).is_ok_and(|head| has_events(&head)),
        found => found.is_ok(),
    }
}

/// Returns the first bytes of a file, decompressed.
fn beginning(path: &Path, is_gzip: bool) -> io::Result<Vec<u8>> {
    let file = opscope_files::open_regular(path)?;
    let mut head = Vec::new();
    let read = match is_gzip {
        true => MultiGzDecoder::new(BufReader::new(file)).take(HEAD).read_to_end(&mut head),
        false => file.take(HEAD).read_to_end(&mut head),
    };
    // What stands before the damage of a file is enough.
    read.map(drop).or_else(|error| if head.is_empty() { Err(error) } else { Ok(()) })?;
    Ok(head)
}

/// Returns whether a beginning of JSON is that of a trace: the list of events, or in an array an event with its phase.
fn has_events(head: &[u8]) -> bool {
    let has = |text: &[u8]| memchr::memmem::find(head, text).is_some();
    let is_array = head.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(head).trim_ascii_start().first() == Some(&b'[');
    has(b"\"traceEvents\"") || (is_array && has(b"\"ph\""))
}

/// Says what a file is that cannot be read.
fn what_is(path: &Path, head: &[u8]) -> String {
    let ends = |end: &str| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case(end));
    if ends("nsys-rep") || ends("qdrep") {
        return "it is a report of Nsight Systems; make a database of it with `nsys export --type sqlite`".to_owned();
    }
    if ends("ncu-rep") {
        return "it is a report of Nsight Compute, which has no trace".to_owned();
    }
    match head {
        [b'P', b'K', 3 | 5, ..] => "it is a zip archive; unpack it, and import the trace in it".to_owned(),
        [b'D', b'E', b'F', b'2' | b'3', ..] | [0x28, 0xB5, 0x2F, 0xFD, ..] | [0xFD, b'7', b'z', ..] => {
            "it is compressed in another way than with gzip; decompress it".to_owned()
        }
        [0x7F, b'E', b'L', b'F', ..] => "it is a program".to_owned(),
        _ => match std::str::from_utf8(&head[..head.len().min(256)])
            .map_or_else(|error| error.valid_up_to() > 200, |_| true)
        {
            true => "it is a text of another kind".to_owned(),
            false => "its content is not known".to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use rusqlite::Connection;

    use super::*;
    use crate::trace::assemble::Assembler;

    fn of(name: &str, bytes: &[u8]) -> Result<Format, ImportError> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        fs::write(&path, bytes).unwrap();
        Format::of(&path)
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn database(sql: &str) -> Vec<u8> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        Connection::open(&path).unwrap().execute_batch(sql).unwrap();
        fs::read(&path).unwrap()
    }

    #[test]
    fn the_format_is_found_by_content() {
        let nsys = database("CREATE TABLE NVTX_EVENTS (start INT)");
        let rocpd = database("CREATE TABLE rocpd_region_00aa_11 (id INT)");
        assert_eq!(of("a.txt", b" \n{\"traceEvents\": []}").unwrap(), Format::Json { is_gzip: false });
        assert_eq!(of("a", b"\xEF\xBB\xBF[{}").unwrap(), Format::Json { is_gzip: false });
        assert_eq!(of("a", &gzip(b"[]")).unwrap(), Format::Json { is_gzip: true });
        assert_eq!(of("a.json", &nsys).unwrap(), Format::Nsys);
        assert_eq!(of("a.json", &rocpd).unwrap(), Format::Rocpd);
        assert_eq!(
            of("a", b"\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n").unwrap(),
            Format::RocprofCsv
        );
        assert_eq!(of("a", &[10, 2, 0x40, 1]).unwrap(), Format::Perfetto);
    }

    #[test]
    fn what_is_none_of_them_is_named() {
        for (name, bytes, expected) in [
            ("a", b"".to_vec(), "the file is empty; traces that can be read: "),
            ("a", b"hello".to_vec(), "it is a text of another kind; "),
            ("a", vec![0xFF; 30], "its content is not known; "),
            ("a.nsys-rep", vec![0xFF; 30], "`nsys export --type sqlite`; "),
            ("a", b"PK\x03\x04".to_vec(), "it is a zip archive; "),
            ("a", b"\x28\xB5\x2F\xFD\0".to_vec(), "it is compressed in another way than with gzip; "),
            ("a", b"\xFD7zXZ\0".to_vec(), "it is compressed in another way than with gzip; "),
            ("a", b"\x7FELF\x02".to_vec(), "it is a program; "),
            // A text may be cut within its last letter.
            ("a", [&[b'x'; 255][..], "ö".as_bytes()].concat(), "it is a text of another kind; "),
            ("a", [&[b'x'; 200][..], &[0xFF; 100]].concat(), "its content is not known; "),
            ("a", gzip(b"hello"), "it is a file of gzip, but not of JSON; "),
            ("a", GZIP.to_vec(), "it is a damaged or empty file of gzip"),
            ("a", database("CREATE TABLE x (y)"), "it is an SQLite database with tables such as x; "),
            ("a", database("CREATE TABLE x (y); DROP TABLE x"), "it is an SQLite database without a table; "),
            ("a", database("CREATE TABLE \"a\u{1b}[31m\" (y)"), "with tables such as a\\u{1b}[31m; "),
            ("a", database("CREATE TABLE rocpd_api (y)"), "with tables such as rocpd_api; "),
            ("a", database("CREATE TABLE rocpd_api (y); CREATE TABLE rocpd_op (y)"), "(rpd), not of rocprofv3; "),
            ("a", [sqlite::MAGIC, &[7; 400]].concat(), "but cannot be read as one: "),
        ] {
            let error = of(name, &bytes).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn json_is_a_trace_if_it_has_events() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a");
        for (bytes, expected) in [
            (b"{\"schemaVersion\": 1, \"traceEvents\": []}".to_vec(), true),
            (b"\xEF\xBB\xBF [{\"cat\": \"Node\", \"ph\": \"X\"}".to_vec(), true),
            (gzip(b"{\"traceEvents\": ["), true),
            (b"{\"ph\": 7}".to_vec(), false),
            (b"[1, 2]".to_vec(), false),
            (b"hello".to_vec(), false),
            (b"\"Domain\",\"Function\",\"Start_Timestamp\",\"End_Timestamp\"\n".to_vec(), true),
        ] {
            fs::write(&path, &bytes).unwrap();
            assert_eq!(is_foreign_trace(&path), expected, "{}", String::from_utf8_lossy(&bytes));
        }
        assert!(!is_foreign_trace(directory.path()));
    }

    /// A database with events of both kinds, and a text of several pages.
    static BOTH: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let text = "x".repeat(3000);
        database(&format!(
            "PRAGMA page_size = 512; CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT);
             INSERT INTO StringIds VALUES (1, 'a'), (2, '{text}'), (3, 'b');
             CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, shortName INT, deviceId INT);
             INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (1, 2, 1, 0), (2, 3, 2, 0), (3, 4, 3, 1);
             CREATE TABLE rocpd_region_0 (id INTEGER PRIMARY KEY, start INT, end INT);
             INSERT INTO rocpd_region_0 VALUES (1, 2, 3);"
        ))
    });

    proptest! {

        #[test]
        fn any_change_of_a_database_is_read_or_refused(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..40),
            cut in any::<prop::sample::Index>(),
            is_cut: bool,
        ) {
            let mut bytes = BOTH.clone();
            for (place, byte) in changes {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
            if is_cut {
                bytes.truncate(cut.index(bytes.len()));
            }
            let directory = tempfile::tempdir().unwrap();
            let path = directory.path().join("a");
            fs::write(&path, &bytes).unwrap();
            let _ = Format::of(&path);
            for read in [nsys::read, rocpd::read] {
                let _ = read(&path, &mut Assembler::new(directory.path(), Arc::default()));
            }
        }
    }
}
