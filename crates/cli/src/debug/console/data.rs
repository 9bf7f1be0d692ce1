//! Commands that read tensors: print, statistics, save.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use anyhow::{Context, Result, bail};
use opscope::debug::client::Client;
use opscope::debug::expression::{Function, TensorPart, TensorRef};
use opscope::debug::protocol::{At, TensorPage};
use opscope::debug::{DebugError, ErrorCode, StatisticsSummary};
use opscope::tensor::npy;
use serde_json::{Value, json};

use super::Console;
use crate::debug::show;
use crate::debug::show::array::{Elements, shown};

/// How many elements are read at once, and shown as JSON.
pub const FIRST: u64 = 65_536;

impl Console {
    pub(super) fn print(&self, part: &TensorPart) -> Result<()> {
        let (at, page) = self.at(part, |at| self.client.tensor(at, part, 0, FIRST))?;
        let fields = json!({
            "reference": part.to_string(), "dtype": page.dtype, "shape": page.shape, "elements": page.elements,
            "count": page.count, "data": if self.output.json { data(&page) } else { Value::Null },
        });
        let form = show::tensor_form(Some(page.dtype), &page.shape);
        let text = match self.output.json {
            true => String::new(),
            false => format!("{part}  {form}\n{}", array(&self.client, at, part, page)?),
        };
        self.output.result("tensor", fields, text);
        Ok(())
    }

    /// Reports the result of a function of a tensor.
    pub(super) fn apply(&self, function: Function, part: &TensorPart) -> Result<()> {
        let (_, numbers) = self.at(part, |at| self.client.statistics(at, part))?;
        let (value, text) = show::applied(function, &numbers);
        let name = function.name();
        let fields = json!({ "function": name, "reference": part.to_string(), "value": value });
        self.output.result("value", fields, format!("{name}({part}) = {text}"));
        Ok(())
    }

    pub(super) fn statistics(&self, part: &TensorPart) -> Result<()> {
        let (_, numbers): (_, StatisticsSummary) = self.at(part, |at| self.client.statistics(at, part))?;
        let fields = json!({ "reference": part.to_string(), "statistics": numbers });
        self.output.result("statistics", fields, show::statistics(&part.to_string(), &numbers));
        Ok(())
    }

    pub(super) fn histogram(&self, part: &TensorPart) -> Result<()> {
        let (_, histogram) = self.at(part, |at| self.client.histogram(at, part))?;
        let fields = json!({ "reference": part.to_string(), "histogram": histogram });
        self.output.result("histogram", fields, show::histogram(&part.to_string(), &histogram));
        Ok(())
    }

    pub(super) fn top_k(&self, part: &TensorPart, count: usize, by_magnitude: bool) -> Result<()> {
        let (_, elements) = self.at(part, |at| self.client.top_k(at, part, count, by_magnitude))?;
        let fields = json!({ "reference": part.to_string(), "elements": elements });
        self.output.result("top", fields, show::top(&elements));
        Ok(())
    }

    pub(super) fn save(&self, part: &TensorPart, path: &Path) -> Result<()> {
        let (at, mut page) = self.at(part, |at| self.client.tensor(at, part, 0, u64::MAX))?;
        let header = npy::header(page.dtype, &page.shape)?;
        let cannot = || format!("{} cannot be written", path.display());
        // An existing file is not overwritten.
        let mut file = BufWriter::new(File::create_new(path).with_context(cannot)?);
        let (dtype, shape) = (page.dtype, page.shape.clone());
        let mut write = || -> Result<()> {
            file.write_all(&header).with_context(cannot)?;
            let mut written = 0;
            loop {
                file.write_all(&page.bytes).with_context(cannot)?;
                written += page.count;
                if written >= page.elements {
                    return file.flush().with_context(cannot);
                }
                page = self.client.tensor(at, part, written, u64::MAX)?;
                if page.count == 0 {
                    bail!("the program sent only {written} elements of {}", page.elements);
                }
            }
        };
        if let Err(error) = write() {
            // An incomplete file is removed.
            let _ = fs::remove_file(path);
            return Err(error);
        }
        let text = format!("{} {} in {}", part, show::tensor_form(Some(dtype), &shape), path.display());
        let fields =
            json!({ "reference": part.to_string(), "path": path.to_string_lossy(), "dtype": dtype, "shape": shape });
        self.output.result("saved", fields, text);
        Ok(())
    }

    /// Makes a request about a tensor where the run is stopped. While no run is stopped, the outputs of the run that
    /// ended last can be read. A value that neither of them holds may be a weight of the model's file.
    pub(super) fn at<R>(&self, part: &TensorPart, request: impl Fn(At) -> Result<R, DebugError>) -> Result<(At, R)> {
        let stop = self.stop_in_run();
        let refused = match &stop {
            Ok(stop) => match request(stop.sequence.into()) {
                Ok(answer) => return Ok((stop.sequence.into(), answer)),
                Err(error) => anyhow::Error::from(error),
            },
            Err(error) => anyhow::anyhow!("{error}"),
        };
        let Ok(model) = self.model() else { return Err(refused) };
        let is_named = matches!(part.tensor, TensorRef::Value(_));
        let is_output = is_named || matches!(part.tensor, TensorRef::Output(_));
        let places = [(At::Outputs(model), self.stop().is_err() && is_output), (At::Model(model), is_named)];
        for (at, _) in places.into_iter().filter(|(_, may_be_there)| *may_be_there) {
            match request(at) {
                Ok(answer) => return Ok((at, answer)),
                Err(error) if error.code() != ErrorCode::NoSuchTensor => return Err(error.into()),
                Err(_) => {}
            }
        }
        Err(refused)
    }
}

/// Returns a tensor as numpy shows it. `first` has its first elements; the other elements that are shown are requested.
///
/// # Errors
/// Returns an error if the program cannot send them.
pub fn array(client: &Client, at: At, part: &TensorPart, first: TensorPage) -> Result<String> {
    let mut elements = Elements::of(first.dtype, &first.shape);
    let (count, all) = (first.count, first.elements);
    elements.add(0, count as usize, first.bytes);
    if count < all {
        for range in shown(&first.shape) {
            let start = range.start.max(count as usize);
            if start < range.end {
                let page = client.tensor(at, part, start as u64, (range.end - start) as u64)?;
                elements.add(start, page.count as usize, page.bytes);
            }
        }
    }
    Ok(elements.text())
}

fn data(page: &TensorPage) -> Value {
    (0..page.count as usize).map(|index| page.element(index).map(show::element_json)).collect()
}
