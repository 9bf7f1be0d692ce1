use std::fmt::Display;
use std::ops::ControlFlow;

use opscope_tensor::{Accumulator, Bin, Histogram, TopBy};
use serde::{Deserialize, Serialize};

use super::tensors::{look, part};
use super::{At, Perform, Reply, saturated};
use crate::error::{DebugError, Refusal};
use crate::event::StatisticsSummary;
use crate::remote::client::Client;
use crate::remote::protocol::Request;
use crate::session::Attachment;

/// The maximum number of elements in an answer to `top_k`.
pub const MOST_RANKED: usize = 4096;

/// Statistics of a tensor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct StatisticsRequest {
    /// Where the tensor is.
    #[serde(flatten)]
    pub at: At,
    /// The tensor, as text; a slice may follow.
    pub reference: String,
}

/// The counts of a tensor's elements by powers of two.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct HistogramRequest {
    /// Where the tensor is.
    #[serde(flatten)]
    pub at: At,
    /// The tensor, as text; a slice may follow.
    pub reference: String,
}

/// The counts of a tensor's elements by powers of two.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HistogramInfo {
    /// The bins, from the lowest to the highest number. `from` is the bound nearer to zero, and `to` is the other one.
    #[serde(with = "bins")]
    pub bins: Vec<Bin>,
    /// How many elements are NaN or infinite. They are in no bin.
    pub non_finite: u64,
}

/// The largest elements of a tensor.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TopKRequest {
    /// Where the tensor is.
    #[serde(flatten)]
    pub at: At,
    /// The tensor, as text; a slice may follow.
    pub reference: String,
    /// The number of elements.
    pub k: u64,
    /// Whether a large negative element counts as a large one.
    #[serde(default)]
    pub magnitude: bool,
}

/// The answer to `top_k`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TopElements {
    /// The elements, the largest first.
    pub elements: Vec<Ranked>,
}

/// One of the largest elements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranked {
    /// Its index for each axis.
    pub index: Vec<usize>,
    /// The shortest text that reads back as the element. It is a text because JSON's numbers have no NaN and no
    /// infinity.
    pub value: String,
}

impl Request for StatisticsRequest {
    const NAME: &'static str = "statistics";
    const PURPOSE: &'static str = "statistics of a tensor";
    type Answer = StatisticsSummary;
}

impl Perform for StatisticsRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<StatisticsSummary>, Refusal> {
        let statistics = look(attachment, self.at, part(&self.reference)?, |view, region| {
            let mut accumulator = Accumulator::new(view.dtype(), region.elements())?;
            region.pieces(view, |bytes| {
                accumulator.update(bytes);
                ControlFlow::Continue(())
            })?;
            Ok(StatisticsSummary::new(view.dtype(), region.shape(), &accumulator.finish()))
        })?;
        Ok(Reply::of(&statistics))
    }
}

impl Request for HistogramRequest {
    const NAME: &'static str = "histogram";
    const PURPOSE: &'static str = "counts the elements of a tensor by powers of two";
    type Answer = HistogramInfo;
}

impl Perform for HistogramRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<HistogramInfo>, Refusal> {
        let histogram = look(attachment, self.at, part(&self.reference)?, |view, region| {
            let (mut histogram, mut left) = (Histogram::default(), region.elements());
            region.pieces(view, |bytes| {
                histogram.update(view.dtype(), bytes, left);
                left -= view.dtype().elements_in(bytes.len()).unwrap_or(left).min(left);
                ControlFlow::Continue(())
            })?;
            Ok(HistogramInfo::new(&histogram))
        })?;
        Ok(Reply::of(&histogram))
    }
}

impl Request for TopKRequest {
    const NAME: &'static str = "top_k";
    const PURPOSE: &'static str = "the largest elements of a tensor";
    type Answer = TopElements;
}

impl Perform for TopKRequest {
    fn perform(self, attachment: &Attachment, _attached: Vec<u8>) -> Result<Reply<TopElements>, Refusal> {
        let by = if self.magnitude { TopBy::Magnitude } else { TopBy::Value };
        let k = saturated(self.k).min(MOST_RANKED);
        let elements = look(attachment, self.at, part(&self.reference)?, move |view, region| {
            let top = match region.contiguous() {
                Some(range) if range.len() == view.elements() => opscope_tensor::top_k(view, k, by)?,
                _ => opscope_tensor::top_k(&region.copy(view)?.view(), k, by)?,
            };
            let ranked = top
                .into_iter()
                .map(|(flat, element)| Ranked { index: unravel(flat, region.shape()), value: element.to_string() });
            Ok(ranked.collect())
        })?;
        Ok(Reply::of(&TopElements { elements }))
    }
}

/// Returns the index of an element for each axis.
fn unravel(flat: usize, shape: &[usize]) -> Vec<usize> {
    let mut left = flat;
    let mut index: Vec<usize> = shape
        .iter()
        .rev()
        .map(|&size| {
            let at = left % size;
            left /= size;
            at
        })
        .collect();
    index.reverse();
    index
}

impl HistogramInfo {
    /// Makes it from a histogram.
    pub fn new(histogram: &Histogram) -> Self {
        Self { bins: histogram.bins(), non_finite: histogram.non_finite() }
    }
}

mod bins {
    use opscope_tensor::Bin;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    struct Row {
        from: f64,
        to: f64,
        count: u64,
    }

    pub fn serialize<S: Serializer>(bins: &[Bin], to: S) -> Result<S::Ok, S::Error> {
        to.collect_seq(bins.iter().map(|bin| Row { from: bin.from, to: bin.to, count: bin.count }))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Bin>, D::Error> {
        let rows = Vec::<Row>::deserialize(from)?;
        Ok(rows.into_iter().map(|row| Bin { from: row.from, to: row.to, count: row.count }).collect())
    }
}

/// All errors come from the program or from the connection.
#[allow(clippy::missing_errors_doc)]
impl Client {
    /// Returns the statistics of a tensor.
    pub fn statistics(&self, at: impl Into<At>, reference: impl Display) -> Result<StatisticsSummary, DebugError> {
        self.ask(&StatisticsRequest { at: at.into(), reference: reference.to_string() })
    }

    /// Returns the counts of a tensor's elements by powers of two.
    pub fn histogram(&self, at: impl Into<At>, reference: impl Display) -> Result<HistogramInfo, DebugError> {
        self.ask(&HistogramRequest { at: at.into(), reference: reference.to_string() })
    }

    /// Returns the `k` largest elements of a tensor, by value or by magnitude; [at most this many](MOST_RANKED).
    pub fn top_k(
        &self,
        at: impl Into<At>,
        reference: impl Display,
        k: usize,
        magnitude: bool,
    ) -> Result<Vec<Ranked>, DebugError> {
        let (at, reference, k) = (at.into(), reference.to_string(), k as u64);
        Ok(self.ask(&TopKRequest { at, reference, k, magnitude })?.elements)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_is_found_on_each_axis() {
        for (flat, shape, index) in [
            (0, &[2, 3, 4][..], &[0, 0, 0][..]),
            (3, &[2, 3, 4], &[0, 0, 3]),
            (4, &[2, 3, 4], &[0, 1, 0]),
            (12, &[2, 3, 4], &[1, 0, 0]),
            (23, &[2, 3, 4], &[1, 2, 3]),
            (5, &[7], &[5]),
            (0, &[], &[]),
        ] {
            assert_eq!(unravel(flat, shape), index, "element {flat} of {shape:?}");
        }
    }
}
