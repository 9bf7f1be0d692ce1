//! The statistics of tensors as AscendCL's tables: one text file for each operator, run and iteration of a loop, with
//! one line per tensor.

use std::collections::HashMap;
use std::time::{SystemTime, UNIX_EPOCH};

use opscope::dump::ascend::{ChunkTarget, FileName, data_type_name, directory};
use opscope::dump::{Answer, Closed, DumpError, Ending, Io, Piece, Sink, Stream};
use opscope::model::{Iteration, RunId};
use opscope::onnx::OperatorId;
use opscope::tensor::{Accumulator, Statistics};
use opscope_acl_json::Statistic;

/// The ending of these files' names.
pub const STATISTICS: &str = ".csv";

/// Turns streams into tables, and passes each table to a target as one chunk.
pub struct StatisticsSink<T> {
    target: T,
    columns: Columns,
    /// The counts of the tensor that is being received; `None` if its type has no statistics.
    counted: Option<Accumulator>,
    /// The tables of operators that still miss the lines of some tensors.
    waiting: HashMap<Key, Table>,
}

/// The plan, the run, the operator, and the iterations of the loops that it is in.
type Key = (usize, Option<RunId>, OperatorId, Box<[Iteration]>);

#[derive(Default)]
struct Table {
    file: std::path::PathBuf,
    /// The lines with the positions of their tensors. Inputs come before outputs.
    lines: Vec<((Io, usize), String)>,
}

/// The columns after the shape.
struct Columns(Vec<Column>);

#[derive(Clone, Copy, PartialEq)]
enum Column {
    Count,
    Chosen(Statistic),
}

impl Columns {
    /// The vendor has two orders: one for the statistics of a file without `dump_stats`, and one for all other choices.
    fn of(chosen: &[Statistic]) -> Self {
        use Statistic::{Avg, L2Norm, Max, Min, Nan, NegativeInf, PositiveInf};
        let all = [Max, Min, Avg, Nan, NegativeInf, PositiveInf, L2Norm];
        let mut columns: Vec<Column> = all.into_iter().filter(|one| chosen.contains(one)).map(Column::Chosen).collect();
        let is_default = columns.len() == Statistic::DEFAULT.len() && !chosen.contains(&L2Norm);
        columns.insert(if is_default { 3 } else { 0 }, Column::Count);
        Self(columns)
    }

    fn header(&self) -> String {
        let names = self.0.iter().map(|column| column.name()).collect::<Vec<_>>().join(",");
        format!("Input/Output,Index,Data Size,Data Type,Format,Shape,{names}\n")
    }

    fn line(&self, stream: &Stream, statistics: Option<&Statistics>) -> String {
        let io = if stream.origin.io == Io::Input { "Input" } else { "Output" };
        let shape: Vec<String> = stream.shape.iter().map(usize::to_string).collect();
        let shape = if shape.is_empty() { "-".to_owned() } else { shape.join("x") };
        let mut line =
            format!("{io},{},{},{},ND,{shape}", stream.origin.slot, stream.bytes, data_type_name(stream.dtype));
        for column in &self.0 {
            line.push(',');
            line.push_str(&statistics.and_then(|statistics| column.value(statistics)).unwrap_or_else(|| "NA".into()));
        }
        line.push('\n');
        line
    }
}

impl Column {
    fn name(self) -> &'static str {
        match self {
            Self::Count => "Count",
            Self::Chosen(Statistic::Max) => "Max Value",
            Self::Chosen(Statistic::Min) => "Min Value",
            Self::Chosen(Statistic::Avg) => "Avg Value",
            Self::Chosen(Statistic::Nan) => "Nan Count",
            Self::Chosen(Statistic::NegativeInf) => "Negative Inf Count",
            Self::Chosen(Statistic::PositiveInf) => "Positive Inf Count",
            Self::Chosen(Statistic::L2Norm) => "l2norm",
        }
    }

    /// Returns the value for the column. As on the device, infinite elements are included, and NaN elements are not.
    fn value(self, of: &Statistics) -> Option<String> {
        let (minus, plus) = (of.negative_infinite > 0, of.positive_infinite > 0);
        let number = match self {
            Self::Count => return Some(of.count.to_string()),
            Self::Chosen(Statistic::Nan) => return Some(of.nan.to_string()),
            Self::Chosen(Statistic::NegativeInf) => return Some(of.negative_infinite.to_string()),
            Self::Chosen(Statistic::PositiveInf) => return Some(of.positive_infinite.to_string()),
            _ if of.count > 0 && of.nan == of.count => return Some("nan".into()),
            Self::Chosen(Statistic::Max) if plus => f64::INFINITY,
            Self::Chosen(Statistic::Min) if minus => f64::NEG_INFINITY,
            Self::Chosen(Statistic::Max) => of.max.or(minus.then_some(f64::NEG_INFINITY))?,
            Self::Chosen(Statistic::Min) => of.min.or(plus.then_some(f64::INFINITY))?,
            Self::Chosen(Statistic::Avg) => match (minus, plus) {
                (true, true) => return Some("nan".into()),
                (true, false) => f64::NEG_INFINITY,
                (false, true) => f64::INFINITY,
                (false, false) => of.mean?,
            },
            Self::Chosen(Statistic::L2Norm) if minus || plus => f64::INFINITY,
            Self::Chosen(Statistic::L2Norm) => of.l2?,
        };
        Some(number.to_string())
    }
}

impl<T: ChunkTarget> StatisticsSink<T> {
    /// Makes a sink that writes these statistics.
    pub fn new(target: T, chosen: &[Statistic]) -> Self {
        Self { target, columns: Columns::of(chosen), counted: None, waiting: HashMap::new() }
    }

    fn count(&mut self, stream: &Stream, piece: Piece<'_>) -> Result<(), DumpError> {
        if let Some(counted) = &mut self.counted {
            counted.update(piece.bytes);
        }
        if !piece.last {
            return Ok(());
        }
        let statistics = self.counted.take().map(Accumulator::finish);
        let line = self.columns.line(stream, statistics.as_ref());
        let origin = &stream.origin;
        let key = (origin.plan, origin.run, origin.operator, origin.path.clone());
        let stream_id = self.target.stream();
        let table = self.waiting.entry(key.clone()).or_insert_with(|| Table {
            file: directory(origin).join(FileName::new(origin, stream_id, now()).full() + STATISTICS),
            lines: Vec::new(),
        });
        table.lines.push(((origin.io, origin.slot), line));
        if table.lines.len() < stream.siblings {
            return Ok(());
        }
        self.waiting.remove(&key).map_or(Ok(()), |table| self.send(table))
    }

    fn send(&mut self, mut table: Table) -> Result<(), DumpError> {
        table.lines.sort_by_key(|line| line.0);
        let mut text = self.columns.header();
        text.extend(table.lines.into_iter().map(|line| line.1));
        self.target.chunk(&table.file, text.as_bytes(), true)
    }

    /// Sends the tables of the operators that still miss a tensor.
    fn send_all(&mut self, of_run: Option<RunId>) -> Result<(), DumpError> {
        let mut keys: Vec<Key> =
            self.waiting.keys().filter(|key| of_run.is_none() || key.1 == of_run).cloned().collect();
        keys.sort_unstable();
        keys.iter().try_for_each(|key| self.waiting.remove(key).map_or(Ok(()), |table| self.send(table)))
    }
}

impl<T: ChunkTarget> Sink for StatisticsSink<T> {
    fn begin(&mut self, stream: &Stream) -> Answer {
        let elements = stream.shape.iter().product();
        self.counted = Accumulator::new(stream.dtype, elements).ok();
        Answer::Continue
    }

    fn piece(&mut self, stream: &Stream, piece: Piece<'_>) -> Answer {
        self.count(stream, piece).into()
    }

    fn broken(&mut self, _stream: &Stream, _reason: &str) {
        self.counted = None;
    }

    fn run_ended(&mut self, run: RunId) -> Answer {
        self.send_all(Some(run)).into()
    }

    fn close(&mut self, ending: &Ending) -> Closed {
        let sent = if ending.stopped.is_none() { self.send_all(None) } else { Ok(()) };
        let mut closed = self.target.close(ending);
        closed.errors.extend(sent.err().map(|error| error.to_string()));
        closed
    }
}

/// Returns the microseconds since 1970.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::{Arc, Mutex};

    use opscope::dump::ascend::Chunks;
    use opscope::dump::{Dumper, Request};
    use opscope_model::testing::looping;

    use super::*;

    #[test]
    fn each_iteration_of_a_loop_has_a_table_of_its_own() {
        let files = Arc::new(Mutex::new(Vec::new()));
        let keep = Arc::clone(&files);
        let target = Chunks(move |path: &Path, bytes: &[u8], _: bool| {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            keep.lock().expect("no check fails").push((name, String::from_utf8_lossy(bytes).lines().count()));
            Ok(())
        });
        let dumper = Dumper::new();
        let sink = StatisticsSink::new(target, &[]);
        dumper.subscribe(Box::new(sink), Request::default()).expect("the sink is taken");
        let plan = looping(2);
        dumper.add_plan(&plan, &plan).expect("its constants can be read");
        plan.run_with(&dumper, 0).expect("no kernel fails");
        dumper.finish().expect("nothing is lost");
        let files = files.lock().expect("no check fails");
        let of = |name: &str| files.iter().filter(|(file, lines)| file.starts_with(name) && *lines == 2).count();
        assert_eq!((files.len(), of("Sum.Loop_0_Add_0_0.3."), of("Sum.Loop_0_Add_0_1.3.")), (8, 1, 1), "{files:?}");
    }
}
