use std::fs::File;
use std::io;
use std::path::Path;

use csv::{Writer, WriterBuilder};
use opscope_model::LoopIteration;
use opscope_tensor::Statistics;
use serde::Serialize;

use crate::csv::foreign;
use crate::sinks::ascend::data_type_name;
use crate::sinks::create;
use crate::{Io, Stream};

/// The file's name.
pub(crate) const STATISTICS: &str = "statistics.csv";

/// The size of rows that are not written yet, at most: more than the rows of summaries that wait.
const ROWS: usize = 128 << 10;

/// `statistics.csv`.
pub(super) struct Table(Writer<File>);

/// Our columns and those of AscendCL's statistics. Values that a tensor does not have are `NA`.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(rename = "Run")]
    run: String,
    #[serde(rename = "Op Name", serialize_with = "foreign")]
    operator: &'a str,
    #[serde(rename = "Op Type", serialize_with = "foreign")]
    op_type: &'a str,
    #[serde(rename = "Value", serialize_with = "foreign")]
    value: &'a str,
    #[serde(rename = "Input/Output")]
    io: &'static str,
    #[serde(rename = "Index")]
    slot: usize,
    #[serde(rename = "Data Size")]
    bytes: u64,
    #[serde(rename = "Data Type")]
    dtype: String,
    #[serde(rename = "Format")]
    format: &'static str,
    #[serde(rename = "Shape")]
    shape: String,
    #[serde(rename = "Max Value")]
    max: String,
    #[serde(rename = "Min Value")]
    min: String,
    #[serde(rename = "Avg Value")]
    mean: String,
    #[serde(rename = "Count")]
    count: u64,
    #[serde(rename = "Nan Count")]
    nan: u64,
    #[serde(rename = "Negative Inf Count")]
    negative_infinite: u64,
    #[serde(rename = "Positive Inf Count")]
    positive_infinite: u64,
    #[serde(rename = "L2norm")]
    l2: String,
    #[serde(rename = "Std")]
    std: String,
    #[serde(rename = "Zero Count")]
    zeros: u64,
    #[serde(rename = "XXH3")]
    xxh3: String,
    /// `[17]`, or `[17][2]` in a nested loop.
    #[serde(rename = "Iteration")]
    iteration: String,
}

impl Table {
    pub fn create(root: &Path) -> io::Result<Self> {
        let file = create::file(&root.join(STATISTICS))?;
        Ok(Self(WriterBuilder::new().buffer_capacity(ROWS).from_writer(file)))
    }

    /// Adds a tensor, whose row is written by [`flush`](Self::flush). Before the first one, writes the names of the columns. As on the device, an infinite element
    /// makes the maximum or minimum infinite.
    pub fn add(&mut self, stream: &Stream, statistics: &Statistics, has_hash: bool) -> io::Result<&mut Self> {
        let origin = &stream.origin;
        let operator = origin.operator();
        let number = |number: Option<f64>| number.map_or_else(|| "NA".into(), |number| number.to_string());
        let (minus, plus) = (statistics.negative_infinite > 0, statistics.positive_infinite > 0);
        let max = plus.then_some(f64::INFINITY).or(statistics.max).or(minus.then_some(f64::NEG_INFINITY));
        let min = minus.then_some(f64::NEG_INFINITY).or(statistics.min).or(plus.then_some(f64::INFINITY));
        let shape: Vec<String> = stream.shape.iter().map(usize::to_string).collect();
        self.0.serialize(Row {
            run: origin.run.map_or_else(|| "-".into(), |run| run.0.to_string()),
            operator: &operator.name,
            op_type: &operator.op_type,
            value: origin.value_name(),
            io: if origin.io == Io::Input { "Input" } else { "Output" },
            slot: origin.slot,
            bytes: stream.bytes,
            dtype: data_type_name(stream.dtype),
            format: "ND",
            shape: if shape.is_empty() { "-".into() } else { shape.join("x") },
            max: number(max),
            min: number(min),
            mean: number(statistics.mean),
            count: statistics.count,
            nan: statistics.nan,
            negative_infinite: statistics.negative_infinite,
            positive_infinite: statistics.positive_infinite,
            l2: number(statistics.l2),
            std: number(statistics.std),
            zeros: statistics.zeros,
            xxh3: if has_hash { statistics.xxh3.to_string() } else { "NA".into() },
            iteration: match origin.iterations().as_slice() {
                [] => "NA".into(),
                iterations => LoopIteration::indices(iterations),
            },
        })?;
        Ok(self)
    }

    /// Writes the rows that were added, which keeps them if the program is killed.
    pub fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}
