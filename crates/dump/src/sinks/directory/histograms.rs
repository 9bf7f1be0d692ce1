use std::fs::File;
use std::io::{self, Write};
use std::path::Path;

use opscope_tensor::Histogram;
use serde_json::json;

use crate::{DumpError, Origin};

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
