//! The files with a line per tensor: `statistics.csv` and `histograms.jsonl`.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use csv::{Writer, WriterBuilder};
use opscope_model::LoopIteration;
use opscope_tensor::{Histogram, Statistics};
use opscope_text::cell_text;
use serde_json::json;

use crate::sinks::ascend::data_type_name;
use crate::sinks::create;
use crate::{DumpError, Io, Origin, Stream};

/// The file's name.
pub(crate) const STATISTICS: &str = "statistics.csv";

/// The size of the buffer: more than the rows that wait with the lines of the index, so that rows are written whole.
const ROWS: usize = 128 << 10;

/// `statistics.csv`.
pub(super) struct Table {
    rows: Writer<File>,
    /// The cell that is written.
    cell: String,
}

/// A column: its name, and what writes the cell of a tensor.
type Column = (&'static str, fn(&mut String, &Row<'_>) -> fmt::Result);

/// Our columns and those of AscendCL's statistics. Values that a tensor does not have are `NA`.
const COLUMNS: [Column; 22] = [
    ("Run", |cell, row| match row.stream.origin.run {
        Some(run) => write!(cell, "{}", run.0),
        None => cell.write_str("-"),
    }),
    ("Op Name", |cell, row| cell.write_str(&cell_text(&row.stream.origin.operator().name))),
    ("Op Type", |cell, row| cell.write_str(&cell_text(&row.stream.origin.operator().op_type))),
    ("Value", |cell, row| cell.write_str(&cell_text(row.stream.origin.value_name()))),
    ("Input/Output", |cell, row| cell.write_str(if row.stream.origin.io == Io::Input { "Input" } else { "Output" })),
    ("Index", |cell, row| write!(cell, "{}", row.stream.origin.slot)),
    ("Data Size", |cell, row| write!(cell, "{}", row.stream.bytes)),
    ("Data Type", |cell, row| cell.write_str(&data_type_name(row.stream.dtype))),
    ("Format", |cell, _| cell.write_str("ND")),
    ("Shape", |cell, row| shape(cell, &row.stream.shape)),
    ("Max Value", |cell, row| number(cell, row.max())),
    ("Min Value", |cell, row| number(cell, row.min())),
    ("Avg Value", |cell, row| number(cell, row.statistics.mean)),
    ("Count", |cell, row| write!(cell, "{}", row.statistics.count)),
    ("Nan Count", |cell, row| write!(cell, "{}", row.statistics.nan)),
    ("Negative Inf Count", |cell, row| write!(cell, "{}", row.statistics.negative_infinite)),
    ("Positive Inf Count", |cell, row| write!(cell, "{}", row.statistics.positive_infinite)),
    ("L2norm", |cell, row| number(cell, row.statistics.l2)),
    ("Std", |cell, row| number(cell, row.statistics.std)),
    ("Zero Count", |cell, row| write!(cell, "{}", row.statistics.zeros)),
    ("XXH3", |cell, row| match row.has_hash {
        true => write!(cell, "{}", row.statistics.xxh3),
        false => cell.write_str(ABSENT),
    }),
    // `[17]`, or `[17][2]` in a nested loop.
    ("Iteration", |cell, row| match row.stream.origin.iterations().as_slice() {
        [] => cell.write_str(ABSENT),
        iterations => cell.write_str(&LoopIteration::indices(iterations)),
    }),
];

const ABSENT: &str = "NA";

/// A tensor.
struct Row<'a> {
    stream: &'a Stream,
    statistics: &'a Statistics,
    has_hash: bool,
}

impl Row<'_> {
    /// As on the device, an infinite element makes the maximum or minimum infinite.
    fn max(&self) -> Option<f64> {
        let Statistics { negative_infinite, positive_infinite, max, .. } = self.statistics;
        let plus = (*positive_infinite > 0).then_some(f64::INFINITY);
        plus.or(*max).or((*negative_infinite > 0).then_some(f64::NEG_INFINITY))
    }

    fn min(&self) -> Option<f64> {
        let Statistics { negative_infinite, positive_infinite, min, .. } = self.statistics;
        let minus = (*negative_infinite > 0).then_some(f64::NEG_INFINITY);
        minus.or(*min).or((*positive_infinite > 0).then_some(f64::INFINITY))
    }
}

fn number(cell: &mut String, number: Option<f64>) -> fmt::Result {
    match number {
        Some(number) => write!(cell, "{number}"),
        None => cell.write_str(ABSENT),
    }
}

fn shape(cell: &mut String, shape: &[usize]) -> fmt::Result {
    let [first, rest @ ..] = shape else { return cell.write_str("-") };
    write!(cell, "{first}")?;
    rest.iter().try_for_each(|dim| write!(cell, "x{dim}"))
}

impl Table {
    pub fn create(root: &Path) -> io::Result<Self> {
        let file = create::file(&root.join(STATISTICS))?;
        let mut rows = WriterBuilder::new().buffer_capacity(ROWS).from_writer(file);
        rows.write_record(COLUMNS.map(|(name, _)| name))?;
        Ok(Self { rows, cell: String::new() })
    }

    /// Adds a tensor, whose row is written by [`flush`](Self::flush).
    pub fn add(&mut self, stream: &Stream, statistics: &Statistics, has_hash: bool) -> io::Result<&mut Self> {
        let row = Row { stream, statistics, has_hash };
        for (_, write) in COLUMNS {
            self.cell.clear();
            write(&mut self.cell, &row).map_err(io::Error::other)?;
            self.rows.write_field(&self.cell)?;
        }
        self.rows.write_record(None::<&[u8]>)?;
        Ok(self)
    }

    /// Writes the rows that were added, which keeps them if the program is killed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.rows.flush()
    }
}

/// The file's name.
pub(crate) const HISTOGRAMS: &str = "histograms.jsonl";

/// `histograms.jsonl`: a line per tensor.
pub(super) struct Lines {
    file: File,
}

impl Lines {
    pub fn create(root: &Path) -> Result<Self, DumpError> {
        let path = root.join(HISTOGRAMS);
        let file =
            crate::sinks::create::file(&path).map_err(DumpError::io(&path, "the histograms could not be made"))?;
        Ok(Self { file })
    }

    pub fn add(&mut self, origin: &Origin, histogram: &Histogram) -> io::Result<()> {
        let bins: Vec<_> = histogram.bins().iter().map(|bin| json!([bin.from, bin.to, bin.count])).collect();
        let mut line = json!({
            "run": origin.run.map(|run| run.0),
            "operator": origin.operator().name,
            "io": origin.io.name(),
            "slot": origin.slot,
            "value": origin.value_name(),
            "bins": bins,
            "non_finite": histogram.non_finite(),
        });
        let iterations = origin.iterations();
        if !iterations.is_empty() {
            line["iterations"] = json!(iterations);
        }
        self.file.write_all(format!("{line}\n").as_bytes())
    }
}
