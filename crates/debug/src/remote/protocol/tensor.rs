use opscope_tensor::{Bin, DType, Element, Histogram};
use serde::{Deserialize, Serialize};

use crate::event::{ModelId, Sequence};

/// The place from which a tensor is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum At {
    /// Where a run is stopped.
    Event(Sequence),
    /// In a model's file. Weights can be read by the names of their values, whether a run is stopped or not.
    Model(ModelId),
    /// Among the outputs of the last run of a model, by their names or as `output[0]`. A program that is debugged from
    /// another process does not keep them.
    Outputs(ModelId),
}

/// The answer to `tensor`, which describes its attachment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PageInfo {
    /// The type of its elements: `float32`.
    pub dtype: DType,
    /// The shape of the tensor, or of the slice if the reference has one.
    pub shape: Vec<usize>,
    /// How many elements that shape has.
    pub elements: u64,
    /// The first element of this page.
    pub offset: u64,
    /// How many elements this page has.
    pub count: u64,
}

/// Elements of a tensor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorPage {
    /// The type of its elements.
    pub dtype: DType,
    /// The shape of the tensor, or of the slice if the reference has one.
    pub shape: Vec<usize>,
    /// How many elements that shape has.
    pub elements: u64,
    /// The first element of this page.
    pub offset: u64,
    /// How many elements this page has.
    pub count: u64,
    /// The elements, little-endian and row-major.
    pub bytes: Vec<u8>,
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

/// One of the largest elements.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ranked {
    /// Its index for each axis.
    pub index: Vec<usize>,
    /// The shortest text that reads back as the element. It is a text because JSON's numbers have no NaN and no
    /// infinity.
    pub value: String,
}

impl From<Sequence> for At {
    fn from(event: Sequence) -> Self {
        At::Event(event)
    }
}

impl From<ModelId> for At {
    fn from(model: ModelId) -> Self {
        At::Model(model)
    }
}

impl TensorPage {
    /// Returns an element of this page by its index in the page.
    pub fn element(&self, index: usize) -> Option<Element> {
        if index as u64 >= self.count {
            return None;
        }
        Element::at(self.dtype, &self.bytes, index)
    }
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
