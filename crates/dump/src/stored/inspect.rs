use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::Path;

use opscope_tensor::{Accumulator, Element, Histogram, Statistics};
use opscope_text::Column::{Middles, Numbers, Words};
use opscope_text::{TextTable, counted, shown_size, shown_text};
use serde_json::{Value, json};

use super::missing_tensors;
use crate::number::{finite, short};
use crate::{DumpError, IndexStatistics, Io, StoredDump, StoredTensor};

/// The contents of a dump.
#[derive(Debug)]
pub struct Inspection {
    /// The dump.
    pub dump: StoredDump,
    /// The details of the data of each of its tensors, or why there are none.
    pub tensors: Vec<io::Result<Details>>,
}

/// Details of a tensor's data.
#[derive(Debug, Clone)]
pub struct Details {
    /// Its statistics.
    pub statistics: Statistics,
    /// The distribution of its elements.
    pub histogram: Histogram,
    /// Its first elements, at most [`Details::FIRST`].
    pub first: Vec<Element>,
}

impl Details {
    /// The number of elements that are shown.
    pub const FIRST: usize = 8;

    /// Reads a tensor once, piece by piece.
    ///
    /// # Errors
    /// Returns an error if the dump does not have its data, its type is not known, or it cannot be read.
    pub fn of(tensor: &StoredTensor) -> io::Result<Self> {
        let dtype = tensor.dtype.ok_or_else(|| io::Error::other("the type of its elements is not known"))?;
        let mut left = tensor.elements()?;
        let mut accumulator = Accumulator::new(dtype, left).map_err(io::Error::other)?;
        let (mut histogram, mut first) = (Histogram::default(), Vec::new());
        let mut data = tensor.data()?;
        let mut buffer = vec![0; dtype.bytes_of(left.min(PIECE)).unwrap_or(0)];
        let mut is_first = true;
        while left > 0 {
            let now = left.min(PIECE);
            let piece = &mut buffer[..dtype.bytes_of(now).unwrap_or(0)];
            data.read_exact(piece)?;
            accumulator.update(piece);
            histogram.update(dtype, piece, now);
            if std::mem::take(&mut is_first) {
                first = (0..now.min(Self::FIRST)).filter_map(|index| Element::at(dtype, piece, index)).collect();
            }
            left -= now;
        }
        Ok(Self { statistics: accumulator.finish(), histogram, first })
    }
}

/// The number of elements that are read at once.
const PIECE: usize = 64 << 10;

impl Inspection {
    /// Inspects a dump, or a single `.npy` or dump file, and reads all of its data. Data that cannot be read, or that
    /// contradicts the dump, is a problem of the dump.
    ///
    /// # Errors
    /// Returns an error if there is no dump.
    pub fn of(path: &Path) -> Result<Self, DumpError> {
        let mut dump = StoredDump::open(path)?;
        let mut tensors = Vec::with_capacity(dump.tensors.len());
        for tensor in &dump.tensors {
            let details = Details::of(tensor);
            dump.problems.extend(problem(tensor, details.as_ref()));
            tensors.push(details);
        }
        Ok(Self { dump, tensors })
    }

    /// Returns a verdict in a few lines: the origin of the dump, whether it is complete, and its problems.
    pub fn verdict(&self) -> String {
        let mut text = self.heading();
        let checked = self.with_hash().filter(|(_, details)| details.is_ok()).count();
        let without = self.tensors.len() - self.with_hash().count();
        let (read, were) = (counted(checked, "tensor"), if checked == 1 { "was" } else { "were" });
        text +=
            &format!("{read} {were} read and compared with {}", if checked == 1 { "its hash" } else { "their hashes" });
        if without > 0 {
            text += &format!("; {without} have no data or no hash to compare with");
        }
        text.push('\n');
        text + &self.problems()
    }

    /// Returns the tensors for which the dump has both the data and its hash.
    fn with_hash(&self) -> impl Iterator<Item = (&StoredTensor, &io::Result<Details>)> {
        let all = self.dump.tensors.iter().zip(&self.tensors);
        all.filter(|(tensor, _)| tensor.noted.is_some() && tensor.file().is_some())
    }

    fn problems(&self) -> String {
        self.dump.problems.iter().map(|problem| format!("problem: {}\n", shown_text(problem))).collect()
    }

    /// Returns text for a terminal: a table of tensors or, if there is only one, its histogram and first elements.
    pub fn text(&self) -> String {
        self.text_within(usize::MAX, 80)
    }

    /// Returns the same text with at most `rows` tensors, for a terminal of `width` columns.
    pub fn text_within(&self, rows: usize, width: usize) -> String {
        let mut text = self.heading();
        let runs: BTreeSet<u64> = self.dump.tensors.iter().filter_map(|tensor| tensor.place.run).collect();
        let has_runs = runs.len() > 1;
        let mut columns = if has_runs { vec![Numbers("run")] } else { Vec::new() };
        columns.extend([Middles("tensor"), Middles("operator"), Middles("type"), Words(""), Words("dtype")]);
        columns.extend(["shape", "size", "min", "max", "mean", "nan", "inf"].map(Numbers));
        let spare = &["operator", "", "size", "type", "mean"];
        let mut table = TextTable::new(columns).without_rule().with_spare(spare).within(width);
        for (tensor, details) in self.dump.tensors.iter().zip(&self.tensors).take(rows) {
            let run = tensor.place.run.map_or_else(|| "all".to_owned(), |run| run.to_string());
            table.row(has_runs.then_some(run).into_iter().chain(line(tensor, details.as_ref())));
        }
        text += &table.text();
        if let more @ 1.. = self.tensors.len().saturating_sub(rows) {
            let more = counted(more, "more tensor");
            text += &format!("... and {more}; --rows {} shows all\n", self.tensors.len());
        }
        if let [Ok(details)] = self.tensors.as_slice() {
            text += &details.text();
        }
        text + &self.problems()
    }

    fn heading(&self) -> String {
        let size = self.dump.tensors.iter().fold(0, |size: u64, tensor| size.saturating_add(tensor.bytes));
        let mut text = format!(
            "{}: {}, {}",
            shown_text(&self.dump.path.to_string_lossy()),
            counted(self.dump.tensors.len(), "tensor"),
            shown_size(size)
        );
        if let Some(manifest) = &self.dump.manifest {
            let state = if self.dump.is_complete() { "complete" } else { "NOT complete" };
            let (model, engine) = (&manifest.model, &manifest.engine);
            text += &format!(", {state}\nmodel {} ({}), ", shown_text(&model.path), model.xxh3);
            let [name, version] = [&engine.name, &engine.version].map(|said| shown_text(said));
            text += &format!("{name} {version}, {} fidelity\n", manifest.fidelity);
            if manifest.missing_count > 0 {
                text += &format!("{}; the manifest names them\n", missing_tensors(manifest.missing_count));
            }
            manifest.errors.iter().for_each(|error| text += &format!("error: {}\n", shown_text(error)));
        } else {
            text.push('\n');
        }
        text
    }

    /// Returns the same as JSON.
    pub fn json(&self) -> Value {
        let tensor = |(tensor, details): (&StoredTensor, &io::Result<Details>)| {
            let place = &tensor.place;
            let mut json = json!({
                "run": place.run,
                "operator": place.operator,
                "op_type": place.op_type,
                "io": place.io.map(Io::name),
                "slot": place.slot,
                "value": place.value,
                "dtype": tensor.dtype.map(opscope_tensor::DType::name),
                "shape": tensor.shape,
                "bytes": tensor.bytes,
                "statistics": details.as_ref().ok().map(Details::json),
                "problem": details.as_ref().err().map(ToString::to_string),
            });
            if !place.iterations.is_empty() {
                json["iterations"] = json!(place.iterations);
            }
            json
        };
        json!({
            "schema": "opscope.inspection/1",
            "path": self.dump.path.display().to_string(),
            "complete": self.dump.manifest.as_ref().map(|_| self.dump.is_complete()),
            "tensors": self.dump.tensors.iter().zip(&self.tensors).map(tensor).collect::<Vec<_>>(),
            "problems": self.dump.problems,
        })
    }
}

/// Returns the problem of a tensor's data, if there is one.
fn problem(tensor: &StoredTensor, details: Result<&Details, &io::Error>) -> Option<String> {
    let file = tensor.file()?.display();
    match details {
        Err(error) => Some(format!("{file}: {error}")),
        Ok(details) => {
            let (found, noted) = (details.statistics.xxh3, tensor.noted.as_ref()?.xxh3?);
            let changed = || format!("{file}: its data has the hash {found}, the index says {noted}");
            (found != noted).then(changed)
        }
    }
}

impl Details {
    fn text(&self) -> String {
        let first: Vec<String> = self.first.iter().map(ToString::to_string).collect();
        let more = if self.statistics.count > first.len() as u64 { ", ..." } else { "" };
        let mut text = format!("first elements: {}{more}\n", first.join(", "));
        text += &histogram_text(&self.histogram);
        text
    }

    fn json(&self) -> Value {
        let statistics = &self.statistics;
        let number = |number: Option<f64>| number.and_then(finite);
        let bins = self.histogram.bins();
        json!({
            "count": statistics.count,
            "min": number(statistics.min),
            "max": number(statistics.max),
            "mean": number(statistics.mean),
            "std": number(statistics.std),
            "l2": number(statistics.l2),
            "nan": statistics.nan,
            "positive_infinite": statistics.positive_infinite,
            "negative_infinite": statistics.negative_infinite,
            "zeros": statistics.zeros,
            "xxh3": statistics.xxh3,
            "histogram": bins.iter().map(|bin| json!([bin.from, bin.to, bin.count])).collect::<Vec<_>>(),
        })
    }
}

/// Returns a bar for every power of two.
fn histogram_text(histogram: &Histogram) -> String {
    const WIDTH: u64 = 40;
    let bins = histogram.bins();
    let most = bins.iter().map(|bin| bin.count).max().unwrap_or(1).max(1);
    let mut text = String::new();
    for bin in bins {
        let range = if bin.from == 0.0 { "0".into() } else { format!("{} to {}", short(bin.from), short(bin.to)) };
        let bar = "#".repeat((bin.count * WIDTH).div_ceil(most) as usize);
        text += format!("{range:>24} {:>10} {bar}", bin.count).trim_end();
        text.push('\n');
    }
    if histogram.non_finite() > 0 {
        text += &format!("{:>24} {:>10}\n", "NaN or infinite", histogram.non_finite());
    }
    text
}

fn line(tensor: &StoredTensor, details: Result<&Details, &io::Error>) -> Vec<String> {
    let place = &tensor.place;
    let shape: Vec<String> = tensor.shape.iter().map(ToString::to_string).collect();
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    let mut line = vec![
        place.label(),
        text(&place.operator),
        text(&place.op_type),
        place.io.map_or("", Io::name).into(),
        tensor.dtype.map_or("?", opscope_tensor::DType::name).into(),
        if shape.is_empty() { "-".into() } else { shape.join("x") },
        shown_size(tensor.bytes),
    ];
    let number = |number: Option<f64>| number.map_or("-".into(), short);
    match (details, &tensor.noted) {
        (Ok(Details { statistics, .. }), _) => {
            let infinite = statistics.positive_infinite + statistics.negative_infinite;
            line.extend([statistics.min, statistics.max, statistics.mean].map(number));
            line.extend([statistics.nan, infinite].map(|count| count.to_string()));
        }
        (Err(_), Some(IndexStatistics { min, max, mean, nan, inf, .. })) => {
            line.extend([min, max, mean].map(|of| number(*of)));
            line.extend([nan, inf].map(ToString::to_string));
        }
        (Err(problem), None) => line.push(problem.to_string()),
    }
    line
}
